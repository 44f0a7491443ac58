"""The terms of permissions by policies of layers: approvers and obligations that several layers may have added.

Two decisions with one verdict have other terms only if some layer decides differently in the two policies. So each
layer is compared, as far as its rules have other verdicts or terms, on the calls that get one verdict of both policies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from msgspec import UNSET

from bobcat.analysis.engine import Constraint, Questions
from bobcat.analysis.model import ORDER, Reason, Region, Unknown, Witness
from bobcat.analysis.tool_names import tools_of
from bobcat.bundle.model import Policy
from bobcat.ir.schema import IrRule
from bobcat.model.decision import Decision

MAX_PAIRS = 400
"""Pairs of terms that are compared; past it the terms are not compared."""
Index: TypeAlias = int | None
Groups: TypeAlias = Mapping[tuple[str, str], tuple[Index, ...]]
"""The rules of a policy by their verdict and their terms."""
Group: TypeAlias = tuple[str, tuple[Index, ...]]
"""A verdict, and rules that give it."""
RegionOf: TypeAlias = Callable[[tuple[Policy, Policy], Witness, tuple[Decision, Decision], str | None], Region | None]


def layer_regions(
    questions: Questions,
    policies: tuple[Policy, Policy],
    groups: Callable[[Policy], Groups],
    region_of: RegionOf,
) -> tuple[tuple[Region, ...], tuple[Reason, ...]]:
    """Return calls that get the same verdict on other terms, and the reasons of what was not compared."""
    problem = _not_comparable(*policies)
    if problem is not None:
        return (), (Reason("terms", problem),)
    old, new = policies
    pairs = [
        (number, here, there, verdict)
        for number, (was, now) in enumerate(zip(old.layers, new.layers, strict=True))
        for here, there in _pairs(was.policy, now.policy, groups)
        for verdict in _verdicts(old, new)
    ]
    if len(pairs) > MAX_PAIRS:
        return (), (Reason("terms", f"the layers have {len(pairs):,} pairs of terms, and {MAX_PAIRS} are compared"),)
    layers = [layer.policy for policy in policies for layer in policy.layers]
    asked = Questions((old, new, *layers), questions.effort)
    tools = [*sorted(tools_of(old.ir) | tools_of(new.ir)), None]
    regions: dict[object, Region] = {}
    reasons: dict[Reason, None] = {}
    for number, here, there, verdict in pairs:
        where: list[Constraint] = [
            {"policy": 0, "verdicts": [verdict]},
            {"policy": 1, "verdicts": [verdict]},
            *_decided_by(2 + number, here),
            *_decided_by(2 + len(old.layers) + number, there),
        ]
        for tool in tools:
            answer = asked.find(*where, tools=[tool])
            if isinstance(answer, Unknown):
                reasons |= dict.fromkeys(answer.reasons)
            elif isinstance(answer, Witness):
                both = answer.decisions[0], answer.decisions[1]
                found = region_of(policies, answer, both, tool)
                if found is None:
                    message = "approvers and obligations that layers add to one another are compared on one call only"
                    reasons[Reason("terms", message)] = None
                else:
                    regions.setdefault((found.tool, found.old, found.new, found.terms), found)
    return tuple(regions.values()), tuple(reasons)


def _not_comparable(old: Policy, new: Policy) -> str | None:
    """Return the reason that two policies cannot be compared layer by layer."""
    shapes = [[(layer.name, layer.limits) for layer in policy.layers] for policy in (old, new)]
    if shapes[0] != shapes[1] or old.combine != new.combine:
        return "approvers and obligations of policies with other layers are not compared"
    rules = [rule for policy in (old, new) for rule in policy.ir.rules]
    if any(not isinstance(rule, IrRule) or rule.transform is not None for rule in rules):
        return "approvers and obligations of layers with transforms or Python rules are not compared"
    return None


def _decided_by(number: int, group: Group) -> tuple[Constraint, Constraint]:
    """Return that a layer gives a verdict by one of some rules: two defaults of a layer can have different verdicts."""
    verdict, rules = group
    return {"policy": number, "verdicts": [verdict]}, {"policy": number, "rules": list(rules)}


def _pairs(old: Policy, new: Policy, groups: Callable[[Policy], Groups]) -> Iterator[tuple[Group, Group]]:
    """Yield verdicts with the rules of one layer, before and after, that have another verdict or other terms."""
    if old.ir_bytes != new.ir_bytes:
        before, after = groups(old), groups(new)
        for key, here in before.items():
            yield from (((key[0], here), (other[0], there)) for other, there in after.items() if key != other)


def _verdicts(old: Policy, new: Policy) -> tuple[str, ...]:
    """Return the verdicts whose terms can differ: without obligations, only those that people approve."""
    rules = [rule for policy in (old, new) for rule in policy.ir.rules]
    obliged = any(isinstance(rule, IrRule) and rule.obligations is not UNSET for rule in rules)
    return ORDER if obliged else ("approve_required",)
