"""Commands that the state machine yields, and events that answer them. Values only.

The machine yields one command at a time and receives one event in return; `ANSWERS` lists the event types that answer
each command. A driver executes commands with asyncio, a test executes them by hand, a replay reads them from a journal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

import msgspec

from bobcat.approvals import Answer
from bobcat.model.decision import ActionRequest, Decision, Obligation
from bobcat.model.frozen import FrozenDict
from bobcat.model.run import (
    ActionResult,
    ApprovalRequest,
    Happened,
    Message,
    NotHappened,
    RunErrorCode,
    RunResult,
    ToolDef,
    Unknown,
)
from bobcat.runtime.obligations import ObligationCall, ObligationOutcome

NOTHING_OPENED: Mapping[str, Any] = FrozenDict()


class ReadClock(msgspec.Struct, frozen=True):
    """Read the clock and the kill switch. Answer: `ClockReading`."""


class AskModel(msgspec.Struct, frozen=True):
    """Ask the agent for its next step. Answer: `ModelReplied`, `ModelFailed`, `Interrupted`.

    A driver that takes fast-path steps itself answers `StepsTaken`, or a store's failure in one of those steps.
    """

    conversation: Sequence[Message]


class Decide(msgspec.Struct, frozen=True):
    """Evaluate the policy for a request. Answer: `Decided`."""

    request: ActionRequest


class GetExtra(msgspec.Struct, frozen=True):
    """Ask the provider for the facts of a request. Answer: `ExtraGiven`, `ExtraFailed`, `Interrupted`."""

    request: ActionRequest


class AskApproval(msgspec.Struct, frozen=True):
    """Ask a person. Answer: `Approved`, `Suspended`, `Interrupted`."""

    request: ApprovalRequest


class Append(msgspec.Struct, frozen=True):
    """Append one journal record. Answer: `StoreAcked`, `StoreFailed`, `Superseded`."""

    kind: str
    body: dict[str, Any]
    key: str


class Execute(msgspec.Struct, frozen=True):
    """Run the tool, or its shadow. Answer: `ToolReturned`, `Interrupted`."""

    request: ActionRequest
    tool: ToolDef
    shadow: bool
    key: str


class Perform(msgspec.Struct, frozen=True):
    """Perform obligations, in order; before the effect, up to the first that fails. Answer: `Performed`,
    `Interrupted`.
    """

    obligations: tuple[Obligation, ...]
    call: ObligationCall
    gates: bool
    """True before the effect, which depends on them."""


class Reconcile(msgspec.Struct, frozen=True):
    """Ask a tool's reconciler whether the action with this key happened. Answer: `ReconcilerReplied`, `Interrupted`."""

    tool: ToolDef
    key: str
    args: Mapping[str, Any]  # Any: arguments of any call


class Emit(msgspec.Struct, frozen=True):
    """Send an event to the sinks. Answer: None."""

    kind: str
    body: dict[str, Any]


class Finish(msgspec.Struct, frozen=True):
    """End the run. No answer."""

    result: RunResult


class ClockReading(msgspec.Struct, frozen=True):
    """The time: seconds since this attempt began, the wall clock, and the kill switch's reason when it was thrown."""

    elapsed: float
    wall: datetime
    cancelled: str | None = None


class ModelReplied(msgspec.Struct, frozen=True):
    """The unparsed return value of the agent's step, the wall clock at that time, and its cost in micro-dollars."""

    reply: Any  # Any: an agent may return anything, and the machine must handle it
    wall: datetime
    cost: int | None = None
    """None without a ledger, and where the cost could not be recorded."""


class ModelFailed(msgspec.Struct, frozen=True):
    """Exception of the agent's step. `error`, `traceback` and `code` are for the result, `reason` for the event."""

    error: str
    reason: str
    traceback: str | None = None
    code: RunErrorCode = "agent_failed"


class StepsTaken(msgspec.Struct, frozen=True):
    """Steps that the driver took itself; the run continues from its new state. See `fast_path`."""


