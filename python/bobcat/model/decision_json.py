"""Decisions as JSON data: the output of commands, servers and reports."""

from __future__ import annotations

from typing import Any

from bobcat.model.decision import Decision, obligations_of
from bobcat.model.request_json import obligation_json


def decision_json(decision: Decision) -> dict[str, Any]:  # Any: JSON data
    """Return a decision as plain JSON data."""
    return {
        "verdict": str(decision.verdict),
        "reason": decision.reason,
        "matched_rules": list(decision.matched_rules),
        "approvers": list(decision.approvers),
        "approvals_needed": decision.approvals_needed,
        "timeout_seconds": decision.timeout_seconds,
        "transform_args": decision.transform_args,
        **({"obligations": list(map(obligation_json, obligations_of(decision)))} if decision.obligations else {}),
    }
