"""Values of a run: tools, messages, budgets, results, events. Frozen and picklable, like those of `bobcat.model`.

A service that only evaluates policies never loads this module; `bobcat.model` imports these names lazily.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from bobcat.model.attachment import Attachment
from bobcat.model.decision import ActionRequest, Decision, ToolMetadata
from bobcat.model.fast_init import fast_init
from bobcat.model.frozen import FrozenDict
from bobcat.model.snapshot import Snapshotter
from bobcat.model.tool_names import check_tool_name

INPUT_SCHEMA = "__bobcat_input_schema__"
"""Function attribute with the schema of its arguments, when its signature lacks it."""


@dataclass(frozen=True, slots=True)
class ToolDef:
    """A tool definition: its function, its shadow and its reconciler when it has them, and its declaration.

    `@tool` creates one; `ToolSet.get(name)` finds it. Raises `ValueError` for a name with control, bidi or invisible
    characters.

    `definition` is the digest of an external definition, such as an MCP server's: schemas, description, annotations. A
    run and an approval are bound to it. It is empty for a tool of this program. `opaque_args` names the arguments that
    may be any object, which no rule can read. `snapshotter` takes and restores what the tool changes, for `Undo`.
    """

    name: str
    description: str
    # Any: arguments and results of tools have any type.
    fn: Callable[..., Awaitable[Any]]
    shadow_fn: Callable[..., Awaitable[Any]] | None
    metadata: ToolMetadata
    reconcile_fn: Reconcile | None = None
    definition: str = ""
    opaque_args: tuple[str, ...] = ()
    snapshotter: Snapshotter | None = None

    def __post_init__(self) -> None:
        check_tool_name(self.name)


class Reconciled:
    """A reconciler's answer: `Reconciled.happened(value)`, `.not_happened()` or `.unknown(reason)`."""

    __slots__ = ()

    @staticmethod
    def happened(value: Any = None) -> Happened:  # Any: tools return what they like
        """Answer that the action took effect. `value` is the tool's return value."""
        return Happened(value)

    @staticmethod
    def not_happened() -> NotHappened:
        """Answer that the action took no effect, and will not take one."""
        return NotHappened()

    @staticmethod
    def unknown(reason: str = "") -> Unknown:
        """Answer that the outcome is unknown."""
        return Unknown(reason)


@dataclass(frozen=True, slots=True)
class Happened(Reconciled):
    """A reconciler's answer: the action took effect. `value` is the tool's return value."""

    value: Any = None  # Any: results of tools have any type


@dataclass(frozen=True, slots=True)
class NotHappened(Reconciled):
    """A reconciler's answer: the action took no effect, and will not take one."""


@dataclass(frozen=True, slots=True)
class Unknown(Reconciled):
    """A reconciler's answer: the outcome cannot be determined."""

    reason: str = ""


# Any: arguments of any call.
Reconcile: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[Reconciled]]
"""Reconciler: reports the outcome of an action with this idempotency key and these arguments.

Called for an action that may have run.
"""


RunOutcome: TypeAlias = Literal["succeeded", "failed", "cancelled", "superseded", "suspended"]
"""Outcome of a run. `superseded`: another worker took over. `suspended`: it waits for approvals."""

RunErrorCode: TypeAlias = Literal[
    "agent_failed", "agent_timed_out", "invalid_reply", "budget_exhausted", "repeated_call", "sink_failed",
    "store_failed", "journal_refused", "busy", "lease_lost", "cancelled", "suspended",
    "reply_cut_off", "reply_refused", "unmediated_tool", "missing", "damaged", "not_loaded", "unsupported",
]  # fmt: skip
"""Cause of a run's end, for programs; `error` is the same for people. `busy`: another worker held the run, and nothing
was started. `lease_lost`: another worker took over meanwhile. `reply_cut_off`: the model's reply is incomplete.
`reply_refused`: the model, or a filter of its provider, withheld the reply. `unmediated_tool`: the provider ran a tool
that no policy has seen. `missing`, `damaged`, `not_loaded`, `unsupported`: an attachment could not be shown to the
model; the codes are those of its `AttachmentError`."""

