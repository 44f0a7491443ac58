"""Values that lynx-agent 2.11 changed or added: `Budget()` has caps, decisions and results have obligations.

`Decision` and `ActionResult` are those of `bobcat.model` with one more field, at lynx-agent's place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self, get_args

from bobcat.model import decision, run
from bobcat.model.frozen import FrozenDict
from bobcat.model.run import Budget

__all__ = ["ActionResult", "Budget", "Decision", "Obligation", "ObligationOutcome"]

Phase = Literal["pre", "post"]
PHASES: tuple[Phase, ...] = get_args(Phase)


@dataclass(frozen=True, slots=True)
class Obligation:
    """A duty that a decision carries: the handler `id` is called with `params`.

    A `pre` obligation is met before the action, which does not run otherwise; a `post` obligation is met afterwards as
    far as possible. Raises `ValueError` for another phase.
    """

    id: str
    phase: Phase = "post"
    params: Mapping[str, Any] = field(default_factory=FrozenDict)  # Any: the values of a handler

    def __post_init__(self) -> None:
        if self.phase not in PHASES:
            raise ValueError(f"the phase of obligation {self.id!r} must be 'pre' or 'post', got {self.phase!r}")


@dataclass(frozen=True, slots=True)
class ObligationOutcome:
    """The outcome of one obligation: `error` is the reason why it was not met."""

    id: str
    phase: Phase
    fulfilled: bool
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Decision(decision.Decision):
    """A decision with the obligations of the rules behind it."""

    approvals_needed: int = field(default=1, kw_only=True)
    obligations: tuple[Obligation, ...] = ()  # type: ignore[assignment]  # lynx-agent's own, which its runs meet

    @classmethod
    def of(
        cls, given: decision.Decision, matched_rules: tuple[str, ...], obligations: tuple[Obligation, ...] = ()
    ) -> Self:
        """Return a decision with other rules behind it, and with obligations."""
        return cls(
            given.verdict, given.reason, matched_rules, given.approvers, given.transform_args, given.timeout_seconds,
            obligations, approvals_needed=getattr(given, "approvals_needed", 1),
        )  # fmt: skip


def without_obligations(given: Decision) -> decision.Decision:
    """Return a decision as those parts of Bobcat take it that do not know lynx-agent's obligations."""
    return decision.Decision(
        given.verdict, given.reason, given.matched_rules, given.approvers, given.transform_args, given.timeout_seconds,
        given.approvals_needed,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ActionResult(run.ActionResult):
    """The outcome of an action, and those of its obligations."""

    obligations: tuple[ObligationOutcome, ...] = ()

    @classmethod
    def of(cls, given: run.ActionResult, outcomes: tuple[ObligationOutcome, ...] = ()) -> Self:
        """Return a result with further outcomes of obligations."""
        earlier = given.obligations if isinstance(given, ActionResult) else ()
        return cls(given.ok, given.value, given.error, given.duration_ms, (*earlier, *outcomes))
