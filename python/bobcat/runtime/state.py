"""The state of a run in progress, and the operations that every part of the machine shares. No I/O, no clock."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

import msgspec

from bobcat.journal.index import JournalIndex
from bobcat.journal.keys import action_key_of, idempotency_key
from bobcat.model.attachment import Attachment
from bobcat.model.decision import ActionRequest, Decision, Principal
from bobcat.model.frozen import FrozenDict, thaw
from bobcat.model.masking import Paths, masked_body
from bobcat.model.run import ActionResult, Budget, FinalAnswer, Message, RunErrorCode, RunOutcome, RunResult
from bobcat.runtime.budget import BudgetStop, Meter, duration_stop, exceeded, final_overrun
from bobcat.runtime.commands import (
    NOTHING_OPENED,
    Append,
    ClockReading,
    Command,
    Emit,
    Event,
    Interrupted,
    ReadClock,
    StoreAcked,
    StoreFailed,
    Superseded,
    Suspended,
)
from bobcat.runtime.compat import DEFAULTS, CompatOptions
from bobcat.runtime.conversation import Conversation
from bobcat.runtime.divergence import DIVERGED, MAX_DIVERGENCES, diverged_body
from bobcat.runtime.extra import NO_FACTS
from bobcat.runtime.hash_chain import CHAIN
from bobcat.runtime.memory import RunMemory
from bobcat.runtime.reply import Proposal
from bobcat.sinks.fanout import ACTION_RESULT
from bobcat.tools.signature import ToolSignature, signature_of
from bobcat.tools.toolset import ToolSet

T = TypeVar("T")
E = TypeVar("E")
Steps: TypeAlias = Generator[Command, Event | None, T]
"""A part of the protocol: it yields commands, receives events, and returns a T."""

READ_CLOCK = ReadClock()
NOT_BEGUN = "the run was stopped before the action began"


class Setup(msgspec.Struct, frozen=True):
    """The inputs of a run. `observed` is false when no sink listens, so that no events are built."""

    task: str
    tools: ToolSet
    budget: Budget
    principal: Principal
    environment: str
    workspace: str
    correlation_id: str
    bundle_id: str
    run_id: str
    journaled: bool
    observed: bool
    journal: JournalIndex
    replies: Mapping[int, tuple[Proposal, ...] | FinalAnswer]
    compat: CompatOptions = DEFAULTS
    binding: Mapping[str, Any] | None = None
    """The binding of the run, for its journal."""
    extra: Mapping[str, Any] = NO_FACTS
    """The facts of the whole run, which rules read as `context.extra`."""
    asks_extra: bool = False
    """A provider gives the facts of each step."""
    renews_extra: bool = False
    """The provider is asked again for a step whose facts are on record."""
    restored: bool = False
    """True when the store was restored since the run began: every action without a record may already have run."""
    history: tuple[Message, ...] = ()
    """Messages before the task, in a turn of a thread."""
    attachments: tuple[Attachment, ...] = ()
    """The task's, in a turn of a thread."""
    shows_results: bool = False
    """A sink gets the results of calls."""
    user_task: str | None = None
    """The user's own words, which rules read as `context.task`; None for a policy that does not read them."""
    redacted: Paths = ()
    """The paths that some rule of the policy redacts."""
    in_thread: bool = False
    """The run is a turn of a thread: its journal has all that the events of the thread need."""


class StepOutcome(msgspec.Struct, frozen=True):
    """Outcome of a step, as a value: `decision` is None when the policy was not asked, or its record is replayed.

    `code` says why the policy was not asked. `uncertain`: the action was started, and its outcome is unknown. `opened`
    are the facts that the action recorded.
    """

    result: ActionResult
    decision: Decision | None = None
    denied: bool = False
    code: str = ""
    uncertain: bool = False
    opened: Mapping[str, Any] = NOTHING_OPENED  # Any: JSON


class Ended(Exception):
    """Raised inside the machine to end the run from any depth; the machine turns it into `Finish`."""

    def __init__(self, result: RunResult) -> None:
        super().__init__(result.error)
        self.result = result


