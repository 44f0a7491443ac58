"""The terms of permissions: calls with the same verdict, but with other approvers, approvals or obligations.

Two rules are compared only where one of them is new or changed: a call that two unchanged rules decide, one in each
policy, is decided by the same of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, TypeAlias

from msgspec import UNSET

from bobcat.analysis.deciding import DecidingRules
from bobcat.analysis.engine import Questions, rule_ref
from bobcat.analysis.layer_terms import layer_regions
from bobcat.analysis.model import ORDER, Change, Reason, Region, Side, Unknown, Witness
from bobcat.bounds.decisions import is_monitored
from bobcat.bundle.model import Policy
from bobcat.ir.canonical import encode
from bobcat.ir.schema import IrRule
from bobcat.model.constructors import DEFAULT_APPROVAL_SECONDS
from bobcat.model.decision import Decision, obligations_of

MAX_PAIRS = 400
"""Pairs of terms that are compared; past it the terms are not compared."""

Index: TypeAlias = int | None
"""A rule by its index; None for a default."""


def terms_regions(questions: Questions, old: int, new: int) -> tuple[tuple[Region, ...], tuple[Reason, ...]]:
    """Return calls that get the same verdict on other terms, and the reasons of what was not compared."""
    policies = questions.policies[old], questions.policies[new]
    regions: list[Region] = []
    reasons: dict[Reason, None] = {}
    if any(policy.layers for policy in policies):
        if policies[0].ir_bytes == policies[1].ir_bytes:
            return (), ()
        return layer_regions(questions, policies, _groups, _region, MAX_PAIRS)
    pairs = list(_pairs(*policies))
    if len(pairs) > MAX_PAIRS:
        message = f"the policies have {len(pairs):,} pairs of terms, and {MAX_PAIRS} are compared"
        return (), (Reason("terms", message),)
    for verdict, here, there in pairs:
        where = [
            {"policy": number, key: value}
            for number, rules in ((old, here), (new, there))
            for key, value in (("rules", list(rules)), ("verdicts", [verdict]))
        ]
        answer = questions.find(*where)
        if isinstance(answer, Unknown):
            reasons |= dict.fromkeys(answer.reasons)
        elif isinstance(answer, Witness):
            region = _region(policies, answer, answer.decisions[old], answer.decisions[new])
            if region is not None:
                regions.append(region)
            elif not all(map(_static, policies, (here, there))):
                reasons[Reason("terms", "approvers and obligations of Python rules are compared on one call only")] = (
                    None
                )
    return tuple(regions), tuple(reasons)


def terms_text(was: Decision, now: Decision) -> tuple[tuple[str, ...], bool]:
    """Return the differences between the terms of two decisions, and true unless the new ones are as strict."""
    found, looser = [], False
    if was.approvals_needed != now.approvals_needed:
        found.append(f"{was.approvals_needed} -> {now.approvals_needed} approvals")
        looser |= now.approvals_needed < was.approvals_needed
    if sorted(was.approvers) != sorted(now.approvers):
        found.append(f"approvers {_people(was.approvers)} -> {_people(now.approvers)}")
        looser |= bool(was.approvers) and not (now.approvers and set(now.approvers) <= set(was.approvers))
    before, after = ([(each.name, each.phase, each.value) for each in obligations_of(item)] for item in (was, now))
    dropped, added = (
        [each for each in side if each not in other] for side, other in ((before, after), (after, before))
    )
    found += [f"without the obligation `{name}`" for name, _, _ in dropped]
    found += [f"with the obligation `{name}`" for name, _, _ in added]
    looser |= bool(dropped)
    if was.timeout_seconds != now.timeout_seconds:
        found.append(f"timeout {_seconds(was.timeout_seconds)} -> {_seconds(now.timeout_seconds)}")
        looser |= _wait(now) > _wait(was)
    return tuple(found), looser


def _region(policies: tuple[Policy, Policy], answer: Witness, was: Decision, now: Decision) -> Region | None:
    found, looser = terms_text(was, now)
    if not found:
        return None
    sides = []
    for policy, decision in zip(policies, (was, now), strict=True):
        index = DecidingRules(policy).index(decision)
        sides.append(Side(decision.verdict.value, rule_ref(policy, index)))
    witness = Witness(answer.request, (was, now))
    change: Change = "loosening" if looser else "tightening"
    return Region(str(answer.request.tool), sides[0], sides[1], change, witness, terms=found)


def _pairs(old: Policy, new: Policy) -> Iterator[tuple[str, tuple[Index, ...], tuple[Index, ...]]]:
    """Yield verdicts with rules of both policies that give them on other terms, where one side is changed."""
    if old.ir_bytes == new.ir_bytes:
        return
    bytes_of = [[encode(rule).hex() for rule in policy.ir.rules] for policy in (old, new)]
    matcher = SequenceMatcher(None, bytes_of[0], bytes_of[1], autojunk=False)
    same: list[set[Index]] = [set(), set()]
    for block in matcher.get_matching_blocks():
        same[0] |= set(range(block.a, block.a + block.size))
        same[1] |= set(range(block.b, block.b + block.size))
    if old.ir.defaults == new.ir.defaults:
        same[0].add(None)
        same[1].add(None)
    if any(_transforms(policy) - known for policy, known in zip((old, new), same, strict=True)):
        same = [set(), set()]  # the rules before a transform see what it has changed
    groups = [_groups(policy) for policy in (old, new)]
    for key, here in groups[0].items():
        for other, there in groups[1].items():
            if key[0] != other[0] or (key == other and key[1]):
                continue
            fresh = [tuple(set(rules) - known) for rules, known in zip((here, there), same, strict=True)]
            if fresh[0]:
                yield key[0], fresh[0], there
            if fresh[1] and (kept := tuple(index for index in here if index not in fresh[0])):
                yield key[0], kept, fresh[1]


def _transforms(policy: Policy) -> set[Index]:
    """Return the rules that change arguments; functions may, too."""
    found = enumerate(policy.ir.rules)
    return {index for index, rule in found if not isinstance(rule, IrRule) or rule.transform is not None}


def _groups(policy: Policy) -> dict[tuple[str, str], tuple[Index, ...]]:
    """The rules of a policy by their verdict and terms, as far as these are constants; a function is its own group."""
    found: dict[tuple[str, str], tuple[Index, ...]] = {}
    defaults = policy.ir.defaults
    plain = repr(_terms({}))
    for verdict in dict.fromkeys((defaults.on_no_match, defaults.on_missing_shadow)):
        found[verdict, plain] = (None,)
    for index, rule in enumerate(policy.ir.rules):
        if isinstance(rule, IrRule):
            keys = [] if is_monitored(rule) else [(str(rule.verdict), repr(_terms(rule)))]
        else:
            keys = [(verdict, "") for verdict in ORDER if verdict != "deny"]
        for key in keys:
            found[key] = (*found.get(key, ()), index)
    return found


def _terms(rule: IrRule | Mapping[str, Any]) -> tuple[Any, ...]:  # Any: JSON
    if not isinstance(rule, IrRule):
        return ((), 1, None, ())
    needed = 1 if rule.approvals_needed is UNSET else rule.approvals_needed
    obligations = () if rule.obligations is UNSET else rule.obligations
    return (tuple(sorted(map(str, rule.approvers))), needed, rule.timeout_seconds, tuple(map(repr, obligations)))


def _static(policy: Policy, rules: Sequence[Index]) -> bool:
    return all(index is None or isinstance(policy.ir.rules[index], IrRule) for index in rules)


def _wait(decision: Decision) -> float:
    return DEFAULT_APPROVAL_SECONDS if decision.timeout_seconds is None else decision.timeout_seconds


def _people(names: Sequence[str]) -> str:
    return ", ".join(map(str, names)) or "anyone"


def _seconds(value: float | None) -> str:
    return "default" if value is None else f"{value:g} s"
