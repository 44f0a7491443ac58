"""Tools that a policy could permit: a tool is hidden only if no call of it can have another verdict than deny.

The arguments, the time, the step, the task and `extra` of calls are unknown here: calls with any of them count.
"""

from __future__ import annotations

from functools import lru_cache

from bobcat.bounds.decisions import Bounds
from bobcat.bounds.known import Exactly, Fact, Known, Path, declared_facts
from bobcat.bundle import Policy
from bobcat.model.decision import ActionRequest
from bobcat.model.request_json import principal_data


def may_permit(policy: Policy, request: ActionRequest) -> bool:
    """Return false only if the policy denies every call of the request's tool by its principal.

    The arguments, the time, the step and `extra` of the request are not read.
    """
    return policy.ir.profile != "strict" or _bounds(policy).of(_known(request)).always != "deny"


def _known(request: ActionRequest) -> Known:
    context = request.context
    facts: dict[Path, Fact] = {
        ("tool",): Exactly(request.tool),
        ("context", "environment"): Exactly(context.environment),
        ("context", "workspace"): Exactly(context.workspace),
        **declared_facts(request.declared),
    }
    for name, value in principal_data(context.principal).items():
        facts["context", "principal", name] = Exactly(value)
    return Known(facts)


@lru_cache(maxsize=16)
def _bounds(policy: Policy) -> Bounds:
    return Bounds(policy.ir)