class RunState:
    """A run in progress: its position and its usage."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.compat = setup.compat
        self.step = 0
        self.meter = Meter()
        self.conversation = Conversation(*setup.history, Message("user", setup.task, attachments=setup.attachments))
        self.traceback: str | None = None
        """The traceback of the exception that ended the run."""
        self.last: StepOutcome | None = None
        """The outcome of the last step."""
        self.decided: tuple[ActionRequest, Decision] | None = None
        """The last decision of a step, and the request with the arguments it is about."""
        self.evaluated_args: Mapping[str, Any] = FrozenDict()  # Any: JSON
        """The arguments that the policy evaluated for the last decision."""
        self.diverged: list[Mapping[str, Any]] = []  # Any: JSON
        """The divergences of a candidate policy, up to `MAX_DIVERGENCES` of a run."""
        self.masked: Paths = setup.redacted
        """The paths whose values no event shows at present."""
        self.memory: RunMemory | None = None
        """The memory of the run, for a policy with rules that remember."""
        self._repeats: dict[str, int] = {}
        self._signatures: dict[str, ToolSignature] = {}

    def visible_args(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """Arguments for foreign code: read-only, or a separate copy."""
        return args if self.compat.read_only else thaw(args)

    def conversation_view(self) -> Sequence[Message]:
        """The agent's view of the conversation."""
        return self.conversation.view() if self.compat.read_only else self.conversation.as_tuple()

    def emit(self, kind: str, body: dict[str, Any]) -> Steps[None]:
        """Send an event to the sinks, if there are any."""
        if self.setup.observed:
            yield Emit(kind, masked_body(body, self.masked) if self.masked else body)

    def show_result(self, record: Mapping[str, Any], **more: object) -> Steps[None]:
        """Send the record of a result to the sinks that take results, once it is durable."""
        if self.setup.shows_results:
            body = {name: value for name, value in record.items() if name not in ("step", CHAIN)}
            shown = {"seq": record["step"], **body, **more}
            yield Emit(ACTION_RESULT, masked_body(shown, self.masked) if self.masked else shown)

    def read_clock(self) -> Steps[ClockReading]:
        """Read the clock."""
        return expect((yield READ_CLOCK), ClockReading)

    def key(self, step: int, tool: str, args: Mapping[str, Any]) -> str:
        """The idempotency key of an action."""
        name = action_key_of if self.compat.guards_journal else idempotency_key
        return name(self.setup.run_id or self.setup.correlation_id, step, tool, args, text=self.compat.json)

    def append(self, kind: str, body: dict[str, Any], key: str = "") -> Steps[int]:
        """Append a journal record, if the run has a journal, and return its position. The run ends when the append
        fails.
        """
        if not self.setup.journaled:
            return -1
        event = yield Append(kind, body, key)
        if isinstance(event, (StoreFailed, Superseded)):
            raise (yield from self.append_failed(event))
        return expect(event, StoreAcked).seq

    def append_failed(self, event: StoreFailed | Superseded) -> Steps[Ended]:
        """Announce that the append failed; return the exception to raise."""
        if isinstance(event, StoreFailed):
            yield from self.emit("run.failed", {"reason": event.error})
            return self.ended(event.error, code="store_failed")
        yield from self.emit("run.superseded", {"detail": event.detail or "duplicate journal position"})
        text = f"superseded: another worker is executing run {self.setup.run_id!r}"
        return self.ended(text, outcome="superseded", code="lease_lost")

    def fail(self, stop: BudgetStop, **more: Any) -> Steps[Ended]:
        """Record and announce a failure; return the exception to raise. `more` goes into the event's body."""
        yield from self.record_end("run.failed", stop.error, stop.code)
        yield from self.emit("run.failed", {"reason": stop.reason, **more})
        return self.ended(stop.error, code=stop.code)

    def check_boundary(self) -> Steps[datetime]:
        """End the run when the switch or a cap forbids another step; return the time. The switch comes first."""
        reading = yield from self.read_clock()
        if reading.cancelled is not None:
            raise (yield from self.cancel(reading.cancelled, "step_boundary"))
        stop = self.budget_exceeded(reading.elapsed)
        if stop is not None:
            raise (yield from self.fail(stop))
        return reading.wall

    def budget_exceeded(self, elapsed: float) -> BudgetStop | None:
        """The first cap that forbids another step, or None."""
        counts_cache = self.compat.counts_cache_tokens
        return exceeded(
            self.setup.budget, steps=self.step, elapsed=elapsed, meter=self.meter, counts_cache_tokens=counts_cache
        )

    def cancel(self, reason: str, at: str, **more: Any) -> Steps[Ended]:
        """Record and announce the kill switch; return the exception to raise."""
        text = f"cancelled: {reason}"
        yield from self.record_end("run.cancelled", text, "cancelled")
        yield from self.emit("run.cancelled", {"reason": reason, "at": at, **more})
        return self.ended(text, outcome="cancelled", code="cancelled")

    def record_end(self, kind: str, error: str, code: RunErrorCode | None) -> Steps[None]:
        """Record the end of the run. The run ends the same way when the store fails."""
        if self.setup.journaled and self.compat.journals_ends:
            coded = {"code": code} if self.setup.in_thread else {}
            yield Append(kind, {"step": self.step, "error": error, **coded}, "")

    def note_divergence(self, seq: int, decision: Decision, divergence: Mapping[str, Any]) -> Steps[None]:
        """Keep a divergence of a candidate policy, and announce it."""
        if len(self.diverged) < MAX_DIVERGENCES:
            self.diverged.append(divergence)
        yield from self.emit(DIVERGED, diverged_body(seq, decision, self.setup.bundle_id, divergence))

    def record_decision(self, decision: Decision) -> Steps[None]:
        """Record a decision, in a turn of a thread."""
        if self.setup.in_thread:
            body = {"step": self.step, "verdict": decision.verdict.value, "reason": decision.reason}
            yield from self.append("step.decided", {**body, "rules": list(decision.matched_rules)})

    def interrupted(self, event: Interrupted, at: str, **more: Any) -> Steps[Ended]:
        """Announce an interrupted wait; return the exception to raise."""
        if event.lost is not None:
            return (yield from self.append_failed(event.lost))
        if event.cancelled is not None:
            return (yield from self.cancel(event.cancelled, at, **more))
        return (yield from self.fail(duration_stop(self.setup.budget)))

    def reason_text(self, event: Interrupted) -> str:
        """The text of an interruption."""
        if event.lost is not None:
            return event.lost.error if isinstance(event.lost, StoreFailed) else "another worker has taken over the run"
        return f"cancelled: {event.cancelled}" if event.cancelled else duration_stop(self.setup.budget).error

    def suspend(self, event: Suspended, *, uncertain: bool) -> Steps[Ended]:
        """Record that the run waits for approvals, and announce it; return the exception that ends this attempt.

        `uncertain`: the action that they are for may have happened.
        """
        approvals = event.approvals
        body: dict[str, Any] = {"step": self.step, "approvals": list(approvals)}
        if event.fingerprints:
            body["fingerprints"] = list(event.fingerprints)
        if uncertain:
            body["uncertain"] = True
        yield from self.append("run.suspended", body)
        yield from self.emit("run.suspended", {"seq": self.step, "approvals": list(approvals)})
        text = f"suspended: waiting for approval {', '.join(approvals)}"
        return self.ended(text, outcome="suspended", code="suspended", approvals=approvals)

    def ended(
        self,
        error: str | None = None,
        final_answer: str | None = None,
        *,
        steps: int | None = None,
        approvals: tuple[str, ...] = (),
        outcome: RunOutcome | None = None,
        code: RunErrorCode | None = None,
    ) -> Ended:
        """Make the end of the run, as an exception. Without an `outcome`, an error is a failure."""
        taken = self.step if steps is None else steps
        setup = self.setup
        totals = self.meter.totals()
        result = RunResult(
            setup.correlation_id,
            setup.bundle_id,
            final_answer,
            error,
            taken,
            totals,
            approvals,
            traceback=self.traceback,
            outcome=outcome or ("succeeded" if error is None else "failed"),
            code=code,
        )
        return Ended(result)

    def repeated(self, call: Proposal) -> BudgetStop | None:
        """Count a proposal; return the stop when the same call was made too often."""
        cap = self.setup.budget.max_repeated_calls
        if cap is None:
            return None
        key = self.compat.json([call.tool, call.args])
        if self.compat.counts_consecutive_repeats and key not in self._repeats:
            self._repeats.clear()
        count = self._repeats.get(key, 0) + 1
        self._repeats[key] = count
        if count <= cap:
            return None
        text = f"repeated call limit exhausted ({cap}): {call.tool} with identical args"
        return BudgetStop(text, text, "repeated_call")

    def uncount_repeat(self) -> None:
        """Uncount the last proposal: a denied call is not a repetition."""
        if self.compat.counts_consecutive_repeats:
            self._repeats = {key: count - 1 for key, count in self._repeats.items()}

    def final_overrun(self) -> BudgetStop | None:
        """The token cap that the last reply exceeded, or None."""
        if not self.compat.caps_last_step:
            return None
        return final_overrun(self.setup.budget, self.meter, counts_cache_tokens=self.compat.counts_cache_tokens)

    def signature(self, tool: str) -> ToolSignature:
        """The signature of a known tool. PERF: not every function can cache its signature: a bound method cannot."""
        found = self._signatures.get(tool)
        if found is None:
            found = self._signatures[tool] = signature_of(self.setup.tools.get(tool))
        return found


def expect(event: object, kind: type[E]) -> E:
    """`event`, typed as `kind`: `Machine.send` has rejected everything else."""
    if not isinstance(event, kind):
        raise TypeError(f"expected {kind.__name__}, got {type(event).__name__}")
    return event
