"""What a run is made of while it runs, and the moves every part of the machine shares. No I/O, no clock."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

import msgspec

from bobcat.frozen import thaw
from bobcat.journal import JournalIndex, action_key_of, idempotency_key
from bobcat.kernel.commands import (
    Append,
    Command,
    Emit,
    Event,
    Interrupted,
    Look,
    Moment,
    StoreAcked,
    StoreFailed,
    Superseded,
)
from bobcat.kernel.conversation import Conversation
from bobcat.kernel.extra import NO_FACTS
from bobcat.kernel.manner import SAFE, Manner
from bobcat.kernel.reply import Proposal
from bobcat.limits import Meter, Stop, duration_stop, exceeded, overspent
from bobcat.model import Budget, FinalAnswer, Message, Principal, RunResult
from bobcat.tools import Signature, ToolSet, signature_of

T = TypeVar("T")
E = TypeVar("E")
Steps: TypeAlias = Generator[Command, Event | None, T]
"""A part of the protocol: it yields commands, is sent events, and returns a T."""

LOOK = Look()
NOT_BEGUN = "the run was stopped before the action began"


class Setup(msgspec.Struct, frozen=True):
    """Everything a run is given. `observed` is false when no sink listens, and events need not be made."""

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
    manner: Manner = SAFE
    binding: Mapping[str, Any] | None = None
    """What the run is bound to, for its journal."""
    extra: Mapping[str, Any] = NO_FACTS
    """The facts of the whole run, which rules read as `context.extra`."""
    asks_extra: bool = False
    """A provider gives the facts of each step."""
    renews_extra: bool = False
    """The provider is asked again for a step whose facts are on record."""
    restored: bool = False
    """True when the store was restored since the run began: every action not on record may have run already."""


class Ended(Exception):
    """Raised inside the machine to end the run from any depth; the machine turns it into `Finish`."""

    def __init__(self, result: RunResult) -> None:
        super().__init__(result.error)
        self.result = result


class RunState:
    """A run in progress: where it stands and what it has used up."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.manner = setup.manner
        self.step = 0
        self.meter = Meter()
        self.conversation = Conversation(Message("user", setup.task))
        self.traceback: str | None = None
        """Of the exception that ends the run."""
        self._repeats: dict[str, int] = {}
        self._signatures: dict[str, Signature] = {}

    def out(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """Arguments for somebody else's eyes: read-only, or a copy of their own."""
        return args if self.manner.read_only else thaw(args)

    def conversation_view(self) -> Sequence[Message]:
        """The conversation, as the agent gets it."""
        return self.conversation.view() if self.manner.read_only else self.conversation.as_tuple()

    def emit(self, kind: str, body: dict[str, Any]) -> Steps[None]:
        """Tell the sinks, if there are any."""
        if self.setup.observed:
            yield Emit(kind, body)

    def look(self) -> Steps[Moment]:
        """The present moment."""
        return expect((yield LOOK), Moment)

    def key(self, step: int, tool: str, args: Mapping[str, Any]) -> str:
        """The idempotency key of an action."""
        name = action_key_of if self.manner.guards_journal else idempotency_key
        return name(self.setup.run_id or self.setup.correlation_id, step, tool, args, text=self.manner.json)

    def append(self, kind: str, body: dict[str, Any], key: str = "") -> Steps[int]:
        """Write a journal record, if the run has a journal; its position. The run ends when that fails."""
        if not self.setup.journaled:
            return -1
        event = yield Append(kind, body, key)
        if isinstance(event, (StoreFailed, Superseded)):
            raise (yield from self.not_kept(event))
        return expect(event, StoreAcked).seq

    def not_kept(self, event: StoreFailed | Superseded) -> Steps[Ended]:
        """Announce that a record is not on record; the end to raise."""
        if isinstance(event, StoreFailed):
            yield from self.emit("run.failed", {"reason": event.error})
            return self.ended(event.error)
        yield from self.emit("run.superseded", {"detail": event.detail or "duplicate journal position"})
        return self.ended(f"superseded: another worker is executing run {self.setup.run_id!r}")

    def fail(self, stop: Stop, **more: Any) -> Steps[Ended]:
        """Put a failure on record and announce it; the end to raise. `more` goes into the event's body."""
        yield from self.record_end("run.failed", stop.error)
        yield from self.emit("run.failed", {"reason": stop.reason, **more})
        return self.ended(stop.error)

    def check_boundary(self) -> Steps[datetime]:
        """End the run when the switch, or a cap, forbids another step. The switch comes first. The time of day."""
        moment = yield from self.look()
        if moment.cancelled is not None:
            raise (yield from self.cancel(moment.cancelled, "step_boundary"))
        stop = self.capped(moment.elapsed)
        if stop is not None:
            raise (yield from self.fail(stop))
        return moment.wall

    def capped(self, elapsed: float) -> Stop | None:
        """The first cap that forbids another step, or None."""
        counts_cache = self.manner.counts_cache_tokens
        return exceeded(
            self.setup.budget, steps=self.step, elapsed=elapsed, meter=self.meter, counts_cache_tokens=counts_cache
        )

    def cancel(self, reason: str, at: str, **more: Any) -> Steps[Ended]:
        """Put on record that the kill switch was thrown, and announce it; the end to raise."""
        yield from self.record_end("run.cancelled", f"cancelled: {reason}")
        yield from self.emit("run.cancelled", {"reason": reason, "at": at, **more})
        return self.ended(f"cancelled: {reason}")

    def record_end(self, kind: str, error: str) -> Steps[None]:
        """Keep how the run ends. It ends so whether or not the store keeps it."""
        if self.setup.journaled and self.manner.journals_ends:
            yield Append(kind, {"step": self.step, "error": error}, "")

    def interrupted(self, event: Interrupted, at: str, **more: Any) -> Steps[Ended]:
        """Announce that something the run waited for was ended from outside; the end to raise."""
        if event.lost is not None:
            return (yield from self.not_kept(event.lost))
        if event.cancelled is not None:
            return (yield from self.cancel(event.cancelled, at, **more))
        return (yield from self.fail(duration_stop(self.setup.budget)))

    def why(self, event: Interrupted) -> str:
        """What ended a wait, in words."""
        if event.lost is not None:
            return event.lost.error if isinstance(event.lost, StoreFailed) else "the run is another worker's by now"
        return f"cancelled: {event.cancelled}" if event.cancelled else duration_stop(self.setup.budget).error

    def suspend(self, approvals: tuple[str, ...]) -> Steps[Ended]:
        """Put on record that the run waits for approvals, and announce it; the end of this attempt, to raise."""
        body = {"step": self.step, "approvals": list(approvals)}
        yield from self.append("run.suspended", body)
        yield from self.emit("run.suspended", {"seq": self.step, "approvals": list(approvals)})
        return self.ended(f"suspended: waiting for approval {', '.join(approvals)}", approvals=approvals)

    def ended(
        self,
        error: str | None = None,
        final_answer: str | None = None,
        *,
        steps: int | None = None,
        approvals: tuple[str, ...] = (),
    ) -> Ended:
        """The end of the run, as an exception."""
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
        )
        return Ended(result)

    def repeated(self, call: Proposal) -> Stop | None:
        """Count a proposal; the end of the run when it was made too often with the same arguments."""
        cap = self.setup.budget.max_repeated_calls
        if cap is None:
            return None
        key = self.manner.json([call.tool, call.args])
        if self.manner.repeats_in_a_row and key not in self._repeats:
            self._repeats.clear()
        count = self._repeats.get(key, 0) + 1
        self._repeats[key] = count
        if count <= cap:
            return None
        text = f"repeated call limit exhausted ({cap}): {call.tool} with identical args"
        return Stop(text, text)

    def forgive(self) -> None:
        """The last proposal was refused: it is no repetition."""
        if self.manner.repeats_in_a_row:
            self._repeats = {key: count - 1 for key, count in self._repeats.items()}

    def overspent(self) -> Stop | None:
        """The token cap that the last reply went past, or None."""
        if not self.manner.caps_last_step:
            return None
        return overspent(self.setup.budget, self.meter, counts_cache_tokens=self.manner.counts_cache_tokens)

    def signature(self, tool: str) -> Signature:
        """What a known tool accepts. PERF: not every function can keep its signature: a bound method cannot."""
        found = self._signatures.get(tool)
        if found is None:
            found = self._signatures[tool] = signature_of(self.setup.tools.get(tool))
        return found


def expect(event: object, kind: type[E]) -> E:
    """`event`, known to be a `kind`: `Machine.send` has let nothing else through."""
    if not isinstance(event, kind):
        raise TypeError(f"expected {kind.__name__}, got {type(event).__name__}")
    return event
