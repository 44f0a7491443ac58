"""A rule as a plain callable and as a compiled bundle: the two must decide alike."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from bobcat.bundle.host_code import host_code
from bobcat.bundle.model import PolicyBundle
from bobcat.ir import construct
from bobcat.ir.schema import FunctionRule, HostRule
from bobcat.model.decision import ActionRequest, Decision
from pyrules.calls import typed

OWN_ERRORS = ("unsupported", "too_large", "too_many_steps", "out_of_range", "bad_unicode")
"""Errors that only the core has: it refuses to go on where Python would."""


def compiled(rule: FunctionRule) -> PolicyBundle:
    """A policy with one function."""
    return PolicyBundle.from_policy(construct.policy([rule]))


def hosted(rule: Callable[..., Any], name: str) -> PolicyBundle:
    """A policy with one callable."""
    code = host_code(rule)
    node = HostRule(name, 0, code.module, code.qualname, code.digest)
    return PolicyBundle.from_policy(construct.policy([node]), host_rules=(rule,))


def shown(decision: Decision) -> Any:
    """A decision taken apart, with the types of its parts."""
    return (
        str(decision.verdict),
        decision.reason,
        decision.matched_rules,
        typed(decision.approvers),
        typed(decision.timeout_seconds),
        typed(decision.transform_args),
    )


def differ(callable_: PolicyBundle, function: PolicyBundle, call: ActionRequest) -> Any:
    """Both decisions when they differ; None otherwise."""
    one = shown(callable_.evaluate(copy.deepcopy(call)))
    other = shown(function.evaluate(copy.deepcopy(call)))
    return None if one == other else (one, other)


def is_own_error(decision: Any) -> bool:
    """True if the core could not evaluate the rule."""
    return any(f":{code}>" in marker for marker in decision[2] for code in OWN_ERRORS)
