"""The run loop as a state machine: it decides the next action and performs no I/O.

    command = machine.start()
    while not isinstance(command, Finish):
        command = machine.send(perform(command))

The driver (`loop.run_agent`, a test, a replay) executes the commands and controls time, I/O and concurrency; the
machine controls the order. The machine reads no clock and draws no random number: the same events give the same
commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from bobcat.model.run import FinalAnswer, Usage
from bobcat.runtime.audit import started_body, surroundings
from bobcat.runtime.budget import BudgetStop
from bobcat.runtime.commands import (
    ANSWERS,
    AskModel,
    Command,
    Event,
    Finish,
    Interrupted,
    ModelFailed,
    ModelReplied,
    StepsTaken,
    StoreFailed,
    Superseded,
)
from bobcat.runtime.memory import RunMemory
from bobcat.runtime.reply import InvalidReply, Proposal, read_reply, reply_to_body
from bobcat.runtime.state import Ended, RunState, Setup, Steps, expect
from bobcat.runtime.step import run_step


class ProtocolError(RuntimeError):
    """An event that does not answer the machine's last command. A bug in the driver."""


class Machine:
    """One run. `command` is the command in progress, `run` the state of the run."""

    def __init__(self, setup: Setup, memory: RunMemory | None = None) -> None:
        self.run = RunState(setup)
        self.run.memory = memory
        self._steps = _protocol(self.run)
        self.command: Command | None = None

    def start(self) -> Command:
        """Start the run; return the first command."""
        if self.command is not None:
            raise ProtocolError("the run was started already")
        self.command = next(self._steps)
        return self.command

    def send(self, event: Event | None) -> Command:
        """Answer the last command; return the next one. Raises `ProtocolError` for an event that does not answer it."""
        if self.command is None or not isinstance(event, ANSWERS[type(self.command)]):
            raise ProtocolError(f"{type(event).__name__} does not answer {type(self.command).__name__}")
        self.command = self._steps.send(event)
        return self.command


def _protocol(run: RunState) -> Steps[None]:
    """The whole run; ends in `Finish`."""
    try:
        yield from _begin(run)
        yield from _loop(run)
    except Ended as ended:
        yield Finish(ended.result)


def _begin(run: RunState) -> Steps[None]:
    """Announce the start of the run, and claim its journal before the model is asked."""
    setup, journal = run.setup, run.setup.journal
    if setup.observed:
        yield from run.emit("run.started", started_body(setup))
    if setup.compat.announces_unbounded and setup.budget.is_unbounded():
        yield from run.emit("run.unbounded", {"detail": "no step, duration, or token cap — run can loop forever"})
    if journal.bundle_id is not None and journal.bundle_id != setup.bundle_id:
        body = {
            "journaled_bundle_id": journal.bundle_id,
            "current_bundle_id": setup.bundle_id,
            "detail": "resuming under a different policy than the journal was written with",
        }
        yield from run.emit("run.bundle_changed", body)
    if journal.final is not None:
        raise (yield from _replay_answer(run, journal.final))
    bound: dict[str, Any] = {} if setup.binding is None else {"binding": setup.binding}
    if setup.extra:
        bound["extra"] = setup.extra
    if setup.restored:
        bound["restored"] = True
    if journal.records:
        yield from run.append("run.resumed", {"records": journal.records, "bundle_id": setup.bundle_id, **bound})
        yield from run.emit("run.resumed", {"records": journal.records, "attempt": journal.attempts + 1})
    else:
        if setup.attachments:
            bound["attachments"] = [each.reference() for each in setup.attachments]
        if run.memory is not None:
            bound["surroundings"] = surroundings(setup)
        if setup.user_task not in (None, setup.task):
            bound["user_task"] = setup.user_task
        yield from run.append("run.started", {"task": setup.task, "bundle_id": setup.bundle_id, **bound})