_SHOWN = (
    "status", "final_answer", "error", "steps_taken", "usage", "approvals", "audit_gaps", "correlation_id", "bundle_id",
)  # fmt: skip


@fast_init
@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that one model reply used, as the provider reports them. `input_tokens` excludes cache tokens."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """Caps of a run; None is no cap. The defaults are 50 steps and 600 seconds.

    `duration_seconds` also ends a model call, an approval wait or a tool in progress. `input_tokens` counts cache
    tokens, `tokens` counts everything. `step_timeout_seconds` bounds one model call. `max_repeated_calls` bounds
    consecutive calls of one tool with identical arguments; a denied call does not count. `cost` is in dollars, such as
    `"0.25"`, and needs the run's `ledger`: a model call is made only while its worst case fits.
    """

    duration_seconds: int | float | None = 600
    steps: int | None = 50
    input_tokens: int | None = None
    output_tokens: int | None = None
    tokens: int | None = None
    step_timeout_seconds: int | float | None = None
    max_repeated_calls: int | None = None
    cost: int | float | str | Decimal | None = None

    @classmethod
    def unlimited(cls) -> Budget:
        """A budget without caps. A run under it announces itself with a `run.unbounded` event."""
        return cls(duration_seconds=None, steps=None)

    def is_unbounded(self) -> bool:
        """True when no cap ever ends a run."""
        caps = (self.duration_seconds, self.steps, self.input_tokens, self.output_tokens, self.tokens, self.cost)
        return all(cap is None for cap in caps)


@fast_init
@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    On the assistant's side of a tool call, `name` is the tool and `tool_call_args` are the arguments. The answer has
    the role `tool`, the same `tool_call_id`, and begins with `[ok]`, `[error]`, `[denied]` or `[dry_run]`.
    `provider_data` is that of the `ToolCall`. `attachments` are files beside a user's text.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    name: str | None = None
    tool_call_id: str | None = None
    tool_call_args: Mapping[str, Any] | None = None
    provider_data: Mapping[str, Any] | None = None
    attachments: tuple[Attachment, ...] = ()

    def __repr__(self) -> str:
        names = [each.name for each in fields(self) if each.name != "attachments" or self.attachments]
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    def __getstate__(self) -> list[Any]:
        """The fields in order, without empty attachments: as messages of earlier releases."""
        state = [getattr(self, each.name) for each in fields(self)]
        return state if self.attachments else state[:-1]

    def __setstate__(self, state: Sequence[Any]) -> None:
        for position, each in enumerate(fields(self)):
            object.__setattr__(self, each.name, state[position] if position < len(state) else ())


@fast_init
@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that an agent proposes, with arguments by name. Several of them in one list or tuple are one reply.

    `call_id` is the provider's name for the call, `usage` the usage of the reply. `text` is the model's text beside the
    call. A `problem` is the reason why the call must not run, for example that its arguments are not JSON: the model
    sees it, and the policy is not asked.

    `provider_data`, on the first call of a reply, is data that the provider must get back with it, such as signed
    thinking: a JSON object by the name of the adapter that reads it. It is kept in the journal; no policy sees it.
    """

    tool: str
    args: Mapping[str, Any]
    call_id: str = ""
    usage: Usage | None = None
    text: str = ""
    problem: str | None = None
    provider_data: Mapping[str, Any] | None = None


@fast_init
@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """The final answer of an agent, which ends the run. `usage` is the usage of the reply."""

    text: str
    usage: Usage | None = None


AgentAction: TypeAlias = ToolCall | FinalAnswer


@fast_init
@dataclass(frozen=True, slots=True)
class ActionResult:
    """Outcome of one action: `value` is the tool's return value, `error` the text that the model sees when `ok` is
    false.

    `duration_ms` is the tool's duration, in milliseconds.
    """

    ok: bool
    value: Any | None = None
    error: str | None = None
    duration_ms: int = 0


