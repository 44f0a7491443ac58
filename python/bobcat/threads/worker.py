"""Execution of a thread's turns, one after the other, by the process that holds the thread's lease."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import msgspec

from bobcat.aio.cancel import CancelToken
from bobcat.errors import AttachmentError, ThreadError
from bobcat.model.agent import Agent
from bobcat.model.run import Message
from bobcat.runtime.compat import DEFAULTS
from bobcat.runtime.lease import LeaseKeeper
from bobcat.runtime.loop import run_with
from bobcat.runtime.options import Options
from bobcat.runtime.turn import TurnOptions
from bobcat.stores.protocol import DurableStore, RunBusy
from bobcat.threads.cancelling import end_idle_turn, record_cancellation, requested_reason
from bobcat.threads.files import FailingAgent, files_of, with_data
from bobcat.threads.history import Window
from bobcat.threads.journal import Begun, ThreadJournal, turn_id
from bobcat.threads.loading import LoadedHistory, choose, chosen_messages
from bobcat.threads.metadata import check
from bobcat.threads.remembering import memory_of_turn
from bobcat.threads.sending import leave_to_purge
from bobcat.threads.view import TurnView
from bobcat.tools.digest import tools_digest

CANCEL_POLL_SECONDS = 0.25


class Worker:
    """Executes turns while its lease holds. `resumes`: a suspended turn is run again."""

    def __init__(
        self, journal: ThreadJournal, agent: Agent, options: Options, window: Window, changed: Callable[[], None]
    ) -> None:
        self._journal = journal
        self._store: DurableStore = journal.store
        self._agent = agent
        self._options = options
        self._window = window
        self._changed = changed
        self._lost = False
        self._number = 0
        """The turn of the token."""
        self._token = CancelToken()
        self._cancelled: tuple[Begun, str] | None = None
        """A cancellation, until the turn's end is known."""
        self.keeper = LeaseKeeper(
            self._store, journal.run_id, owner=options.owner, seconds=options.lease_seconds
        )  # fmt: skip

    async def acquire(self) -> bool:
        """Acquire the thread; false while another process holds it."""
        try:
            await self.keeper.acquire()
        except RunBusy:
            return False
        self.keeper.start_heartbeat(self._on_loss)
        return True

    async def work(self, *, resumes: bool) -> None:
        """Execute turns until none is left, and release the thread."""
        try:
            while not self._lost and await self._next(resumes):
                resumes = False
        finally:
            await self.release()
        while self._cancelled is not None:  # the turn was suspended meanwhile
            (begun, reason), self._cancelled = self._cancelled, None
            if not (await view_of(self._journal, begun)).ended:
                await end_idle_turn(self._journal, begun, self._options, reason)
                self._changed()

    def cancel(self, begun: Begun, reason: str) -> None:
        """Cancel a turn, in progress or just suspended. Only while `work` has not returned."""
        self._cancelled = begun, reason
        if begun.number == self._number:
            self._token.cancel(reason)

    async def release(self) -> None:
        """Release the thread. A store that fails here lets the lease expire."""
        with suppress(Exception):
            lease = self.keeper.lease
            await self._store.set_status(self._journal.run_id, "suspended", detail={"thread": True}, lease=lease)
        with suppress(Exception):
            await self.keeper.release()
        self._changed()

    async def _next(self, resumes: bool) -> bool:
        """Execute one turn. False without a turn to execute, when it has to wait, and for a deleted thread."""
        try:
            known = await check(self._store, self._journal.thread)
        except ThreadError:
            return False
        if known is None:  # purged since the message was sent; the lease has made the run known again
            await leave_to_purge(self._journal)
            return False
        last = await self._journal.last_turn()
        before = 0
        if last is not None:
            view = await view_of(self._journal, last)
            before = view.events
            if not view.ended:
                reason = await requested_reason(self._journal, last.number) if view.suspended else None
                if reason is not None:
                    return await record_cancellation(self._journal, last, self._options, reason)
                if view.suspended and not resumes:
                    return False
                return await self._run(last)
        message = await self._journal.next_message(last)
        if message is None:
            return False
        number = 1 if last is None else last.number + 1
        history = LoadedHistory(self._journal, number - 1)
        new = Message("user", message.body["text"], attachments=files_of(message.body))
        choice = await choose(self._window, history, new)
        begun = await self._journal.begin(number, message, before, choice, self.keeper.lease)
        self._changed()
        return await self._run(begun)

    async def _run(self, begun: Begun) -> bool:
        """Run a turn; true when it has ended."""
        history = await chosen_messages(LoadedHistory(self._journal, begun.number - 1), begun)
        messages = (*history, Message("user", begun.text, attachments=begun.attachments))
        agent, ledger, budget = self._agent, self._options.ledger, self._options.budget
        try:
            messages = await with_data(self._store, messages)
        except AttachmentError as error:
            agent, ledger, budget = FailingAgent(agent, error), None, replace(budget, cost=None)
        if begun.bound is not None and dict(begun.bound) != bound_to(self._options):
            agent, ledger, budget = FailingAgent(agent, await self._refusal(begun)), None, replace(budget, cost=None)
        words = begun.text if self._options.user_task is None else self._options.user_task
        memory = await memory_of_turn(self._journal, self._options.policy, begun.number, words)
        self._number, self._token = begun.number, CancelToken()
        await self._obey_request(begun.number, self._token)
        options = msgspec.structs.replace(
            self._options,
            store=self._store,
            run_id=turn_id(self._journal.thread, begun.number),
            cancel=self._token,
            ledger=ledger,
            budget=budget,
            memory=memory,
            turn=TurnOptions(messages[:-1], messages[-1].attachments, self._changed),
        )
        watcher = asyncio.create_task(self._watch_cancellation(begun.number, self._token))
        try:
            result = await run_with(DEFAULTS, agent, begun.text, options)
        finally:
            watcher.cancel()
        self._changed()
        if result.outcome in ("suspended", "superseded"):
            return False
        if not (await view_of(self._journal, begun)).ended:
            raise ThreadError(result.code or "turn_failed", f"the turn cannot continue: {result.error}")
        return True

    async def _refusal(self, begun: Begun) -> ThreadError:
        """The error of a turn that is bound to other tools or another policy. Raises it when the turn has records."""
        text = "the turn may only run with the tools and the policy that it was sent with, and this process has others"
        error = ThreadError("bound", text)
        if (await view_of(self._journal, begun)).records:
            raise error
        return error

    async def _watch_cancellation(self, number: int, token: CancelToken) -> None:
        while not token.cancelled:
            await asyncio.sleep(CANCEL_POLL_SECONDS)
            with suppress(Exception):
                await self._obey_request(number, token)

    async def _obey_request(self, number: int, token: CancelToken) -> None:
        reason = await requested_reason(self._journal, number)
        if reason is not None:
            token.cancel(reason)

    def _on_loss(self, why: Any) -> None:  # Any: a reason that the turn's own lease reports, too
        self._lost = True


def bound_to(options: Options) -> dict[str, str]:
    """The digests of the tools and the policy of these options."""
    return {"tools": tools_digest(options.tools), "policy": options.policy.id}


async def view_of(journal: ThreadJournal, begun: Begun) -> TurnView:
    """The view of a turn, with all of its records taken."""
    view = TurnView(begun.number, begun.before)
    view.take(await journal.store.load(turn_id(journal.thread, begun.number)))
    return view
