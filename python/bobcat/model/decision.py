"""Core values of the package: requests, contexts, decisions, results.

The values of a run (tools, budgets, conversations, approvals, audit events, results) are in `bobcat.model.run`. Every
type is frozen and picklable, and has no behaviour beyond its own algebra. Field names, order and defaults are those of
lynx-agent, so that programs written for it keep working.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from bobcat.model.frozen import FrozenDict
from bobcat.model.run_reads import RunReads, refuse

if TYPE_CHECKING:
    from dataclasses import dataclass, field
else:
    from bobcat.model.light_dataclass import Factory as field
    from bobcat.model.light_dataclass import dataclass

_EMPTY: Mapping[str, Any] = FrozenDict()

Effect: TypeAlias = Literal["none", "idempotent", "keyed", "transactional", "fenced", "unsafe"]
"""Effect of repeating a tool for one action, which determines how it runs exactly once. See `bobcat.tools`."""


class Verdict(StrEnum):
    """The outcome of a rule and of a `Decision`. A closed set."""

    ALLOW = "allow"
    DENY = "deny"
    DRY_RUN = "dry_run"
    APPROVE_REQUIRED = "approve_required"
    TRANSFORM = "transform"


@dataclass(frozen=True, slots=True)
class Principal:
    """The user or service that the agent acts for.

    Policies compare `id` (`context.principal.id`), people read `name`.
    """

    kind: Literal["user", "service", "agent"]
    id: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class ExecutionContext:
    """The circumstances of a call; a policy reads them under `context`.

    `environment` is a name such as `dev` or `prod`, `workspace` the directory that tools work in. `correlation_id`
    joins the events of a run. `step_seq` counts steps from 0, `timestamp` is an aware datetime, `extra` holds the
    caller's own facts for rules. `task` is what the user asked for, in the user's own words; None is absent in a
    policy.
    """

    principal: Principal
    environment: str
    workspace: str
    correlation_id: str
    step_seq: int
    timestamp: datetime
    extra: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    task: str | None = None

    def __repr__(self) -> str:
        """Return the text of a dataclass; a context without a task has the text of lynx-agent's."""
        names = [name for name in self.__slots__ if name != "task" or self.task is not None]
        return f"ExecutionContext({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


@dataclass(frozen=True, slots=True)
class ToolMetadata:
    """The declaration of a tool; a policy reads it under `declared`.

    `scope` names the resources that it touches (`("files:write",)`), `blast_radius_hint` the number of things that one
    call may touch, `has_shadow` is true if it can be previewed, `isolation` selects its executor, `effect` determines
    how an action of it happens once. `compress` selects its compressor; no policy reads it.
    """

    cost: Literal["low", "medium", "high"]
    reversible: bool
    scope: tuple[str, ...]
    blast_radius_hint: int | None = None
    has_shadow: bool = False
    isolation: str | None = None
    effect: Effect = "unsafe"
    compress: str | None = None


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """One proposed tool call, as the decision point sees it.

    It has the tool's name, the arguments by name, the tool's declaration and the context of the call. `Request` builds
    one with defaults for omitted fields.
    """

    tool: str
    args: Mapping[str, Any]
    declared: ToolMetadata
    context: ExecutionContext

    @property
    def run(self) -> RunReads:
        """Return the functions that read the run, for compiled Python rules: `request.run.count("send_money")`."""
        return RunReads()

    def origin(self, argument: str, *, lower: bool = False) -> frozenset[str]:
        """Return the names of the sources that an argument came from, `task` among them, in compiled Python rules."""
        refuse("request.origin")

    def origin_of(self, value: object, *, lower: bool = False) -> frozenset[str]:
        """Return the names of the sources that a value came from, in compiled Python rules."""
        refuse("request.origin_of")


Phase: TypeAlias = Literal["before", "after"]
"""The time of an obligation: before the effect, which depends on it, or after the outcome is known."""


@dataclass(frozen=True, slots=True)
class Obligation:
    """An action that a permission depends on, or that follows a decision; see `docs/reference/obligations.md`.

    `name` selects its handler, `value` holds its parameters (JSON), `phase` is its time.
    """

    name: str
    value: Any = None
    phase: Phase = "before"


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer of the decision point. The model or an approver sees `reason`.

    `matched_rules` names the rules behind it, with `<rule_error:RULE:CODE>` and `<default:...>` markers.
    `transform_args` holds the effective arguments when they differ from the proposed ones. `timeout_seconds` bounds an
    approval wait; None is the default, half an hour. `approvals_needed` is the number of different approvers that must
    grant. `obligations` are those of the rules behind a permission, or of the rule that denied.
    """

    verdict: Verdict
    reason: str = ""
    matched_rules: tuple[str, ...] = ()
    approvers: tuple[str, ...] = ()
    transform_args: Mapping[str, Any] | None = None
    timeout_seconds: int | float | None = None
    approvals_needed: int = 1
    obligations: tuple[Obligation, ...] = ()

    def __repr__(self) -> str:
        """Return the text of a dataclass; a decision without obligations has the text of earlier releases."""
        names = [name for name in self.__slots__ if name != "obligations" or self.obligations]
        return f"Decision({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


def obligations_of(decision: Decision) -> tuple[Obligation, ...]:
    """The obligations of a decision; those of `bobcat.lynx`, which its own runs perform, are not among them."""
    return tuple(each for each in decision.obligations if type(each) is Obligation) if decision.obligations else ()
