"""Rules of layers that permit only what limits forbid: such a rule never has its verdict, and is a mistake.

`Policy.layered` calls this while the layers are compiled to one policy. Every finding is proved; the core holds the
limits for everything that is not. A policy of which some layer rewrites arguments has no findings: the limits
evaluate the rewritten ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import UnsetType

from bobcat.bundle import Policy
from bobcat.bundle.layers import STRICTNESS
from bobcat.ir.schema import IrRule
from bobcat.lint.implication import PathCondition, clash, conditions, covers, is_lenient

MAX_COMPARISONS = 200_000
"""Pairs of a rule and a limit that are compared; the others are left to the core."""
_FORBIDDING = ("approve_required", "dry_run", "deny")


class Exceeded(NamedTuple):
    """A rule of a layer, and the rule of the limits that always overrides it."""

    layer: str
    rule: IrRule
    limited_by: str
    limit: IrRule

    @property
    def text(self) -> str:
        """The finding in a message."""
        return (
            f"`{self.layer}:{self.rule.id}` has `{self.rule.verdict}`, and for each of its calls "
            f"`{self.limited_by}:{self.limit.id}` has `{self.limit.verdict}`"
        )


class _Rule(NamedTuple):
    rule: IrRule
    conditions: tuple[PathCondition, ...]


def exceeded(layers: Mapping[str, Policy], limits: Mapping[str, Policy]) -> Iterator[Exceeded]:
    """Yield the rules of `layers` that always exceed one of `limits`, in order."""
    if not limits or any(rule.verdict == "transform" for policy in layers.values() for rule in _rules(policy)):
        return
    known = {name: [_Rule(rule, conditions(rule)) for rule in _rules(policy)] for name, policy in limits.items()}
    left = MAX_COMPARISONS
    for layer, policy in layers.items():
        for rule in _rules(policy):
            left -= sum(map(len, known.values()))
            if left < 0:
                return
            own = _Rule(rule, conditions(rule))
            for name, rules in known.items():
                limit = _limit_of(own, rules) if _complete(limits[name]) else None
                if limit is not None:
                    yield Exceeded(layer, rule, f"{name}-limits", limit)


def _limit_of(own: _Rule, limits: Sequence[_Rule]) -> IrRule | None:
    """Return the rule of some limits that decides every call of a rule, with a stricter verdict."""
    for limit in limits:
        forbids = limit.rule.verdict in _FORBIDDING and _is_stricter(limit.rule, own.rule)
        if covers(own.conditions, limit.conditions, lenient=is_lenient(own.rule, limit.rule)):
            return limit.rule if forbids else None
        if not forbids and not clash((*own.conditions, *limit.conditions)):
            return None  # an exception, which may decide some of the calls
    return None


def _is_stricter(one: IrRule, other: IrRule) -> bool:
    return STRICTNESS.index(one.verdict) > STRICTNESS.index(other.verdict)


def _rules(policy: Policy) -> list[IrRule]:
    """The declarative rules in force, in evaluation order."""
    return [rule for rule in policy.ir.rules if isinstance(rule, IrRule) and isinstance(rule.mode, UnsetType)]


def _complete(policy: Policy) -> bool:
    """Return true for limits without Python rules, which may decide any call first."""
    return all(isinstance(rule, IrRule) for rule in policy.ir.rules)
