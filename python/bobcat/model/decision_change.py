"""The difference between two decisions on one call: its direction. Called by replays and for candidate policies."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

from bobcat.model.decision import Decision
from bobcat.text.json_text import json_text

Direction: TypeAlias = Literal["loosened", "unclear", "tightened", "other_rules"]
"""`unclear`: other arguments of a transform, or other approvers, which no order compares."""
DIRECTIONS: tuple[Direction, ...] = ("loosened", "unclear", "tightened", "other_rules")
RANKS = {"deny": 0, "dry_run": 1, "approve_required": 2, "transform": 3, "allow": 4}
"""Verdicts from the strictest: `dry_run` has no effect, `transform` permits less than `allow`."""


class Then(NamedTuple):
    """The earlier decision: that of a record, or of the policy compared with. None: not on record."""

    verdict: str
    rules: tuple[str, ...]
    args: Any  # Any: JSON, the arguments after a transform
    approvals: tuple[tuple[str, ...], int] | None


def compare(then: Then, now: Decision) -> Direction | None:
    """The direction of a difference, or None without one."""
    verdict = now.verdict.value
    if then.verdict != verdict:
        return "loosened" if RANKS[verdict] > RANKS[then.verdict] else "tightened"
    if (
        now.transform_args is not None
        and then.args is not None
        and json_text(now.transform_args) != json_text(then.args)
    ):
        return "unclear"
    if verdict == "approve_required" and then.approvals is not None:
        approvers, needed = then.approvals
        if now.approvals_needed < needed:
            return "loosened"
        if set(now.approvers) != set(approvers):
            return "unclear"
        if now.approvals_needed > needed:
            return "tightened"
    return None if then.rules == tuple(now.matched_rules) or not then.rules else "other_rules"


def then_of_decision(decision: Decision) -> Then:
    """The decision of another policy."""
    approvals = tuple(decision.approvers), decision.approvals_needed
    return Then(decision.verdict.value, tuple(decision.matched_rules), decision.transform_args, approvals)
