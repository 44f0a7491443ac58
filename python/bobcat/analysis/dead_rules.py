"""Dead parts of a policy: rules that decide no call, and clauses that change no decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from bobcat.analysis.dead_clauses import clause_at, dead_places
from bobcat.analysis.deciding import DecidingRules
from bobcat.analysis.difference import compare
from bobcat.analysis.engine import OUT_OF_TIME, Data, Effort, Progress, Questions, rule_ref
from bobcat.analysis.inputs import PolicyInput, policy_of
from bobcat.analysis.model import Answer, JsonData, Proof, Reason, RuleRef, Unknown, Witness, place_json, reasons_json
from bobcat.bounds.decisions import is_monitored
from bobcat.bundle.model import Policy
from bobcat.diagnostics.model import Diagnostic, Span
from bobcat.ir.memory import used
from bobcat.ir.pretty import expr_lines
from bobcat.ir.schema import FunctionRule, IrRule

Why: TypeAlias = Literal["contradiction", "shadowed", "cannot_transform", "overruled"]
"""`contradiction`: no call makes the match true; `cannot_transform`: the transform is an error on every call that does;
`overruled`: rules that outrank the transform decide every call on the arguments that it makes; `shadowed`: other rules
decide every call that does."""
CLAUSES_LEFT = Reason(OUT_OF_TIME.code, "the time was over before all clauses of the rule were compared")
_UNUSED_PREDICATE = "W0107"


@dataclass(frozen=True, slots=True)
class DeadRule:
    """A rule that is proved to decide no call; of layers, one without which they decide every call alike.

    `culprits` are the rules that take its calls, a minimal set; of an overruled one, rules that decide on the new
    arguments.
    """

    rule: RuleRef
    why: Why
    culprits: tuple[RuleRef, ...] = ()

    def to_json(self) -> JsonData:
        """Return the rule as JSON data."""
        culprits = [rule.to_json() for rule in self.culprits]
        return {**self.rule.to_json(), "why": self.why, "culprits": culprits}


@dataclass(frozen=True, slots=True)
class DeadClause:
    """A clause that is proved to change no decision: the policy decides alike without it. `text` lists it."""

    rule: RuleRef
    text: str
    span: Span | None

    def to_json(self) -> JsonData:
        """Return the clause as JSON data."""
        return {"rule": self.rule.id, "clause": self.text, "place": place_json(self.span)}


@dataclass(frozen=True, slots=True)
class UndecidedRule:
    """A rule of which it is unknown whether it decides a call."""

    rule: RuleRef
    reasons: tuple[Reason, ...]

    def to_json(self) -> JsonData:
        """Return the rule as JSON data."""
        return {**self.rule.to_json(), "reasons": reasons_json(self.reasons)}


@dataclass(frozen=True, slots=True)
class DeadParts:
    """The dead parts of a policy. `predicates` are the findings about names of matches that no rule uses."""

    rules: tuple[DeadRule, ...]
    clauses: tuple[DeadClause, ...]
    predicates: tuple[Diagnostic, ...]
    unknown: tuple[UndecidedRule, ...]

    @property
    def found(self) -> int:
        """The number of dead parts."""
        return len(self.rules) + len(self.clauses) + len(self.predicates)

    def to_json(self) -> JsonData:
        """Return the parts as JSON data."""
        predicates = [{"message": item.message, "place": place_json(item.span)} for item in self.predicates]
        return {
            "rules": [item.to_json() for item in self.rules],
            "clauses": [item.to_json() for item in self.clauses],
            "predicates": predicates,
            "unknown": [item.to_json() for item in self.unknown],
        }


def dead(
    policy: PolicyInput, *, clauses: bool = True, budget: float | None = None, progress: Progress | None = None
) -> DeadParts:
    """Return the rules that decide no call and, with `clauses`, the clauses that change no decision.

    Monitored rules take no part in decisions and are left out. `budget` is the limit in seconds: what is not reached
    in time is unknown.
    """
    subject = policy_of(policy)
    questions = Questions([subject], Effort.within(budget, progress))
    rules: list[DeadRule] = []
    unknown: list[UndecidedRule] = []
    live: dict[int, Data] = {}
    for item in questions.ask("rules", policy=0)["rules"]:
        index = item["index"]
        if is_monitored(subject.ir.rules[index]):
            continue
        ref = rule_ref(subject, index)
        if item["decides"] == "none" and subject.layers:
            # It can keep the default of its layer from deciding, and add to the decision of another one.
            joined = compare(Questions((subject, without_rule(subject, index)), questions.effort), limit=1)
            if not joined.same and not joined.found:
                given = (*joined.reasons, *(reason for region in joined.unknown for reason in region.reasons))
                unknown.append(UndecidedRule(ref, tuple(each for each in given if each.code != "regions")))
            if not joined.same:
                continue
        if item["decides"] == "none":
            rules.append(_dead_rule(subject, index, item, questions.effort))
        elif item["decides"] == "unknown":
            unknown.append(UndecidedRule(ref, questions.reasons(item["reasons"])))
        else:
            live[index] = item["witness"]
    looked_at = list(live) if clauses and not subject.python_rules else []
    dead_clauses = []
    for index, at in dead_places(subject, looked_at, Effort(questions.effort.end), live):
        if at is None:
            unknown.append(UndecidedRule(rule_ref(subject, index), (CLAUSES_LEFT,)))
        else:
            dead_clauses.append(_dead_clause(subject, index, at))
    predicates = tuple(item for item in subject.diagnostics if item.code == _UNUSED_PREDICATE)
    return DeadParts(tuple(rules), tuple(dead_clauses), predicates, tuple(unknown))


def _dead_rule(policy: Policy, index: int, data: Data, effort: Effort) -> DeadRule:
    """Return a rule that is proved to decide no call, with the rules that take its calls."""
    ref = rule_ref(policy, index)
    why = _why(data)
    if why != "shadowed":
        return DeadRule(ref, why, tuple(rule_ref(policy, number) for number in data["culprits"]))
    taken_by = _needed(policy, index, data["culprits"] or _takers(policy, index, effort), effort)
    if not taken_by and isinstance(policy.ir.rules[index], FunctionRule) and _takes_all(policy, (), index, effort):
        return DeadRule(ref, "contradiction", ())
    return DeadRule(ref, why, tuple(rule_ref(policy, number) for number in taken_by))


def _takers(policy: Policy, index: int, effort: Effort) -> list[int]:
    """Return rules that take all calls of a rule, where the core found none; none if it is not proved of them."""
    if policy.layers or policy.python_rules or policy.remembers:
        return []
    found: list[int] = []
    while True:
        answer = _left(policy, found, index, effort)
        if isinstance(answer, Proof):
            return sorted(found)
        taker = DecidingRules(policy).index(policy.evaluate(answer.request)) if isinstance(answer, Witness) else None
        if taker is None or taker in found or taker >= index:
            return []
        found.append(taker)


def _why(item: Data) -> Why:
    """Return the cause for which a rule decides no call, by the core's answer."""
    if item["matches"] == "none":
        return "contradiction"
    if not item["applies"]:
        return "cannot_transform"
    return "overruled" if item["overruled"] else "shadowed"


