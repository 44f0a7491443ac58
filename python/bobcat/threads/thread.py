"""A conversation of many turns: each message is a turn, each turn a journaled run, and one store has all of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Literal

from bobcat.aio.closing import Closing
from bobcat.aio.tasks import cancel_and_wait
from bobcat.approvals import ApprovalHandler
from bobcat.attachments import AttachmentLimits, AttachmentStore
from bobcat.bundle import Policy
from bobcat.compression import Compressor
from bobcat.errors import ThreadBusy, ThreadError
from bobcat.executors import Executor
from bobcat.ledger import Ledger, LedgerAccount
from bobcat.model.agent import Agent
from bobcat.model.attachment import Attachment
from bobcat.model.decision import Principal
from bobcat.model.run import Budget, Message
from bobcat.runtime.arguments import check_actors, check_surroundings
from bobcat.runtime.budget import cost_cap
from bobcat.runtime.candidate import candidate_of
from bobcat.runtime.compat import DEFAULTS
from bobcat.runtime.extra import Extra
from bobcat.runtime.lease import DEFAULT_LEASE_SECONDS, default_owner
from bobcat.runtime.obligations import Handlers, checked_handlers
from bobcat.runtime.options import Options, checked
from bobcat.runtime.spending import spending_of
from bobcat.sinks import AnySink
from bobcat.stores.protocol import DurableStore
from bobcat.threads.cancelling import end_idle_turn, request_cancellation, requested_reason
from bobcat.threads.events import ThreadEvent
from bobcat.threads.files import checked_files
from bobcat.threads.following import POLL_SECONDS, Signal, follow_turn, thread_events
from bobcat.threads.history import Window
from bobcat.threads.journal import Begun, ThreadJournal
from bobcat.threads.loading import LoadedHistory, pin
from bobcat.threads.metadata import check
from bobcat.threads.opening import checked_id
from bobcat.threads.opening import opened as opened_store
from bobcat.threads.recent import Recent
from bobcat.threads.sending import check_same, send_message
from bobcat.threads.worker import Worker, bound_to, view_of
from bobcat.tools.toolset import ToolSet

Busy = Literal["queue", "refuse"]


class Thread(Closing):
    """One thread of a store: `send` a message, `events`, `resume`, `cancel`.

    `store` is a `DurableStore`, or a URL or path as `Guard(store=)` takes. Every turn runs through the same machine as
    `run_agent`, under the run id `thread:ID#N`, with the messages that `window` chooses before its task. `ledger` is
    charged for `thread=ID` and the `tenant`. Rules read the message of the turn as `context.task`, or else `task`. They
    may count by `session`, which is the thread, and by `tenant`; values that results of earlier turns gave are sources
    for later ones. `candidate` and `obligations` are those of `run_agent`.

    Raises `ValueError`, `TypeError` and `StoreError` for invalid arguments.
    """

    def __init__(
        self,
        store: DurableStore | str | Path,
        id: str,
        *,
        agent: Agent,
        tools: ToolSet,
        policy: Policy,
        window: Window | None = None,
        compressor: Compressor | None = None,
        ledger: Ledger | LedgerAccount | None = None,
        on_approval: ApprovalHandler | None = None,
        principal: Principal = Principal("user", "anonymous"),  # noqa: B008 - a frozen value
        tenant: str | None = None,
        environment: str = "dev",
        workspace: str = ".",
        extra: Extra | None = None,
        budget: Budget = Budget(),  # noqa: B008 - a frozen value
        sinks: Sequence[AnySink] = (),
        executor: Executor | None = None,
        clock: Callable[[], datetime] | None = None,
        busy: Busy = "queue",
        owner: str | None = None,
        lease_seconds: float = DEFAULT_LEASE_SECONDS,
        attachment_limits: AttachmentLimits = AttachmentLimits(),  # noqa: B008 - a frozen value
        task: str | None = None,
        candidate: Policy | None = None,
        obligations: Handlers | None = None,
    ) -> None:
        self.id = checked_id(id)
        if busy not in ("queue", "refuse"):
            raise ValueError(f'busy must be "queue" or "refuse", got {busy!r}')
        if window is not None and not callable(getattr(window, "choose", None)):
            raise TypeError(f"window must have a method choose, got {type(window).__name__}")
        if not isinstance(attachment_limits, AttachmentLimits):
            raise TypeError(f"attachment_limits must be AttachmentLimits, got {type(attachment_limits).__name__}")
        check_actors(agent, on_approval=on_approval, budget=budget, on_delta=None)
        self._own_store = isinstance(store, str | Path)
        opened = opened_store(store)
        check_surroundings(
            sinks=sinks,
            principal=principal,
            environment=environment,
            store=opened,
            executor=executor,
            cancel=None,
            compressor=compressor,
            tenant=tenant,
            user_task=task,
        )
        account = ledger
        if isinstance(ledger, Ledger):
            account = (
                ledger.account(thread=self.id) if tenant is None else ledger.account(thread=self.id, tenant=tenant)
            )
        self._options = Options(
            tools=tools, policy=policy, sinks=sinks, on_approval=on_approval, budget=budget, principal=principal,
            environment=environment, workspace=workspace, store=opened, run_id=f"thread:{self.id}", executor=executor,
            owner=owner or default_owner(), lease_seconds=lease_seconds, clock=clock, extra=extra, ledger=account,
            compressor=compressor, session=self.id, tenant=tenant, user_task=task,
            candidate=candidate_of(policy, candidate), obligations=checked_handlers(obligations),
        )  # fmt: skip
        checked(self._options, DEFAULTS)
        spending_of(account, agent, tools, run=f"thread:{self.id}", principal=principal, cap=cost_cap(budget))
        self._agent = agent
        self._window = Recent() if window is None else window
        self._busy: Busy = busy
        self._limits = attachment_limits
        self._files = AttachmentStore(opened, limits=attachment_limits)
        self._journal = ThreadJournal(opened, self.id)
        self._signal = Signal()
        self._starting = asyncio.Lock()
        self._worker: Worker | None = None
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    async def aclose(self, *, wait: bool = True) -> None:
        """Wait for the turn in progress, and close a store that was opened from a URL. Later calls do nothing.

        Without `wait` the turn stops here at once, and continues where the thread is used next.
        """
        if self._closed:
            return
        self._closed = True
        task = self._task
        if task is not None and not wait:
            await cancel_and_wait(task)
            task = None
        try:
            if task is not None:
                with suppress(Exception):
                    await task
        finally:
            if self._own_store:
                await self._journal.store.aclose()

    async def send(
        self, text: str, *, attachments: Sequence[Attachment] = (), key: str | None = None, bound: bool = False
    ) -> AsyncIterator[ThreadEvent]:
        """Send a message, and yield the events of its own turn up to its `Ended`, or to `Asked` where it suspends.

        Nothing is sent before the first event is asked for: `async for`, or `queue` where no event is wanted. The turn
        goes on when the iteration stops. The same `key` twice is one message, and yields the same events
        again. With `bound` the turn runs with the present tools and policy only: in a process that has others it fails.
        Behind a suspended turn the message is queued, and the iteration ends without an event. Raises
        `ThreadBusy` with `busy="refuse"`, `ThreadError` for a turn that cannot continue, and `AttachmentError` for
        attachments beyond `attachment_limits`, before anything is kept.
        """
        message = await self.queue(text, attachments=attachments, key=key, bound=bound)
        while (begun := await self._journal.turn_of(message)) is None:
            if not await self._advance():
                return
        async for event in follow_turn(self._journal, begun, self._signal, self._advance):
            yield event

    async def queue(
        self, text: str, *, attachments: Sequence[Attachment] = (), key: str | None = None, bound: bool = False
    ) -> int:
        """Send a message without its events: return its position in the thread's journal, once it is durable.

        Its turn runs in the background, in this process or in the one that executes the thread; `aclose` waits for it.
        Raises what `send` raises for a message that is refused.
        """
        self._check(text, key)
        files = checked_files(attachments, self._limits)
        limits = bound_to(self._options) if bound else None
        add = partial(send_message, self._journal, text, key=key, attachments=files, files=self._files, bound=limits)
        if self._busy == "refuse" and (key is None or await self._journal.message_with(key) is None):
            return await self._refusing(add)
        message = await add()
        await self._start()
        return message

    async def resume(self) -> AsyncIterator[ThreadEvent]:
        """Continue the last turn where it suspended or died, and run the messages behind it; yield their new events.

        A turn whose approval is not answered yet asks again.
        """
        self._check("resume", None)
        if await check(self._journal.store, self.id) is None:
            return
        since = await self._last_event()
        await self._start(resumes=True)
        async for event in thread_events(self._journal, since, self._signal, self._advance):
            yield event

    async def events(self, since: int = 0, *, follow: bool = False) -> AsyncIterator[ThreadEvent]:
        """Events of the thread after the one numbered `since`, in any process. `follow` waits for further ones."""
        if isinstance(since, bool) or not isinstance(since, int) or since < 0:
            raise ThreadError("bad_since", f"since must be the number of an event, from 0 on, got {since!r}")
        await check(self._journal.store, self.id)
        waits = self._wait_while_live if follow else None
        async for event in thread_events(self._journal, since, self._signal, waits):
            yield event

    async def cancel(self, reason: str = "cancelled by caller", *, turn: int | None = None) -> None:
        """Cancel the last turn, in this process or another; one that waits for an approval ends at once.

        With `turn`, the number in each event, only that one: a turn that began since is not cancelled in its place.
        Raises `ThreadError` for a turn that has not begun.
        """
        known = await check(self._journal.store, self.id)
        last = await self._journal.last_turn()
        if turn is not None:
            _check_turn(turn, 0 if last is None else last.number)
        if last is None or turn not in (None, last.number) or (await view_of(self._journal, last)).ended:
            return
        await request_cancellation(self._journal, last, reason)
        await check_same(self._journal, known)
        if self._worker is not None and self._task is not None and not self._task.done():
            self._worker.cancel(last, reason)
            return
        async with self._starting:
            await end_idle_turn(self._journal, last, self._options, reason)
        self._signal.notify()

    async def messages(self, last: int | None = None) -> list[Message]:
        """The messages of the thread, or of its `last` turns, oldest first."""
        turns = await self.turns()
        history = LoadedHistory(self._journal, turns)
        found: list[Message] = []
        for number in range(max(1, turns - last + 1) if last is not None else 1, turns + 1):
            with suppress(KeyError):
                found.extend((await history.turn(number)).messages)
        return found

    async def turns(self) -> int:
        """The number of turns that have begun."""
        await check(self._journal.store, self.id)
        last = await self._journal.last_turn()
        return 0 if last is None else last.number

    async def pin(self, turn: int, pinned: bool = True) -> None:
        """Pin a turn for the windows of later turns, or take its pin away. Raises `ThreadError` for one not begun."""
        known = await check(self._journal.store, self.id)
        _check_turn(turn, await self.turns())
        await pin(self._journal, turn, bool(pinned))
        await check_same(self._journal, known)

    def _check(self, text: object, key: object) -> None:
        if self._closed:
            raise ThreadError("closed", f"thread {self.id!r} is closed")
        if not isinstance(text, str) or not text.strip():
            raise ThreadError("bad_message", "a message must be a non-empty string")
        if key is not None and (not isinstance(key, str) or not key):
            raise ThreadError("bad_key", "key must be a non-empty string")

    async def _refusing(self, add: Callable[[], Awaitable[int]]) -> int:
        """Append the message only while no turn is in progress, under the thread's lease."""
        await check(self._journal.store, self.id)
        async with self._starting:
            if self._task is not None and not self._task.done():
                raise ThreadBusy("busy", f"thread {self.id!r} has a turn in progress")
            worker = self._new_worker()
            if not await worker.acquire():
                raise ThreadBusy("busy", f"thread {self.id!r} has a turn in progress in another process")
            try:
                last = await self._journal.last_turn()
                waits = last is not None and not (await view_of(self._journal, last)).ended
                if waits or await self._journal.next_message(last) is not None:
                    raise ThreadBusy("busy", f"thread {self.id!r} has a turn that waits; resume or cancel it")
                message = await add()
            except BaseException:
                await worker.release()
                raise
            self._run(worker, resumes=False)
            return message

    async def _start(self, *, resumes: bool = False) -> bool:
        """Execute turns in the background, unless a worker does so here or elsewhere."""
        async with self._starting:
            if self._task is not None and not self._task.done():
                return True
            await check(self._journal.store, self.id)
            failed = self._task
            self._task = None
            if failed is not None:
                failed.result()
            worker = self._new_worker()
            if not await worker.acquire():
                return False
            self._run(worker, resumes=resumes)
            return True

    def _new_worker(self) -> Worker:
        return Worker(self._journal, self._agent, self._options, self._window, self._signal.notify)

    def _run(self, worker: Worker, *, resumes: bool) -> None:
        self._worker = worker
        self._task = asyncio.create_task(worker.work(resumes=resumes))

    async def _advance(self) -> bool:
        """Wait for a change, executing turns that no process executes; false when a person must act."""
        if self._task is not None and not self._task.done():
            await self._wait()
            return True
        if await self._is_idle():
            if self._task is not None and self._task.done() and not self._task.cancelled():
                self._task.result()
            return False
        if not self._closed:
            await self._start()
        await self._wait()
        return True

    async def _wait(self) -> bool:
        await self._signal.wait(POLL_SECONDS)
        return True

    async def _wait_while_live(self) -> bool:
        await self._wait()
        await check(self._journal.store, self.id)
        return True

    async def _is_idle(self) -> bool:
        """True when the last turn waits for an approval, or nothing is left to run."""
        last = await self._journal.last_turn()
        if last is not None:
            view = await view_of(self._journal, last)
            if not view.ended:
                waits = view.suspended and await requested_reason(self._journal, last.number) is None
                return waits and not await self._is_held()
        return await self._journal.next_message(last) is None

    async def _is_held(self) -> bool:
        summary = await self._journal.store.run(self._journal.run_id)
        return summary is not None and bool(summary.held)

    async def _last_event(self) -> int:
        last: Begun | None = await self._journal.last_turn()
        return 0 if last is None else (await view_of(self._journal, last)).events


def _check_turn(turn: object, begun: int) -> None:
    """Raise `ThreadError` for anything but the number of one of the turns that have begun."""
    if type(turn) is not int or not 1 <= turn <= begun:
        raise ThreadError("bad_turn", f"turn must be the number of a turn of the thread, got {turn!r}")
