"""The audit event of a divergence: a decision that a candidate policy would have made otherwise. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bobcat.model.decision import Decision

DIVERGED = "policy.diverged"
MAX_DIVERGENCES = 100
"""Divergences of one run that the state keeps; the events have all of them."""


def diverged_body(seq: int, decision: Decision, bundle_id: str, divergence: Mapping[str, Any]) -> dict[str, Any]:
    """The body of `policy.diverged`: the enforced decision, and the candidate's."""
    return {
        "seq": seq,
        "kind": divergence["kind"],
        "verdict": str(decision.verdict),
        "matched_rules": list(decision.matched_rules),
        "bundle_id": bundle_id,
        "candidate": {name: value for name, value in divergence.items() if name != "kind"},
    }
