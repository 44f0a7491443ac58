"""The one rule of a proposal. What a file says beyond it would have no effect, and is refused."""

from __future__ import annotations

from msgspec import UNSET

from bobcat.bounds.decisions import is_monitored
from bobcat.bundle.model import Policy
from bobcat.ir import construct
from bobcat.ir.schema import IrRule

_GUARDS = (":require_reason", ":rate_limit")
"""How the ids of rules end that obligations become."""


def proposed_rule(given: Policy) -> IrRule:
    """Return the rule of a proposal. Raises `ValueError` for a policy that says more than one declarative rule."""
    rules = given.ir.rules
    if len(rules) > 1 and any(isinstance(rule, IrRule) and str(rule.id).endswith(_GUARDS) for rule in rules):
        raise ValueError("`require_reason` and `rate_limit` become rules of their own, which a proposal cannot have")
    if len(rules) != 1:
        raise ValueError(f"a proposal is one rule, and this has {len(rules)}")
    rule = rules[0]
    if not isinstance(rule, IrRule):
        raise ValueError("a proposal is a declarative rule, and this is one in Python")
    if is_monitored(rule):
        raise ValueError(f"the rule `{rule.id}` has `mode: monitor`, and would decide nothing")
    if given.ir.memory is not UNSET:
        raise ValueError(f"the rule `{rule.id}` reads the run, which a proposed rule cannot")
    if given.ir.defaults != construct.policy([]).defaults:
        raise ValueError("a proposal is one rule, and cannot change `defaults`")
    return rule
