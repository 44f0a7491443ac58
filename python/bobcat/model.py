"""Values the whole package speaks in: requests, contexts, decisions, results.

The decision side stands here; the run side (tools, budgets, conversations, approvals, audit events, results) is
`bobcat.run_values`, and found under this module's name too. Every type is frozen and picklable, and carries no
behaviour beyond its own algebra. Field names, order and defaults are those of the incumbent's contract, so that
programs written for it keep working.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from bobcat.frozen import FrozenDict
from bobcat.quick import quick

if TYPE_CHECKING:
    from bobcat.run_values import (
        ActionResult,
        AgentAction,
        ApprovalDecision,
        ApprovalRequest,
        AuditEvent,
        AuditGap,
        Budget,
        FinalAnswer,
        Happened,
        Message,
        NotHappened,
        RunResult,
        ToolCall,
        ToolDef,
        Unknown,
        Usage,
    )

__all__ = [
    "ActionRequest",
    "ActionResult",
    "AgentAction",
    "ApprovalDecision",
    "ApprovalRequest",
    "AuditEvent",
    "AuditGap",
    "Budget",
    "Decision",
    "Effect",
    "ExecutionContext",
    "FinalAnswer",
    "Happened",
    "Message",
    "NotHappened",
    "Principal",
    "RunResult",
    "ToolCall",
    "ToolDef",
    "ToolMetadata",
    "Unknown",
    "Usage",
    "Verdict",
]

_EMPTY: Mapping[str, Any] = FrozenDict()

Effect: TypeAlias = Literal["none", "idempotent", "keyed", "transactional", "fenced", "unsafe"]
"""What running a tool twice for one action would do, and so what makes it run once. `bobcat.tools` has the meanings."""


class Verdict(StrEnum):
    """What a rule says about a call, and what a `Decision` carries. A closed set."""

    ALLOW = "allow"
    DENY = "deny"
    DRY_RUN = "dry_run"
    APPROVE_REQUIRED = "approve_required"
    TRANSFORM = "transform"


@dataclass(frozen=True, slots=True)
class Principal:
    """Who the agent acts for: `id` is what a policy compares (`context.principal.id`), `name` is for people."""

    kind: Literal["user", "service", "agent"]
    id: str
    name: str | None = None


@quick
@dataclass(frozen=True, slots=True)
class ExecutionContext:
    """Where and when a call happens; a policy reads it under `context`.

    `environment` is a name such as `dev` or `prod`, `workspace` the directory that tools work in. `correlation_id` ties
    the events of a run together. `step_seq` counts steps from 0, `timestamp` is an aware datetime, `extra` is the
    caller's: whatever a rule needs to know about the world.
    """

    principal: Principal
    environment: str
    workspace: str
    correlation_id: str
    step_seq: int
    timestamp: datetime
    extra: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)


@dataclass(frozen=True, slots=True)
class ToolMetadata:
    """What a tool declares about itself; a policy reads it under `declared`.

    `scope` names what it touches (`("files:write",)`), `blast_radius_hint` how many things one call may touch,
    `has_shadow` whether it can be previewed, `isolation` which executor may run it, `effect` what makes an action of it
    happen once.
    """

    cost: Literal["low", "medium", "high"]
    reversible: bool
    scope: tuple[str, ...]
    blast_radius_hint: int | None = None
    has_shadow: bool = False
    isolation: str | None = None
    effect: Effect = "unsafe"


@quick
@dataclass(frozen=True, slots=True)
class ActionRequest:
    """One proposed tool call, as the decision point sees it: the tool's name, the arguments by name, what the tool
    declares and where it is called. `request_from_json` makes one that leaves out what does not matter.
    """

    tool: str
    args: Mapping[str, Any]
    declared: ToolMetadata
    context: ExecutionContext


@quick
@dataclass(frozen=True, slots=True)
class Decision:
    """The answer of the decision point. `reason` is what the model or an approver is told.

    `matched_rules` names the rules that made it, with `<rule_error:RULE:CODE>` and `<default:...>` markers.
    `transform_args` holds the effective arguments when they differ from the proposed ones.
    `timeout_seconds` bounds an approval wait; None is the default, half an hour. `approvals_needed` is how many
    different approvers must grant.
    """

    verdict: Verdict
    reason: str = ""
    matched_rules: tuple[str, ...] = ()
    approvers: tuple[str, ...] = ()
    transform_args: Mapping[str, Any] | None = None
    timeout_seconds: int | float | None = None
    approvals_needed: int = 1


def __getattr__(name: str) -> Any:  # Any: a module attribute
    # PERF: a dataclass with slots takes 1 ms to make; those of `run_values` are made when a run is.
    if not name.startswith("_"):
        from bobcat import run_values

        if name in vars(run_values):
            return vars(run_values)[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
