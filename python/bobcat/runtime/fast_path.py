"""Fast path for unobserved, allowed, single-call steps, taken in sequence without the machine.

A step qualifies when the agent makes one call of a known tool with exactly its arguments, all of them plain values, the
policy allows it unchanged, and the run has no sinks. In every other case the fast path stops and hands the step to the
machine, which takes it as if the fast path did not exist. Its behaviour equals that of the machine, which is the oracle
of its tests.

PERF: a step costs a sixth of its cost through the machine; see `benches/loop.py`.

INVARIANT: as in `step`. No tool runs without a decision that allows it, nor, in a journaled run, before its intent is
durable; and nothing starts after the kill switch was thrown or the time is over.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from traceback import walk_tb
from typing import Any

from bobcat._core import RecordTemplate, Requests, frozen_if_flat
from bobcat.bundle import Policy
from bobcat.errors import FILE_CODES, AttachmentError, IncompleteReply
from bobcat.executors.inline import failure_text, late_text
from bobcat.journal.records import DuplicateRecord
from bobcat.logs import logger, traceback_of
from bobcat.model.agent import Agent
from bobcat.model.decision import ActionRequest, Decision, ExecutionContext, Verdict
from bobcat.model.fast_init import positional_factory
from bobcat.model.run import RunErrorCode, ToolCall, ToolDef
from bobcat.runtime.commands import (
    Event,
    Interrupted,
    ModelFailed,
    ModelReplied,
    StepsTaken,
    StoreFailed,
    Superseded,
)
from bobcat.runtime.coroutine import await_started
from bobcat.runtime.evaluate import evaluate_or_deny
from bobcat.runtime.interrupts import Interrupts
from bobcat.runtime.journaling import RunJournal
from bobcat.runtime.lease import LeaseKeeper
from bobcat.runtime.state import NOT_BEGUN, RunState
from bobcat.stores.protocol import LeaseLost
from bobcat.text.json_text import format_exception, safe_str
from bobcat.tools.action import current_action, is_marked
from bobcat.tools.signature import SUPPLIED

log = logger("runtime")
_context, _request = positional_factory(ExecutionContext), positional_factory(ActionRequest)
_CALL = ("tool", "args", "call_id")
_RESULT = ("step", "tool", "verdict", "ok", "error", "duration_ms", "message")


class _RecordTemplates:
    """Record templates for calls of one tool. Raises `ValueError` for a name or an effect that needs JSON escaping."""

    __slots__ = ("failure", "intent", "reply", "result")

    def __init__(self, name: str, effect: Mapping[str, str]) -> None:
        allowed = {"tool": name, "verdict": "allow"}
        self.reply = RecordTemplate("model.output", ("step", "type", *_CALL), {"type": "tool_call", "tool": name})
        self.intent = RecordTemplate("action.intent", ("step", *allowed, *effect), {**allowed, **effect})
        self.result = RecordTemplate("action.result", _RESULT, {**allowed, "ok": True, "error": None})
        self.failure = RecordTemplate("action.result", _RESULT, {**allowed, "ok": False})


_Kinds = Mapping[str, frozenset[type]]
_Known = tuple[ToolDef, _Kinds, _RecordTemplates | None, Callable[[Mapping[str, Any]], bool]]
_ANY_KINDS: _Kinds = {}
_NO_KINDS: frozenset[type] = frozenset()


class FastPath:
    """The fast path of one run. `decided` is a decision that the machine need not request again."""

    def __init__(
        self, run: RunState, *, agent: Agent, policy: Policy, interrupts: Interrupts, journal: RunJournal | None
    ) -> None:
        self.decided: Decision | None = None
        self._run = run
        self._agent = agent
        self._policy = policy
        self._interrupts = interrupts
        self._journal = journal
        self._tools: dict[str, _Known] = {}

    def is_eligible(self) -> bool:
        """Return true if the run, in its present state, may take the fast path."""
        setup = self._run.setup
        budget = setup.budget
        compat = setup.compat
        compat_values = {
            compat.read_only,
            compat.binds_arguments,
            compat.interrupts,
            compat.intent_follows_approval,
            compat.strict_replies,
            compat.distinguishes_timeouts,
            compat.guards_journal,
            compat.journals_ends,
        }
        return (
            len(compat_values) == 1
            and not setup.observed
            and not setup.asks_extra
            and self._run.memory is None
            and not log.isEnabledFor(logging.DEBUG)
            and not setup.journal.records
            and not setup.restored
            and current_action() is None
            and budget.max_repeated_calls is None
            and budget.step_timeout_seconds is None
        )

    async def run(self) -> Event:
        """Take fast-path steps; return the event that answers the machine, which waits for the model's reply."""
        run, interrupts, setup = self._run, self._interrupts, self._run.setup
        tools, policy, cap, conversation = self._tools, self._policy, setup.budget.steps, run.conversation
        next_step, append_message = self._agent.step, conversation.append
        safe = setup.compat.read_only
        view = conversation.view if safe else conversation.as_tuple
        visible_args, failure_of = (
            run.visible_args,
            partial(_failure, distinguishes_timeouts=setup.compat.distinguishes_timeouts),
        )
        request = Requests(
            _context, _request, principal=setup.principal, environment=setup.environment, workspace=setup.workspace,
            correlation_id=setup.correlation_id, extra=setup.extra, task=setup.user_task,
        ).of  # fmt: skip
        journal = self._journal
        lease_keeper = None if journal is None else journal.lease_keeper
        unlimited, clock, cancelling = interrupts.is_unlimited(), interrupts.now, interrupts.cancelling
        if journal is not None:
            append, chain = journal.append, journal.chain
            fill, begin_write, confirm_write, key_of = chain.fill, chain.keep, chain.kept, chain.key
            outbox = journal.outbox
        while True:
            step = run.step
            if not (unlimited and interrupts.lease_ok) and (stop := interrupts.due()) is not None:
                return stop
            try:
                reply: object = await next_step(view())
            except BaseException as error:
                if _must_propagate(error, interrupts):
                    raise
                if isinstance(error, TimeoutError) and not safe:
                    return Interrupted(step=True)
                return model_failed(error, explain=safe)
            if interrupts.fired is not None:
                return interrupts.fired
            if cancelling():  # PERF: once a step, 0.1 µs; a run that never suspends could not be cancelled otherwise
                await asyncio.sleep(0)
            now = clock()
            if type(reply) is not ToolCall or reply.usage is not None or reply.problem is not None or reply.text != "":
                return ModelReplied(reply, now)
            if reply.provider_data is not None:
                return ModelReplied(reply, now)
            name, given, call_id = reply.tool, reply.args, reply.call_id
            if type(name) is not str or type(call_id) is not str or type(given) is not dict:
                return ModelReplied(reply, now)
            known = tools.get(name) or self._lookup_tool(name)
            args = frozen_if_flat(given)
            if known is None or args is None:
                return ModelReplied(reply, now)
            if safe:
                kinds = known[1]
                if len(args) != len(kinds):
                    return ModelReplied(reply, now)
                for argument, value in args.items():  # PERF: 0.1 µs, inlined
                    if type(value) not in kinds.get(argument, _NO_KINDS):
                        if known[3](args):
                            break
                        return ModelReplied(reply, now)
            shown = args if safe else dict(args)
            tool, templates = known[0], known[2]
            decision = evaluate_or_deny(policy, request(name, shown, tool.metadata, step, now))
            if decision.verdict is not Verdict.ALLOW or decision.transform_args is not None or decision.obligations:
                self.decided = decision
                return ModelReplied(reply, now)
            if journal is not None and templates is not None:
                # PERF: one call builds a key whose names need no escaping.
                key = key_of(step, name, args) or run.key(step, name, args)
                try:
                    record = fill(templates.reply, (step, args if safe else visible_args(args), call_id), "", now)
                    if outbox is not None:
                        outbox.put(record)
                        confirm_write()
                    elif (waits := begin_write(writing := append(record))) is not None:
                        await self._wait_uninterruptible(writing, waits)
                        confirm_write()
                    if safe and not (unlimited and interrupts.lease_ok) and (stop := interrupts.due()) is not None:
                        return stop
                    record = fill(templates.intent, (step,), key, now)
                    if outbox is not None:
                        outbox.put(record)
                        confirm_write()
                        await self._wait_uninterruptible(outbox.flush(), ())
                    elif (waits := begin_write(writing := append(record))) is not None:
                        await self._wait_uninterruptible(writing, waits)
                        confirm_write()
                except BaseException as error:
                    return _append_failure(error, interrupts)
            if lease_keeper is not None or not (unlimited and interrupts.lease_ok):
                stop = None if unlimited and interrupts.lease_ok else interrupts.due(deadline=safe)
                if stop is None and lease_keeper is not None and lease_keeper.is_due():
                    stop = await self._ensure_valid(lease_keeper)
                if stop is not None:
                    return (
                        stop if journal is None or not safe else await self._record_abandoned(journal, stop, name, key)
                    )
            if journal is not None:
                started = time.perf_counter()
            try:
                value = await tool.fn(**args)
            except BaseException as error:
                if _must_propagate(error, interrupts):
                    raise
                failure: str | None = failure_of(tool, error)
                message = f"[error] {failure}"
            else:
                failure, message = None, f"[ok] {value if type(value) is str else safe_str(value)}"
            if journal is not None and templates is not None:
                took = int((time.perf_counter() - started) * 1000)
                try:
                    if failure is None:
                        record = fill(templates.result, (step, took, message), key, clock())
                    else:
                        record = fill(templates.failure, (step, failure, took, message), key, clock())
                    if outbox is not None:  # the next effect waits for it, the model does not
                        outbox.put(record)
                        confirm_write()
                        outbox.start()
                    elif (waits := begin_write(writing := append(record))) is not None:
                        await self._wait_uninterruptible(writing, waits)
                        confirm_write()
                except BaseException as error:
                    return _append_failure(error, interrupts)
            call_id = call_id or f"step_{step}"
            append_message(("assistant", "", name, call_id, args if safe else visible_args(args)))
            append_message(("tool", message, name, call_id))
            run.step = step = step + 1
            if cap is not None and step >= cap:
                return StepsTaken()

    async def _wait_uninterruptible(
        self, writing: Awaitable[None], waits: tuple[Any, ...]
    ) -> None:  # Any: the awaitable of a task
        """Wait for a write that did not complete at once, regardless of the switch and the deadline."""
        limit = self._run.compat.store_timeout_seconds
        self._interrupts.shield(limit)
        try:
            await (await_started(writing, waits[0]) if waits else writing)
            self._interrupts.count_late(limit)
        finally:
            self._interrupts.unshield()

    async def _ensure_valid(self, lease_keeper: LeaseKeeper) -> Interrupted | None:
        """Renew the lease if it is due, so that a tool may run."""
        interrupts = self._interrupts
        interrupts.shield(self._run.compat.store_timeout_seconds)
        try:
            lost = await lease_keeper.ensure_valid()
            interrupts.count_late(None)
        finally:
            interrupts.unshield()
        return None if lost is None else Interrupted(lost=lost, started=False)

    async def _record_abandoned(self, journal: RunJournal, stop: Interrupted, tool: str, key: str) -> Event:
        """Record that an action with a durable intent was not started."""
        if stop.lost is not None:
            return stop
        interrupts, limit = self._interrupts, self._run.compat.store_timeout_seconds
        body = {"step": self._run.step, "tool": tool, "reason": NOT_BEGUN, "intents": [journal.chain.seq - 1]}
        interrupts.shield(limit)
        try:
            await journal.write("action.abandoned", body, key, interrupts.now())
            interrupts.count_late(limit)
        except BaseException as error:
            return _append_failure(error, interrupts)
        finally:
            interrupts.unshield()
        return stop

    def _lookup_tool(self, name: str) -> _Known | None:
        """A tool with the types that fit its arguments, its record templates and the check of other types, cached.

        None for a tool that takes arbitrary arguments or values from the run, that uses the current action, or whose
        name needs escaping in a key or a record.
        """
        tool, compat = self._run.setup.tools.tools.get(name), self._run.compat
        if tool is None or SUPPLIED.get(tool.metadata.effect) or "|" in name or is_marked(tool.fn):
            return None
        signature = self._run.signature(name)
        fitting = signature.kinds() if compat.binds_arguments else _ANY_KINDS
        if fitting is None:
            return None
        templates = None
        if self._journal is not None:
            try:
                templates = _RecordTemplates(name, {"effect": tool.metadata.effect} if compat.read_only else {})
            except ValueError:
                return None
        self._tools[name] = tool, fitting, templates, signature.fits
        return self._tools[name]