def _needed(policy: Policy, index: int, culprits: list[int], effort: Effort) -> list[int]:
    """Return the culprits without those that others make needless: the core chooses them for each tool."""
    if len(culprits) < 2 or policy.layers:
        return culprits
    needed = list(culprits)
    for culprit in reversed(culprits):
        fewer = [number for number in needed if number != culprit]
        if fewer and _takes_all(policy, fewer, index, effort):
            needed = fewer
    return needed


def _takes_all(policy: Policy, others: Sequence[int], index: int, effort: Effort) -> bool:
    """Return true if it is proved that some rules before another one take all its calls."""
    return isinstance(_left(policy, others, index, effort), Proof)


def _left(policy: Policy, others: Sequence[int], index: int, effort: Effort) -> Answer:
    """Return a call that a rule decides although some rules come before it."""
    if effort.is_over:
        return Unknown((OUT_OF_TIME,))
    ir = policy.ir
    rules = tuple(ir.rules[number] for number in (*sorted(others), index))
    memory = {} if isinstance(ir.memory, UnsetType) else used(rules, ir.memory)
    alone = Policy.from_policy(replace(ir, rules=rules, memory=memory or UNSET))
    return Questions([alone], effort).find({"policy": 0, "rules": [len(others)]})


def without_rule(policy: Policy, index: int) -> Policy:
    """Return a policy of layers without one of its rules."""
    ir = policy.ir
    assert not isinstance(ir.layers, UnsetType)
    items, start = [], 0
    for layer in ir.layers.items:
        is_own = start <= index < start + layer.rules
        items.append(replace(layer, rules=layer.rules - is_own))
        start += layer.rules
    rules = (*ir.rules[:index], *ir.rules[index + 1 :])
    memory = {} if isinstance(ir.memory, UnsetType) else used(rules, ir.memory)
    layers = replace(ir.layers, items=tuple(items))
    return Policy.from_policy(replace(ir, rules=rules, memory=memory or UNSET, layers=layers))


def _dead_clause(policy: Policy, index: int, at: tuple[int, ...]) -> DeadClause:
    rule = policy.ir.rules[index]
    assert isinstance(rule, IrRule)  # only these have clauses
    expr, leaf = clause_at(rule.match, at)
    places = policy.source_map
    span = None if places is None else places.leaf_span(index, leaf)
    return DeadClause(rule_ref(policy, index), " ".join(map(str.strip, expr_lines(expr))), span)
