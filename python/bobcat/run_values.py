"""Values of a run: tools, messages, budgets, results, events. Frozen and picklable, like those of `bobcat.model`.

A service that only decides never loads this module; `bobcat.model` finds these names when they are asked of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from bobcat.model import ActionRequest, Decision, ToolMetadata
from bobcat.quick import quick
from bobcat.tool_names import check_tool_name

INPUT_SCHEMA = "__bobcat_input_schema__"
"""The attribute under which a function carries the schema of its arguments, when its signature does not tell."""


@dataclass(frozen=True, slots=True)
class ToolDef:
    """A tool ready to be called: its function, its shadow and its reconciler when it has them, and what it declares.

    `@tool` makes one; `ToolSet.get(name)` finds it. Raises `ValueError` for a name with control, bidi or invisible
    characters.

    `definition` is the digest of what somebody else defined, such as an MCP server: schemas, description, annotations.
    A run and an approval are bound to it. It is empty for a tool of this program. `opaque_args` names the arguments
    that may be any object, which no rule can read.
    """

    name: str
    description: str
    # Any: tools take and return what they like.
    fn: Callable[..., Awaitable[Any]]
    shadow_fn: Callable[..., Awaitable[Any]] | None
    metadata: ToolMetadata
    reconcile_fn: Reconcile | None = None
    definition: str = ""
    opaque_args: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_tool_name(self.name)


@dataclass(frozen=True, slots=True)
class Happened:
    """A reconciler's answer: the action took effect. `value` is what the tool would have returned."""

    value: Any = None  # Any: tools return what they like


@dataclass(frozen=True, slots=True)
class NotHappened:
    """A reconciler's answer: the action took no effect, and will not take one."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A reconciler's answer: it cannot tell."""

    reason: str = ""


Reconciliation: TypeAlias = Happened | NotHappened | Unknown
# Any: arguments of any call.
Reconcile: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[Reconciliation]]
"""Did the action with this idempotency key and these arguments happen? Asked about an action that may have run."""


ResultStatus: TypeAlias = Literal["succeeded", "failed", "cancelled", "superseded", "suspended"]
"""What became of a run. `superseded`: another worker has it, and this one did nothing."""

_SHOWN = (
    "status", "final_answer", "error", "steps_taken", "usage", "approvals", "audit_gaps", "correlation_id", "bundle_id",
)  # fmt: skip
_TOLD_BY_ERROR: tuple[Literal["cancelled"], Literal["superseded"]] = ("cancelled", "superseded")


@quick
@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens one model reply cost, as the provider reports them. `input_tokens` excludes cache tokens."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may use up; None is no cap. 50 steps and 600 seconds unless said otherwise.

    `duration_seconds` also ends a model call, an approval wait or a tool that is still going when it is over.
    `input_tokens` counts cache tokens, `tokens` counts everything. `step_timeout_seconds` bounds one model call.
    `max_repeated_calls` is how often in a row one tool may be called with identical arguments; a refused call is none.
    """

    duration_seconds: int | float | None = 600
    steps: int | None = 50
    input_tokens: int | None = None
    output_tokens: int | None = None
    tokens: int | None = None
    step_timeout_seconds: int | float | None = None
    max_repeated_calls: int | None = None

    @classmethod
    def unlimited(cls) -> Budget:
        """No cap at all. A run under it announces itself with a `run.unbounded` event."""
        return cls(duration_seconds=None, steps=None)

    def is_unbounded(self) -> bool:
        """True when nothing here ever ends a run."""
        caps = (self.duration_seconds, self.steps, self.input_tokens, self.output_tokens, self.tokens)
        return all(cap is None for cap in caps)


@quick
@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    On the assistant's side of a tool call, `name` is the tool and `tool_call_args` are the arguments. The answer has
    the role `tool`, the same `tool_call_id`, and begins with `[ok]`, `[error]`, `[denied]` or `[dry_run]`.
    `provider_data` is that of the `ToolCall`.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    name: str | None = None
    tool_call_id: str | None = None
    tool_call_args: Mapping[str, Any] | None = None
    provider_data: Mapping[str, Any] | None = None


@quick
@dataclass(frozen=True, slots=True)
class ToolCall:
    """An agent wants a tool called, with arguments by name. Several of them in one list or tuple are one reply.

    `call_id` is the provider's name for the call, `usage` what the reply cost.
    `text` is what the model said beside the call. A `problem` says why the call must not run, for example that its
    arguments are not JSON: the model is told so, and the policy is not asked.

    `provider_data`, on the first call of a reply, is what the provider must get back with it, such as signed thinking:
    a JSON object by the name of the adapter that reads it. It is kept in the journal; no policy sees it.
    """

    tool: str
    args: Mapping[str, Any]
    call_id: str = ""
    usage: Usage | None = None
    text: str = ""
    problem: str | None = None
    provider_data: Mapping[str, Any] | None = None


@quick
@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """An agent is done, and this is its answer. `usage` is what the reply cost."""

    text: str
    usage: Usage | None = None


AgentAction: TypeAlias = ToolCall | FinalAnswer


@quick
@dataclass(frozen=True, slots=True)
class ActionResult:
    """How one action came out: `value` is what the tool returned, `error` what the model is told when `ok` is false.

    `duration_ms` is how long the tool took, in milliseconds.
    """

    ok: bool
    value: Any | None = None
    error: str | None = None
    duration_ms: int = 0


@quick
@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """What an approval handler is asked. `request.args` are the effective arguments: what a grant would run.

    In a journaled run, `run_id` and `round` say for which attempt at the step a grant would count: `round` is how often
    the step's action was begun before. `bundle_id` is the digest of the policy that asks. Where a rule needs several
    approvals, the handler is asked for one after the other, and `granted_by` says who has granted already.

    `uncertain` is true when an earlier attempt at this action may have taken effect: a grant can make it happen twice.
    `definition` is the tool's (`ToolDef.definition`): a grant counts for a tool that is defined so.
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


@dataclass(frozen=True, slots=True)
class ApprovalDecision:
    """An approver's answer, by one of the rule's `approvers` when it names any. `reason` goes with a refusal.

    `args`, when given, replace the arguments and are judged again before anything runs.
    """

    granted: bool
    approver: str
    reason: str = ""
    args: Mapping[str, Any] | None = None


@quick
@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One line of the audit stream. `seq` counts the events of one `run_agent` call from 0.

    `kind` is such as `policy.evaluated`, `body` is plain data that goes with the kind, `bundle_id` the policy's digest.
    """

    correlation_id: str
    bundle_id: str
    seq: int
    kind: str
    timestamp: datetime
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AuditGap:
    """The events of a run that one `sink` did not take: their number, the `seq` of the first, and why that was lost."""

    sink: str
    events: int
    first_seq: int
    reason: str


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended: `final_answer`, or `error`; `status` says it in one word.

    `steps_taken` counts tool calls, `usage` is the sum over the replies, None when the agent reported none.
    `audit_gaps` names the sinks that did not get every event. `traceback` is that of the exception that ended the run,
    where there was one.

    A suspended run has not ended: it waits for the `approvals` with these ids, and goes on when it is resumed.
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

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in _SHOWN)
        return f"{type(self).__name__}({shown})"

    @property
    def status(self) -> ResultStatus:
        """What became of the run, in one word. Whatever is not `succeeded` has an `error`."""
        if self.error is None:
            return "succeeded"
        if self.approvals:
            return "suspended"
        for status in _TOLD_BY_ERROR:
            if self.error.startswith(f"{status}: "):
                return status
        return "failed"
