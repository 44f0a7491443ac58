"""Dead parts of a policy: rules that decide no call, and clauses that change no decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from bobcat.analysis.dead_clauses import clause_at, dead_places
from bobcat.analysis.engine import Data, Effort, Progress, Questions, rule_ref
from bobcat.analysis.inputs import PolicyInput, policy_of
from bobcat.analysis.model import JsonData, Reason, RuleRef, place_json, reasons_json
from bobcat.bounds.decisions import is_monitored
from bobcat.bundle.model import Policy
from bobcat.diagnostics.model import Diagnostic, Span
from bobcat.ir.pretty import expr_lines
from bobcat.ir.schema import IrRule

Why: TypeAlias = Literal["contradiction", "shadowed"]
"""`contradiction`: no call makes the match true; `shadowed`: other rules decide every call that does."""
_UNUSED_PREDICATE = "W0107"


@dataclass(frozen=True, slots=True)
class DeadRule:
    """A rule that is proved to decide no call. `culprits` are the rules that take its calls, a minimal set."""

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

    Monitored rules take no part in decisions and are left out. `budget` is the limit in seconds for the rules, and for
    each clause.
    """
    subject = policy_of(policy)
    questions = Questions([subject], Effort(budget, progress))
    rules: list[DeadRule] = []
    unknown: list[UndecidedRule] = []
    live: dict[int, Data] = {}
    for item in questions.ask("rules", policy=0)["rules"]:
        index = item["index"]
        if is_monitored(subject.ir.rules[index]):
            continue
        ref = rule_ref(subject, index)
        if item["decides"] == "none":
            culprits = tuple(rule_ref(subject, number) for number in item["culprits"])
            contradiction = item["matches"] == "none"
            rules.append(DeadRule(ref, "contradiction" if contradiction else "shadowed", culprits))
        elif item["decides"] == "unknown":
            unknown.append(UndecidedRule(ref, questions.reasons(item["reasons"])))
        else:
            live[index] = item["witness"]
    looked_at = list(live) if clauses and not subject.python_rules else []
    places = dead_places(subject, looked_at, Effort(budget), live)
    dead_clauses = tuple(_dead_clause(subject, index, at) for index, at in places)
    predicates = tuple(item for item in subject.diagnostics if item.code == _UNUSED_PREDICATE)
    return DeadParts(tuple(rules), dead_clauses, predicates, tuple(unknown))


def _dead_clause(policy: Policy, index: int, at: tuple[int, ...]) -> DeadClause:
    rule = policy.ir.rules[index]
    assert isinstance(rule, IrRule)  # only these have clauses
    expr, leaf = clause_at(rule.match, at)
    places = policy.source_map
    span = None if places is None else places.leaf_span(index, leaf)
    return DeadClause(rule_ref(policy, index), " ".join(map(str.strip, expr_lines(expr))), span)
