"""The express lane: plain steps of a run that nobody watches, taken one after the other without the machine.

A step is plain when the agent makes one call of a known tool with exactly its arguments, all of them plain values, the
policy allows it as it is, and no sink listens. Whatever else happens, the lane stops and tells the machine, which takes
the step as if the lane had never been there. What the lane does, it does as the machine would: the machine without it
is the oracle of its tests.

PERF: a step costs a sixth of what it costs through the machine; see `benches/loop.py`.

INVARIANT: as in `action`. No tool runs without a decision that allows it, nor, in a journaled run, before its intent is
durable; and nothing begins once the switch was thrown or the time is over.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from traceback import walk_tb
from typing import Any

from bobcat._core import Form, Requests, frozen_if_flat
from bobcat.agent import Agent
from bobcat.bundle import PolicyBundle
from bobcat.executors.inline import failure_text, late_text
from bobcat.journal import DuplicateRecord
from bobcat.kernel.begun import resumed
from bobcat.kernel.commands import Cruised, Event, Interrupted, ModelFailed, ModelReplied, StoreFailed, Superseded
from bobcat.kernel.interrupts import Interrupts
from bobcat.kernel.journaling import RunJournal
from bobcat.kernel.judging import judge
from bobcat.kernel.state import NOT_BEGUN, RunState
from bobcat.kernel.tenure import Tenure
from bobcat.logs import logger, traceback_of
from bobcat.model import ActionRequest, Decision, ExecutionContext, ToolCall, ToolDef, Verdict
from bobcat.plain_json import describe, show
from bobcat.quick import maker
from bobcat.stores.durable import LeaseLost
from bobcat.tools import GIVEN

log = logger("kernel")
_context, _request = maker(ExecutionContext), maker(ActionRequest)
_CALL = ("tool", "args", "call_id")
_RESULT = ("step", "tool", "verdict", "ok", "error", "duration_ms", "message")


class _Forms:
    """The records of a call of one tool. Raises `ValueError` for a name or an effect that is not plain."""

    __slots__ = ("failure", "intent", "reply", "result")

    def __init__(self, name: str, effect: Mapping[str, str]) -> None:
        allowed = {"tool": name, "verdict": "allow"}
        self.reply = Form("model.output", ("step", "type", *_CALL), {"type": "tool_call", "tool": name})
        self.intent = Form("action.intent", ("step", *allowed, *effect), {**allowed, **effect})
        self.result = Form("action.result", _RESULT, {**allowed, "ok": True, "error": None})
        self.failure = Form("action.result", _RESULT, {**allowed, "ok": False})


_Kinds = Mapping[str, frozenset[type]]
_Known = tuple[ToolDef, _Kinds, _Forms | None, Callable[[Mapping[str, Any]], bool]]
_ANY_KINDS: _Kinds = {}
_NO_KINDS: frozenset[type] = frozenset()


class Express:
    """The lane of one run. `decided` is a decision that the machine need not ask for again."""

    def __init__(
        self, run: RunState, *, agent: Agent, policy: PolicyBundle, interrupts: Interrupts, journal: RunJournal | None
    ) -> None:
        self.decided: Decision | None = None
        self._run = run
        self._agent = agent
        self._policy = policy
        self._interrupts = interrupts
        self._journal = journal
        self._tools: dict[str, _Known] = {}

    def is_open(self) -> bool:
        """Whether the run as it stands may take the lane."""
        setup = self._run.setup
        budget = setup.budget
        manner = setup.manner
        same_habits = {
            manner.read_only,
            manner.binds_arguments,
            manner.interrupts,
            manner.intent_follows_approval,
            manner.strict_replies,
            manner.tells_timeouts_apart,
            manner.guards_journal,
            manner.journals_ends,
        }
        return (
            len(same_habits) == 1
            and not setup.observed
            and not setup.asks_extra
            and not log.isEnabledFor(logging.DEBUG)
            and not setup.journal.records
            and not setup.restored
            and budget.max_repeated_calls is None
            and budget.step_timeout_seconds is None
        )

    async def go(self) -> Event:
        """Take plain steps; what to answer the machine with, which waits for the model's reply."""
        run, interrupts, setup = self._run, self._interrupts, self._run.setup
        tools, policy, cap, conversation = self._tools, self._policy, setup.budget.steps, run.conversation
        ask, tell = self._agent.step, conversation.append
        safe = setup.manner.read_only
        view = conversation.view if safe else conversation.as_tuple
        out, failure_of = run.out, partial(_failure, tells_timeouts_apart=setup.manner.tells_timeouts_apart)
        request = Requests(
            _context, _request, principal=setup.principal, environment=setup.environment, workspace=setup.workspace,
            correlation_id=setup.correlation_id, extra=setup.extra,
        ).of  # fmt: skip
        journal = self._journal
        tenure = None if journal is None else journal.tenure
        calm, clock, cancelling = interrupts.is_calm(), interrupts.now, interrupts.cancelling
        if journal is not None:
            append, chain = journal.append, journal.chain
            fill, keep, kept, key_of = chain.fill, chain.keep, chain.kept, chain.key
        while True:
            step = run.step
            if not (calm and interrupts.quiet) and (stop := interrupts.due()) is not None:
                return stop
            try:
                reply: object = await ask(view())
            except BaseException as error:
                if _goes_through(error, interrupts):
                    raise
                if isinstance(error, TimeoutError) and not safe:
                    return Interrupted(step=True)
                return model_failed(error, explain=safe)
            if interrupts.fired is not None:
                return interrupts.fired
            if cancelling():  # PERF: once a step, 0.1 µs; who never waits for anything would run on
                await asyncio.sleep(0)
            now = clock()
            if type(reply) is not ToolCall or reply.usage is not None or reply.problem is not None or reply.text != "":
                return ModelReplied(reply, now)
            if reply.provider_data is not None:
                return ModelReplied(reply, now)
            name, given, call_id = reply.tool, reply.args, reply.call_id
            if type(name) is not str or type(call_id) is not str or type(given) is not dict:
                return ModelReplied(reply, now)
            known = tools.get(name) or self._look_up(name)
            args = frozen_if_flat(given)
            if known is None or args is None:
                return ModelReplied(reply, now)
            if safe:
                kinds = known[1]
                if len(args) != len(kinds):
                    return ModelReplied(reply, now)
                for argument, value in args.items():  # PERF: 0.1 µs, in line
                    if type(value) not in kinds.get(argument, _NO_KINDS):
                        if known[3](args):
                            break
                        return ModelReplied(reply, now)
            shown = args if safe else dict(args)
            tool, forms = known[0], known[2]
            decision = judge(policy, request(name, shown, tool.metadata, step, now))
            if decision.verdict is not Verdict.ALLOW or decision.transform_args is not None:
                self.decided = decision
                return ModelReplied(reply, now)
            if journal is not None and forms is not None:
                # PERF: a key that needs no care for its names is made in one call.
                key = key_of(step, name, args) or run.key(step, name, args)
                try:
                    writing = append(fill(forms.reply, (step, args if safe else out(args), call_id), "", now))
                    if (waits := keep(writing)) is not None:
                        await self._insist(writing, waits)
                        kept()
                    if safe and not (calm and interrupts.quiet) and (stop := interrupts.due()) is not None:
                        return stop
                    writing = append(fill(forms.intent, (step,), key, now))
                    if (waits := keep(writing)) is not None:
                        await self._insist(writing, waits)
                        kept()
                except BaseException as error:
                    return _not_kept(error, interrupts)
            if tenure is not None or not (calm and interrupts.quiet):
                stop = None if calm and interrupts.quiet else interrupts.due(deadline=safe)
                if stop is None and tenure is not None and tenure.is_due():
                    stop = await self._secure(tenure)
                if stop is not None:
                    return stop if journal is None or not safe else await self._abandon(journal, stop, name, key)
            if journal is not None:
                started = time.perf_counter()
            try:
                value = await tool.fn(**args)
            except BaseException as error:
                if _goes_through(error, interrupts):
                    raise
                failure: str | None = failure_of(tool, error)
                message = f"[error] {failure}"
            else:
                failure, message = None, f"[ok] {value if type(value) is str else show(value)}"
            if journal is not None and forms is not None:
                took = int((time.perf_counter() - started) * 1000)
                try:
                    if failure is None:
                        writing = append(fill(forms.result, (step, took, message), key, clock()))
                    else:
                        writing = append(fill(forms.failure, (step, failure, took, message), key, clock()))
                    if (waits := keep(writing)) is not None:
                        await self._insist(writing, waits)
                        kept()
                except BaseException as error:
                    return _not_kept(error, interrupts)
            call_id = call_id or f"step_{step}"
            tell(("assistant", "", name, call_id, args if safe else out(args)))
            tell(("tool", message, name, call_id))
            run.step = step = step + 1
            if cap is not None and step >= cap:
                return Cruised()

    async def _insist(self, writing: Awaitable[None], waits: tuple[Any, ...]) -> None:  # Any: what a task waits for
        """Wait for a write that did not end at once, whatever the switch and the deadline say."""
        limit = self._run.manner.store_seconds
        self._interrupts.shield(limit)
        try:
            await (resumed(writing, waits[0]) if waits else writing)
            self._interrupts.let_count(limit)
        finally:
            self._interrupts.unshield()

    async def _secure(self, tenure: Tenure) -> Interrupted | None:
        """See to it that the lease is good for a tool's while."""
        interrupts = self._interrupts
        interrupts.shield(self._run.manner.store_seconds)
        try:
            lost = await tenure.secure()
            interrupts.let_count(None)
        finally:
            interrupts.unshield()
        return None if lost is None else Interrupted(lost=lost, started=False)

    async def _abandon(self, journal: RunJournal, stop: Interrupted, tool: str, key: str) -> Event:
        """Keep on record that an action whose intent is there was not begun."""
        if stop.lost is not None:
            return stop
        interrupts, limit = self._interrupts, self._run.manner.store_seconds
        body = {"step": self._run.step, "tool": tool, "reason": NOT_BEGUN, "intents": [journal.chain.seq - 1]}
        interrupts.shield(limit)
        try:
            await journal.write("action.abandoned", body, key, interrupts.now())
            interrupts.let_count(limit)
        except BaseException as error:
            return _not_kept(error, interrupts)
        finally:
            interrupts.unshield()
        return stop

    def _look_up(self, name: str) -> _Known | None:
        """A tool, the types that fit its arguments, its records, and the check of other types, kept for the next time.
        None for a tool that takes any, or what the run gives it, or whose name needs care in a key or a record."""
        tool, manner = self._run.setup.tools.tools.get(name), self._run.manner
        if tool is None or GIVEN.get(tool.metadata.effect) or "|" in name:
            return None
        signature = self._run.signature(name)
        fitting = signature.kinds() if manner.binds_arguments else _ANY_KINDS
        if fitting is None:
            return None
        forms = None
        if self._journal is not None:
            try:
                forms = _Forms(name, {"effect": tool.metadata.effect} if manner.read_only else {})
            except ValueError:
                return None
        self._tools[name] = tool, fitting, forms, signature.fits
        return self._tools[name]