class Decided(msgspec.Struct, frozen=True):
    """The policy's decision. `completed` holds the transformed arguments, once for each time defaults were added.

    `shared` has the values of measures over more than the run that the decision read.
    """

    decision: Decision
    completed: tuple[Mapping[str, Any], ...] = ()  # Any: arguments of any call
    shared: Mapping[str, int | float | str] = {}
    diverged: Mapping[str, Any] | None = None  # Any: JSON
    """The divergence of a candidate policy."""


class ExtraGiven(msgspec.Struct, frozen=True):
    """The facts for one step, checked and frozen."""

    extra: Mapping[str, Any]  # Any: JSON


class ExtraFailed(msgspec.Struct, frozen=True):
    """The facts for the step could not be obtained."""

    error: str


class Approved(msgspec.Struct, frozen=True):
    """The validated answer of the approval handler: a grant or a refusal."""

    answer: Answer


class Suspended(msgspec.Struct, frozen=True):
    """The approval is on record and will be answered later: this attempt of the run ends here."""

    approvals: tuple[str, ...]
    fingerprints: tuple[str, ...] = ()


class ToolReturned(msgspec.Struct, frozen=True):
    """The tool's outcome, success or failure, and the facts of what it opened.

    `shown` is the text for the model where a compressor shortened it; `compress_error` is a compressor's failure.
    """

    result: ActionResult
    opened: Mapping[str, Any] = NOTHING_OPENED  # Any: JSON
    shown: str | None = None
    compress_error: str | None = None


class Performed(msgspec.Struct, frozen=True):
    """The outcomes of obligations, in order."""

    outcomes: tuple[ObligationOutcome, ...]


class ReconcilerReplied(msgspec.Struct, frozen=True):
    """The reconciler's answer; `Unknown` when the answer is unusable."""

    answer: Happened | NotHappened | Unknown


class StoreAcked(msgspec.Struct, frozen=True):
    """The record is durable, at this position."""

    seq: int = -1


class StoreFailed(msgspec.Struct, frozen=True):
    """The append failed; the record may not be durable."""

    error: str


class Superseded(msgspec.Struct, frozen=True):
    """The record's position is taken: another worker executes this run."""

    detail: str


class Interrupted(msgspec.Struct, frozen=True):
    """A wait that was ended from outside, by the kill switch or by a timeout.

    `cancelled` is the switch's reason; `lost` means that this worker lost the run. Without either, `step` is true for a
    timeout of the step and false for one of the run. `started` is false when the action had not started, or was undone.
    `opened` are the facts that an interrupted action had recorded.
    """

    cancelled: str | None = None
    step: bool = False
    started: bool = True
    lost: Superseded | StoreFailed | None = None
    opened: Mapping[str, Any] = NOTHING_OPENED  # Any: JSON


Command: TypeAlias = (
    ReadClock | AskModel | GetExtra | Decide | AskApproval | Append | Execute | Perform | Reconcile | Emit | Finish
)  # fmt: skip
Event: TypeAlias = (
    ClockReading | ModelReplied | ModelFailed | StepsTaken | ExtraGiven | ExtraFailed | Decided | Approved | Suspended
    | ToolReturned | Performed | ReconcilerReplied | StoreAcked | StoreFailed | Superseded | Interrupted
)  # fmt: skip

ANSWERS: dict[type[Command], tuple[type[Event | None], ...]] = {
    ReadClock: (ClockReading,),
    AskModel: (ModelReplied, ModelFailed, StepsTaken, StoreFailed, Superseded, Interrupted),
    GetExtra: (ExtraGiven, ExtraFailed, Interrupted),
    Decide: (Decided,),
    AskApproval: (Approved, Suspended, Interrupted),
    Append: (StoreAcked, StoreFailed, Superseded),
    Execute: (ToolReturned, Interrupted),
    Perform: (Performed, Interrupted),
    Reconcile: (ReconcilerReplied, Interrupted),
    Emit: (type(None),),
    Finish: (),
}
