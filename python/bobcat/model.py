"""Values the whole package speaks in: requests, contexts, decisions, results.

The decision side comes first, the run side (budgets, conversations, approvals, audit events, results) after it.
Every type is frozen and picklable, and carries no behaviour beyond its own algebra. Field names, order and defaults
are those of the incumbent's contract, so that programs written for it keep working.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from bobcat.quick import quick

_EMPTY: Mapping[str, Any] = MappingProxyType({})


class Verdict(StrEnum):
    """What a rule says about a call, and what a `Decision` carries. A closed set."""

    ALLOW = "allow"
    DENY = "deny"
    DRY_RUN = "dry_run"
    APPROVE_REQUIRED = "approve_required"
    TRANSFORM = "transform"


@dataclass(frozen=True, slots=True)
class Principal:
    """Who the agent acts for."""

    kind: Literal["user", "service", "agent"]
    id: str
    name: str | None = None


@quick
@dataclass(frozen=True, slots=True)
class ExecutionContext:
    """Where and when a call happens. `timestamp` is an aware datetime; `step_seq` counts steps from 0."""

    principal: Principal
    environment: str
    workspace: str
    correlation_id: str
    step_seq: int
    timestamp: datetime
    extra: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)


@dataclass(frozen=True, slots=True)
class ToolMetadata:
    """What a tool declares about itself; a policy reads it under `declared`."""

    cost: Literal["low", "medium", "high"]
    reversible: bool
    scope: tuple[str, ...]
    blast_radius_hint: int | None = None
    has_shadow: bool = False
    isolation: str | None = None


@quick
@dataclass(frozen=True, slots=True)
class ActionRequest:
    """One proposed tool call, as the decision point sees it."""

    tool: str
    args: Mapping[str, Any]
    declared: ToolMetadata
    context: ExecutionContext


@quick
@dataclass(frozen=True, slots=True)
class Decision:
    """The answer of the decision point.

    `matched_rules` names the rules that made it, with `<rule_error:RULE:CODE>` and `<default:...>` markers.
    `transform_args` holds the effective arguments when they differ from the proposed ones.
    `timeout_seconds` bounds an approval wait.
    """

    verdict: Verdict
    reason: str = ""
    matched_rules: tuple[str, ...] = ()
    approvers: tuple[str, ...] = ()
    transform_args: Mapping[str, Any] | None = None
    timeout_seconds: int | float | None = None


@dataclass(frozen=True, slots=True)
class ToolDef:
    """A tool ready to be called: its function, its shadow when it has one, and what it declares."""

    name: str
    description: str
    # Any: tools take and return what they like.
    fn: Callable[..., Awaitable[Any]]
    shadow_fn: Callable[..., Awaitable[Any]] | None
    metadata: ToolMetadata


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
    """One turn of a conversation. `tool_call_args` is set on the assistant's side of a tool call."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    name: str | None = None
    tool_call_id: str | None = None
    tool_call_args: Mapping[str, Any] | None = None


@quick
@dataclass(frozen=True, slots=True)
class ToolCall:
    """An agent wants a tool called. Several of them in one list or tuple are one reply.

    `text` is what the model said beside the call. A `problem` says why the call must not run, for example that its
    arguments are not JSON: the model is told so, and the policy is not asked.
    """

    tool: str
    args: Mapping[str, Any]
    call_id: str = ""
    usage: Usage | None = None
    text: str = ""
    problem: str | None = None


@quick
@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """An agent is done."""

    text: str
    usage: Usage | None = None


AgentAction: TypeAlias = ToolCall | FinalAnswer


@quick
@dataclass(frozen=True, slots=True)
class ActionResult:
    """How one action came out. `error` is what the model is told when `ok` is false."""

    ok: bool
    value: Any | None = None
    error: str | None = None
    duration_ms: int = 0


@quick
@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """What an approval handler is asked. `request.args` are the effective arguments: what a grant would run."""

    request: ActionRequest
    decision: Decision
    correlation_id: str


@dataclass(frozen=True, slots=True)
class ApprovalDecision:
    """An approver's answer. `args`, when given, replace the arguments and are judged again before anything runs."""

    granted: bool
    approver: str
    reason: str = ""
    args: Mapping[str, Any] | None = None


@quick
@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One line of the audit stream. `seq` counts the events of one `run_agent` call from 0."""

    correlation_id: str
    bundle_id: str
    seq: int
    kind: str
    timestamp: datetime
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended: `final_answer`, or `error`. `usage` is None when the agent reported none."""

    correlation_id: str
    bundle_id: str
    final_answer: str | None = None
    error: str | None = None
    steps_taken: int = 0
    usage: Usage | None = None
