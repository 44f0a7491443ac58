"""Why a call is not allowed: the rule that is nearest to allowing it, and what it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import msgspec

from bobcat.analysis.engine import rule_ref
from bobcat.analysis.inputs import PolicyInput, policy_of
from bobcat.analysis.model import JsonData, RuleRef, place_json
from bobcat.analysis.paths import rules_about
from bobcat.bounds.decisions import is_monitored
from bobcat.bundle.explanation import Clause, Connective, ExplainedComparison
from bobcat.bundle.model import Policy
from bobcat.bundle.source_map import SourceMap
from bobcat.ir import construct
from bobcat.ir.memory import used
from bobcat.ir.schema import IrRule
from bobcat.lint.implication import PERMITS
from bobcat.model.decision import ActionRequest

MAX_RULES = 1_000
"""Rules about one tool that are looked at, in evaluation order."""


@dataclass(frozen=True, slots=True)
class Lack:
    """A clause that would have to be true, or not be true if `negated`."""

    clause: ExplainedComparison
    negated: bool

    def to_json(self) -> JsonData:
        """Return the clause as JSON data."""
        clause = self.clause
        found = {"path": clause.path, "operator": clause.operator, "operand": clause.operand, "negated": self.negated}
        return {**found, "value": clause.value, "error": clause.error, "place": place_json(clause.span)}


@dataclass(frozen=True, slots=True)
class Nearest:
    """The rule nearest to allowing a call: the fewest clauses that it lacks, which is a bound, not a proof.

    `stops` are the rules before it that restrict the call.
    """

    rule: RuleRef
    verdict: str
    lacks: tuple[Lack, ...]
    stops: tuple[RuleRef, ...]

    def to_json(self) -> JsonData:
        """Return the rule as JSON data."""
        lacks = [item.to_json() for item in self.lacks]
        return {**self.rule.to_json(), "verdict": self.verdict, "lacks": lacks,
                "stopped_by": [rule.to_json() for rule in self.stops]}  # fmt: skip


def nearest(policy: PolicyInput, request: ActionRequest) -> Nearest | None:
    """Return the rule nearest to allowing a call; None for an allowed call, and where no rule allows the tool."""
    subject = policy_of(policy)
    if subject.evaluate(request).verdict.value in PERMITS or subject.profile != "strict":
        return None
    best: Nearest | None = None
    stops: list[RuleRef] = []
    for index, rule in islice(rules_about(subject.ir, request.tool), MAX_RULES):
        if is_monitored(rule):
            continue
        clause = _alone(subject, index, rule, request)
        if rule.verdict not in PERMITS:
            if clause.outcome in ("true", "error"):
                stops.append(rule_ref(subject, index))
            continue
        lacks = tuple(_lacking(clause, wanted=True))
        if any(item.clause.path == "tool" for item in lacks):
            continue  # it is about other tools
        if best is None or len(lacks) + len(stops) < len(best.lacks) + len(best.stops):
            best = Nearest(rule_ref(subject, index), rule.verdict, lacks, tuple(stops))
    return best


def _alone(policy: Policy, index: int, rule: IrRule, request: ActionRequest) -> Clause:
    """Explain one rule without those before it."""
    memory = {} if isinstance(policy.ir.memory, msgspec.UnsetType) else policy.ir.memory
    ir = construct.policy([rule], memory=used([rule], memory))
    places = policy.source_map
    own = None if places is None else SourceMap(places.files, (places.rules[index],))
    clause = Policy.from_policy(ir, source_map=own).explain(request).rules[0].clause
    assert clause is not None  # the only rule is always reached
    return clause


def _lacking(clause: Clause, *, wanted: bool) -> Iterator[Lack]:
    """Yield the fewest comparisons that keep a clause from having an outcome."""
    if clause.outcome == ("true" if wanted else "false"):
        return
    if not isinstance(clause, Connective):
        yield Lack(clause, negated=not wanted)
    elif clause.kind == "not":
        yield from _lacking(clause.children[0], wanted=not wanted)
    elif (clause.kind == "all") is wanted:
        for child in clause.children:
            yield from _lacking(child, wanted=wanted)
    else:
        yield from min((tuple(_lacking(child, wanted=wanted)) for child in clause.children), key=len, default=())