def _not_kept(error: BaseException, interrupts: Interrupts) -> Event:
    """What an exception says that ended a write. The write is shielded: only its own limit can have cancelled it."""
    if isinstance(error, (DuplicateRecord, LeaseLost)):
        return Superseded(str(error))
    if _goes_through(error, interrupts):
        raise error
    return StoreFailed(f"store.append failed: {describe(error)}")


def _goes_through(error: BaseException, interrupts: Interrupts) -> bool:
    """Whether an exception ends the run as it is: a cancellation that was asked for, Ctrl-C, the end of the process."""
    if isinstance(error, asyncio.CancelledError):
        return interrupts.being_cancelled()
    return not isinstance(error, (Exception, SystemExit))


def _failure(tool: ToolDef, error: BaseException, *, tells_timeouts_apart: bool) -> str:
    if isinstance(error, TimeoutError) and not tells_timeouts_apart:
        return late_text(tool, None)
    if isinstance(error, asyncio.CancelledError):  # raised by somebody's own hand
        return f"executor raised {describe(error)}"
    return failure_text(error)


def model_failed(error: BaseException, *, explain: bool = False) -> ModelFailed:
    """What the machine is told of an agent that raises. With `explain`, a `step` that is not async is said to be it."""
    if explain and isinstance(error, TypeError) and _awaited_here(error):
        text = f"agent.step must be async: `async def step(self, conversation)`; {describe(error)}"
        return ModelFailed(text, text, traceback_of(error))
    try:
        shown = repr(error)
    except Exception:
        shown = describe(error)
    return ModelFailed(f"agent.step raised: {describe(error)}", f"agent.step raised: {shown}", traceback_of(error))


def _awaited_here(error: TypeError) -> bool:
    """Whether it was this package that could not await something: no frame of the agent's is in between."""
    frames = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    return bool(frames and frames[-1].startswith("bobcat.kernel.")) and "in 'await' expression" in str(error)