def _append_failure(error: BaseException, interrupts: Interrupts) -> Event:
    """The event for an exception that ended a write.

    The write is shielded: only its own timeout can have cancelled it.
    """
    if isinstance(error, (DuplicateRecord, LeaseLost)):
        return Superseded(str(error))
    if _must_propagate(error, interrupts):
        raise error
    return StoreFailed(f"store.append failed: {format_exception(error)}")


def _must_propagate(error: BaseException, interrupts: Interrupts) -> bool:
    """Return true if an exception must end the run as it is: a requested cancellation, Ctrl-C, the process's end."""
    if isinstance(error, asyncio.CancelledError):
        return interrupts.being_cancelled()
    return not isinstance(error, (Exception, SystemExit))


def _failure(tool: ToolDef, error: BaseException, *, distinguishes_timeouts: bool) -> str:
    if isinstance(error, TimeoutError) and not distinguishes_timeouts:
        return late_text(tool, None)
    if isinstance(error, asyncio.CancelledError):  # raised by user code
        return f"executor raised {format_exception(error)}"
    return failure_text(error)


def model_failed(error: BaseException, *, explain: bool = False) -> ModelFailed:
    """The machine's event for an agent that raised. With `explain`, the error names a `step` that is not async."""
    if explain and isinstance(error, TypeError) and _awaited_here(error):
        text = f"agent.step must be async: `async def step(self, conversation)`; {format_exception(error)}"
        return ModelFailed(text, text, traceback_of(error), "invalid_reply")
    try:
        shown = repr(error)
    except Exception:
        shown = format_exception(error)
    return ModelFailed(
        f"agent.step raised: {format_exception(error)}",
        f"agent.step raised: {shown}",
        traceback_of(error),
        _code_of(error),
    )


def _code_of(error: BaseException) -> RunErrorCode:
    if isinstance(error, IncompleteReply):
        return error.code
    found = error.code if isinstance(error, AttachmentError) else None
    return next((code for code in FILE_CODES if code == found), "agent_failed")


def _awaited_here(error: TypeError) -> bool:
    """Return true if this package itself could not await the value: no frame of the agent is in between."""
    frames = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    return bool(frames and frames[-1].startswith("bobcat.runtime.")) and "in 'await' expression" in str(error)
