"""The terms of permissions: calls with the same verdict, but with other approvers, approvals or obligations.

The core finds a call of each tool for each two terms; the policies decide it, and their decisions are compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import UNSET

from bobcat.analysis.deciding import DecidingRules
from bobcat.analysis.engine import Questions, rule_ref
from bobcat.analysis.layer_terms import layer_regions
from bobcat.analysis.model import ORDER, Change, Reason, Region, Side, Witness
from bobcat.bounds.decisions import is_monitored
from bobcat.bundle.model import Policy
from bobcat.ir.code import Code, Constant, Display, MakeDecision
from bobcat.ir.schema import AnyRule, HostRule, IrRule
from bobcat.ir.visit import code_nodes
from bobcat.model.constructors import DEFAULT_APPROVAL_SECONDS
from bobcat.model.decision import Decision, obligations_of

Index: TypeAlias = int | None
"""A rule by its index; None for a default."""
Data: TypeAlias = Mapping[str, Any]  # Any: JSON
_TERMS = ("approvers", "approvals_needed", "timeout_seconds", "obligations")
"""Arguments of decisions in Python rules."""


def terms_numbers(old: Policy, new: Policy) -> list[list[int | None]] | None:
    """Return a number for the terms of each rule of both policies, those of defaults last.

    None for a Python rule whose decisions with one verdict can have different terms. Without an answer the core
    cannot compare the terms: a policy has layers.
    """
    if old.layers or new.layers:
        return None
    known: dict[str, int] = {}
    given = [[*map(_constant_terms, policy.ir.rules), repr(_terms({}))] for policy in (old, new)]
    return [[None if text is None else known.setdefault(text, len(known)) for text in side] for side in given]


def terms_regions(
    questions: Questions, old: int, new: int, found: Sequence[Data]
) -> tuple[tuple[Region, ...], tuple[Reason, ...]]:
    """Return calls that get the same verdict on other terms, and the reasons of what was not compared.

    `found` are the regions of the core, one for each two terms that decide a call of a tool.
    """
    policies = questions.policies[old], questions.policies[new]
    if any(policy.layers for policy in policies):
        if policies[0].ir_bytes == policies[1].ir_bytes:
            return (), ()
        return layer_regions(questions, policies, _groups, _region)
    regions: list[Region] = []
    reasons: dict[Reason, None] = {}
    for data in found:
        sides = [data[key] for key in ("old", "new")]
        verdicts = {number: side["verdict"] for number, side in zip((old, new), sides, strict=True)}
        answer = questions.witness(data["witness"], verdicts)
        region = _region(policies, answer, (answer.decisions[old], answer.decisions[new]), data["tool"])
        if region is not None:
            regions.append(region)
        elif not all(_is_static(policy, side["rule"]) for policy, side in zip(policies, sides, strict=True)):
            message = "approvers and obligations of Python rules are compared on one call only"
            reasons[Reason("terms", message)] = None
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


def looser_text(was: Decision, now: Decision) -> str:
    """Return what a decision with the same verdict permits more: its terms, or the arguments of its transform."""
    return "; ".join(terms_text(was, now)[0]) or "with other arguments"


def _region(
    policies: tuple[Policy, Policy], answer: Witness, decisions: tuple[Decision, Decision], tool: str | None
) -> Region | None:
    """Return a region with the calls of one tool, None for any that is not named; None for the same terms."""
    was, now = decisions
    found, looser = terms_text(was, now)
    if not found:
        return None
    sides = []
    for policy, decision in zip(policies, (was, now), strict=True):
        index = DecidingRules(policy).index(decision)
        sides.append(Side(decision.verdict.value, rule_ref(policy, index)))
    witness = Witness(answer.request, (was, now))
    change: Change = "loosening" if looser else "tightening"
    return Region(tool, sides[0], sides[1], change, witness, terms=found)


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


def _constant_terms(rule: AnyRule) -> str | None:
    """Return the terms of all decisions of a rule; None unless those with one verdict have the same ones."""
    if isinstance(rule, IrRule):
        return repr(_terms(rule))
    if isinstance(rule, HostRule):
        return None
    by_verdict: dict[str, str] = {}
    for node in code_nodes(rule.body):
        if isinstance(node, MakeDecision):
            args = [(name, value) for name, value in node.args if name in _TERMS]
            terms = repr((sorted(args, key=lambda arg: arg[0]), node.obligations))
            if not all(_is_constant(value) for _, value in args) or by_verdict.setdefault(node.verdict, terms) != terms:
                return None
    return repr(sorted(by_verdict.items()))


def _is_constant(code: Code) -> bool:
    return isinstance(code, Constant) or (isinstance(code, Display) and all(map(_is_constant, code.items)))


def _is_static(policy: Policy, rule: Index) -> bool:
    return rule is None or _constant_terms(policy.ir.rules[rule]) is not None


def _wait(decision: Decision) -> float:
    return DEFAULT_APPROVAL_SECONDS if decision.timeout_seconds is None else decision.timeout_seconds


def _people(names: Sequence[str]) -> str:
    return ", ".join(map(str, names)) or "anyone"


def _seconds(value: float | None) -> str:
    return "default" if value is None else f"{value:g} s"
