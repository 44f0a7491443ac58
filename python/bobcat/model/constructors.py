"""Constructors of decisions, for Python rules: one for each verdict, with its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bobcat.model.decision import Decision, Verdict

DEFAULT_APPROVAL_SECONDS = 1800


def allow(reason: str = "", matched_rules: tuple[str, ...] = ()) -> Decision:
    """Run the call as proposed. `matched_rules` defaults to the rule's own name, here and below."""
    return Decision(Verdict.ALLOW, reason, matched_rules)


def deny(reason: str, matched_rules: tuple[str, ...] = ()) -> Decision:
    """Deny the call; the model sees `reason`."""
    return Decision(Verdict.DENY, reason, matched_rules)


def dry_run(reason: str = "", matched_rules: tuple[str, ...] = ()) -> Decision:
    """Run the tool's shadow instead of the tool, and show the model its result."""
    return Decision(Verdict.DRY_RUN, reason, matched_rules)


def approve_required(
    approvers: tuple[str, ...] = (),
    timeout_seconds: float | None = DEFAULT_APPROVAL_SECONDS,
    reason: str = "",
    matched_rules: tuple[str, ...] = (),
    *,
    approvals_needed: int = 1,
) -> Decision:
    """Ask one of `approvers` first (anyone when the tuple is empty), and wait at most `timeout_seconds`.

    With `approvals_needed`, that many different approvers must grant. The approver sees `reason`.
    """
    return Decision(Verdict.APPROVE_REQUIRED, reason, matched_rules, approvers, None, timeout_seconds, approvals_needed)


def transform(
    transform_args: Mapping[str, Any],  # Any: arguments of any tool
    reason: str = "",
    matched_rules: tuple[str, ...] = (),
) -> Decision:
    """Run the call with exactly `transform_args` in place of the proposed arguments."""
    return Decision(Verdict.TRANSFORM, reason, matched_rules, transform_args=transform_args)
