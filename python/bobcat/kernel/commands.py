"""What the state machine asks for (commands) and what it is told (events). Values only.

The machine yields one command at a time and is sent one event in return; `ANSWERS` says which event types answer
which command. A driver performs commands with asyncio, a test performs them by hand, a replay reads them off a journal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

import msgspec

from bobcat.approvals import Answer
from bobcat.model import (
    ActionRequest,
    ActionResult,
    ApprovalRequest,
    Decision,
    Happened,
    Message,
    NotHappened,
    RunResult,
    ToolDef,
    Unknown,
)


class Look(msgspec.Struct, frozen=True):
    """What time is it, and has the kill switch been thrown? Answer: `Moment`."""


class AskModel(msgspec.Struct, frozen=True):
    """Have the agent take its next step. Answer: `ModelReplied`, `ModelFailed`, `Interrupted`.

    A driver that takes plain steps by itself answers `Cruised`, or says what a store did to one of them.
    """

    conversation: Sequence[Message]


class Decide(msgspec.Struct, frozen=True):
    """Have the policy judge a request. Answer: `Decided`."""

    request: ActionRequest


class GetExtra(msgspec.Struct, frozen=True):
    """Ask the provider for the facts of a request. Answer: `ExtraGiven`, `ExtraFailed`, `Interrupted`."""

    request: ActionRequest


class AskApproval(msgspec.Struct, frozen=True):
    """Ask a person. Answer: `Approved`, `Suspended`, `Interrupted`."""

    request: ApprovalRequest


class Append(msgspec.Struct, frozen=True):
    """Write one journal record. Answer: `StoreAcked`, `StoreFailed`, `Superseded`."""

    kind: str
    body: dict[str, Any]
    key: str


class Execute(msgspec.Struct, frozen=True):
    """Run the tool, or its shadow. Answer: `ToolReturned`, `Interrupted`."""

    request: ActionRequest
    tool: ToolDef
    shadow: bool
    key: str


class Reconcile(msgspec.Struct, frozen=True):
    """Ask a tool's reconciler whether the action with this key happened. Answer: `Reconciled`, `Interrupted`."""

    tool: ToolDef
    key: str
    args: Mapping[str, Any]  # Any: arguments of any call


class Emit(msgspec.Struct, frozen=True):
    """Tell the sinks. Answer: None."""

    kind: str
    body: dict[str, Any]


class Finish(msgspec.Struct, frozen=True):
    """The run is over. No answer."""

    result: RunResult


class Moment(msgspec.Struct, frozen=True):
    """The time: seconds since this attempt began, the wall clock, and why the run must stop, if it must."""

    elapsed: float
    wall: datetime
    cancelled: str | None = None


class ModelReplied(msgspec.Struct, frozen=True):
    """What the agent's step returned, unread, and the wall clock then."""

    reply: Any  # Any: an agent may return anything, and the machine must cope
    wall: datetime


class ModelFailed(msgspec.Struct, frozen=True):
    """The agent's step raised. `error` and `traceback` are for the result, `reason` for the event."""

    error: str
    reason: str
    traceback: str | None = None


class Cruised(msgspec.Struct, frozen=True):
    """The driver took steps of its own, and the run goes on from where they led. See `express`."""


class Decided(msgspec.Struct, frozen=True):
    """The policy's decision. `completed` are the arguments of a transform, each time a default was added to them."""

    decision: Decision
    completed: tuple[Mapping[str, Any], ...] = ()  # Any: arguments of any call


class ExtraGiven(msgspec.Struct, frozen=True):
    """The facts for one step, checked and frozen."""

    extra: Mapping[str, Any]  # Any: JSON


class ExtraFailed(msgspec.Struct, frozen=True):
    """There are no facts for the step."""

    error: str


class Approved(msgspec.Struct, frozen=True):
    """The checked answer of the approval handler: a grant or a refusal."""

    answer: Answer


class Suspended(msgspec.Struct, frozen=True):
    """The question is on record and will be answered some day: this attempt of the run ends here."""

    approvals: tuple[str, ...]


class ToolReturned(msgspec.Struct, frozen=True):
    """The action came out somehow."""

    result: ActionResult


class Reconciled(msgspec.Struct, frozen=True):
    """What the reconciler said; `Unknown` when it said nothing that can be used."""

    answer: Happened | NotHappened | Unknown


class StoreAcked(msgspec.Struct, frozen=True):
    """The record is durable, at this position."""

    seq: int = -1


class StoreFailed(msgspec.Struct, frozen=True):
    """The record may not be durable."""

    error: str


class Superseded(msgspec.Struct, frozen=True):
    """The record's position is taken: another worker writes this run."""

    detail: str


class Interrupted(msgspec.Struct, frozen=True):
    """What was waited for was ended from outside: by the kill switch, or by a clock.

    `cancelled` is the switch's reason, `lost` says that the run is no longer this worker's; without either, `step` says
    whether the step's or the run's time was over. `started` is false when nothing had begun yet, or what had begun was
    undone.
    """

    cancelled: str | None = None
    step: bool = False
    started: bool = True
    lost: Superseded | StoreFailed | None = None


Command: TypeAlias = (
    Look | AskModel | GetExtra | Decide | AskApproval | Append | Execute | Reconcile | Emit | Finish
)  # fmt: skip
Event: TypeAlias = (
    Moment | ModelReplied | ModelFailed | Cruised | ExtraGiven | ExtraFailed | Decided | Approved | Suspended
    | ToolReturned | Reconciled | StoreAcked | StoreFailed | Superseded | Interrupted
)  # fmt: skip

ANSWERS: dict[type[Command], tuple[type[Event | None], ...]] = {
    Look: (Moment,),
    AskModel: (ModelReplied, ModelFailed, Cruised, StoreFailed, Superseded, Interrupted),
    GetExtra: (ExtraGiven, ExtraFailed, Interrupted),
    Decide: (Decided,),
    AskApproval: (Approved, Suspended, Interrupted),
    Append: (StoreAcked, StoreFailed, Superseded),
    Execute: (ToolReturned, Interrupted),
    Reconcile: (Reconciled, Interrupted),
    Emit: (type(None),),
    Finish: (),
}