class UncertainResult(ActionResult):
    """A failure of a tool that was ended from outside, by a timeout or a signal: it may have taken effect.

    It equals an `ActionResult` with the same fields.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ActionResult):
            return NotImplemented
        return all(getattr(self, each.name) == getattr(other, each.name) for each in fields(ActionResult))

    __hash__ = ActionResult.__hash__


@fast_init
@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """The question for an approval handler. `request.args` are the effective arguments that a grant would run.

    In a journaled run, `run_id` and `round` identify the attempt at the step for which a grant is valid: `round` is the
    number of earlier starts of the step's action. `bundle_id` is the digest of the policy that asks. Where a rule needs
    several approvals, the handler is asked for one after the other, and `granted_by` lists the approvers who have
    granted already.

    `uncertain` is true when an earlier attempt at this action may have taken effect: a grant can make it happen twice.
    `definition` is the tool's (`ToolDef.definition`): a grant is valid for that definition only. `asked` has the
    fingerprints of the questions that suspended the run, by their ids, as its journal keeps them. `notes` are lines for
    people, under a policy with rules that remember: where the arguments came from, and what the run has done before.
    `filled` names the arguments that the call leaves out and the tool's defaults supply, in a run with such questions.
    """

    request: ActionRequest
    decision: Decision
    correlation_id: str
    run_id: str = ""
    bundle_id: str = ""
    round: int = 0
    granted_by: tuple[str, ...] = ()
    uncertain: bool = False
    definition: str = ""
    asked: Mapping[str, str] = field(default_factory=FrozenDict)
    notes: tuple[str, ...] = ()
    filled: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ApprovalDecision:
    """An approver's answer, by one of the rule's `approvers` when it names any. `reason` goes with a refusal.

    `args`, when given, replace the arguments and are evaluated again before anything runs.
    """

    granted: bool
    approver: str
    reason: str = ""
    args: Mapping[str, Any] | None = None


@fast_init
@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One line of the audit stream. `seq` counts the events of one `run_agent` call from 0.

    `kind` is for example `policy.evaluated`, `body` is plain data whose shape depends on the kind, `bundle_id` the
    policy's digest.
    """

    correlation_id: str
    bundle_id: str
    seq: int
    kind: str
    timestamp: datetime
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AuditGap:
    """The events of a run that one `sink` lost: their number, the `seq` of the first, and its reason."""

    sink: str
    events: int
    first_seq: int
    reason: str


@dataclass(frozen=True, slots=True)
class RunResult:
    """End of a run: its `outcome` with the `final_answer`, or with an `error` in words and a `code` for programs.

    An outcome that is not given is `succeeded` without an error, `suspended` with approvals, else `failed`.

    `steps_taken` counts tool calls, `usage` is the sum over the replies, None when the agent reported none.
    `audit_gaps` names the sinks that did not get every event. `traceback` is that of the exception that ended the run,
    where there was one.

    A suspended run has not ended: it waits for the `approvals` with these ids, and continues when it is resumed.
    """

    correlation_id: str
    bundle_id: str
    final_answer: str | None = None
    error: str | None = None
    steps_taken: int = 0
    usage: Usage | None = None
    approvals: tuple[str, ...] = ()
    audit_gaps: tuple[AuditGap, ...] = ()
    traceback: str | None = field(default=None, compare=False)
    outcome: RunOutcome = None  # type: ignore[assignment]  # `__post_init__` puts one in place of None
    code: RunErrorCode | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        given: object = self.outcome
        if given is None:
            known = "succeeded" if self.error is None else "suspended" if self.approvals else "failed"
            object.__setattr__(self, "outcome", known)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in _SHOWN)
        return f"{type(self).__name__}({shown})"

    @property
    def status(self) -> RunOutcome:
        """The same as `outcome`."""
        return self.outcome