def _loop(run: RunState) -> Steps[None]:
    """Take steps until the run ends. A reply of several calls is several steps."""
    append = run.conversation.append
    while True:
        journaled = run.setup.replies.get(run.step)
        # PERF: where the model is asked next, the driver checks the switch and the clock before the request, and
        # reports them.
        if journaled is not None or run.budget_exceeded(0.0) is not None:
            wall = yield from run.check_boundary()
        if journaled is not None:
            reply = journaled
            for usage in _usages(reply):
                run.meter.add(usage)
        else:
            received = yield from _reply(run)
            if received is None:
                continue
            reply, wall = received
        if isinstance(reply, FinalAnswer):
            stop = run.final_overrun()
            raise (yield from _succeed(run, reply) if stop is None else run.fail(stop))
        if run.memory is not None:
            run.memory.next_reply()
        for offset, call in enumerate(reply):
            call_id = call.call_id or f"step_{run.step + offset}"
            data = () if call.provider_data is None else (run.visible_args(call.provider_data),)
            append(("assistant", call.text, call.tool, call_id, run.visible_args(call.args), *data))
        for offset, call in enumerate(reply):
            if offset:
                wall = yield from run.check_boundary()
            yield from run_step(run, call, wall)
            run.step += 1


def _reply(run: RunState) -> Steps[tuple[tuple[Proposal, ...] | FinalAnswer, datetime] | None]:
    """The agent's reply, journaled at once, and its time. None when the driver took steps itself."""
    event = yield AskModel(run.conversation_view())
    if isinstance(event, StepsTaken):
        return None
    if not isinstance(event, ModelReplied):
        raise (yield from _no_reply(run, event))
    reply = read_reply(event.reply, strict=run.compat.strict_replies, tools=run.setup.tools.tools)
    if isinstance(reply, InvalidReply):
        raise (yield from run.fail(BudgetStop(reply.text, reply.text, "invalid_reply")))
    if run.setup.journaled:
        paid = {} if event.cost is None else {"cost_micros": event.cost}
        yield from run.append("model.output", {**reply_to_body(reply, run.step, run.visible_args), **paid})
    cost = event.cost
    for usage in _usages(reply):
        run.meter.add(usage)
        yield from _announce_usage(run, usage, cost)
        cost = None
    return reply, event.wall


def _no_reply(run: RunState, event: Event | None) -> Steps[Ended]:
    """The model did not answer: it failed, it was interrupted, or it was not asked. Returns the exception to raise."""
    if isinstance(event, Interrupted):
        if event.step:
            text = f"agent.step timed out after {run.setup.budget.step_timeout_seconds}s"
            return (yield from run.fail(BudgetStop(text, text, "agent_timed_out")))
        return (yield from run.interrupted(event, "model" if event.started else "step_boundary"))
    if isinstance(event, (StoreFailed, Superseded)):
        return (yield from run.append_failed(event))
    failed = expect(event, ModelFailed)
    run.traceback = failed.traceback
    return (yield from run.fail(BudgetStop(failed.error, failed.reason, failed.code)))


def _succeed(run: RunState, answer: FinalAnswer) -> Steps[Ended]:
    """Journal the answer, then announce it: a crash in between resumes to the same answer. Returns the exception to
    raise.
    """
    yield from run.append("final", {"step": run.step, "final_answer": answer.text})
    body: dict[str, Any] = {"final_answer": answer.text}
    totals = run.meter.totals()
    if totals is not None:
        body["usage"] = {"input_tokens": totals.input_tokens, "output_tokens": totals.output_tokens}
    yield from run.emit("run.succeeded", body)
    return run.ended(final_answer=answer.text)


def _replay_answer(run: RunState, final: Mapping[str, Any]) -> Steps[Ended]:
    """Repeat the recorded answer of a finished run. Returns the exception to raise."""
    for reply in run.setup.replies.values():
        for usage in _usages(reply):
            run.meter.add(usage)
    answer = final.get("final_answer")
    yield from run.emit("run.succeeded", {"final_answer": answer, "replayed": True})
    return run.ended(final_answer=answer, steps=final.get("step", 0))


def _usages(reply: tuple[Proposal, ...] | FinalAnswer) -> list[Usage]:
    parts = (reply,) if isinstance(reply, FinalAnswer) else reply
    return [part.usage for part in parts if part.usage is not None]


def _announce_usage(run: RunState, usage: Usage, cost: int | None) -> Steps[None]:
    body: dict[str, Any] = {
        "seq": run.step,
        "model": usage.model,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "total_input": run.meter.input,
        "total_output": run.meter.output,
    }
    if cost is not None:
        body["cost_micros"] = cost
    yield from run.emit("step.usage", body)
