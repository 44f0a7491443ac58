"""Decisions of runs and guards: a policy that cannot be evaluated denies."""

from __future__ import annotations

from bobcat.bundle import Policy
from bobcat.lynx.v2_11.core.policy import evaluate
from bobcat.lynx.v2_11.core.types import Decision
from bobcat.model.decision import ActionRequest
from bobcat.runtime.evaluate import evaluate_or_deny, with_known_verdict


def decide(policy: Policy, request: ActionRequest) -> Decision:
    """Return the decision of a policy, a denial for an exception or a malformed decision."""
    found = with_known_verdict(evaluate_or_deny(policy, request, evaluate=evaluate))
    return found if isinstance(found, Decision) else Decision.of(found, tuple(found.matched_rules))
