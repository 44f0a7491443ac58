"""Coverage of policies by their tests: the outcomes that each rule and each clause had.

The outcomes are those of `explain` in the core, which evaluates every clause of every rule that is reached.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bobcat import _core
from bobcat.bundle import Policy
from bobcat.bundle.explanation import KINDS, RuleKind
from bobcat.diagnostics.model import Span
from bobcat.ir import code as ir
from bobcat.ir.pretty import comparison_text, path_text
from bobcat.ir.pretty_code import code_text
from bobcat.ir.schema import AnyRule, FunctionRule, HostRule, IrRule, Leaf
from bobcat.ir.spelling import run_path
from bobcat.ir.visit import leaves, statements
from bobcat.model.decision import ActionRequest
from bobcat.model.markers import default_of
from bobcat.testing.suites.compare import deciding_rule

OUTCOMES = ("true", "false", "absent", "error")
Counts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ClauseCoverage:
    """The outcomes that one clause of a rule, or one condition of a function, had."""

    text: str
    span: Span | None
    outcomes: Counts

    @property
    def missing(self) -> tuple[str, ...]:
        """The outcomes that no test had: `true`, and `false`, for which an absent value counts too."""
        found = ("true",) if not self.outcomes["true"] else ()
        return found if self.outcomes["false"] or self.outcomes["absent"] else (*found, "false")


@dataclass(frozen=True, slots=True)
class RuleCoverage:
    """The outcomes of one rule. It fired where its outcome is true."""

    id: str
    kind: RuleKind
    verdict: str | None
    span: Span | None
    outcomes: Counts
    clauses: tuple[ClauseCoverage, ...]

    @property
    def fired(self) -> int:
        """The number of decisions in which the rule fired."""
        return self.outcomes["true"]

    @property
    def total(self) -> int:
        """The number of things to cover: that the rule fires, and two outcomes of each clause."""
        return 1 + 2 * len(self.clauses)

    @property
    def covered(self) -> int:
        """The number of covered ones."""
        return self.total - (not self.fired) - sum(len(clause.missing) for clause in self.clauses)


@dataclass(frozen=True, slots=True)
class PolicyCoverage:
    """The coverage of one policy. `defaults` counts the decisions that no rule made, by their marker."""

    file: str
    id: str
    rules: tuple[RuleCoverage, ...]
    defaults: Counts
    decisions: int
    sources: Mapping[str, str]

    @property
    def total(self) -> int:
        """The number of things to cover."""
        return sum(rule.total for rule in self.rules)

    @property
    def covered(self) -> int:
        """The number of covered ones."""
        return sum(rule.covered for rule in self.rules)


def percent(covered: int, total: int) -> float:
    """Return a share in percent, rounded down to tenths: 100 means all."""
    return 100.0 if not total else covered * 1000 // total / 10


class CoverageRecorder:
    """Observer of decisions that counts outcomes, for each policy."""

    def __init__(self) -> None:
        self._seen: dict[int, _Seen] = {}

    def add(self, policy: Policy, file: str) -> None:
        """Report on a policy, whether or not a test reaches it."""
        self._seen.setdefault(id(policy), _Seen(policy, file))

    def __call__(self, policy: Policy, request: ActionRequest, state: _core.RunState | None) -> None:
        """Count the outcomes of one decision."""
        self._seen[id(policy)].take(request, state)

    def reports(self) -> list[PolicyCoverage]:
        """Return the coverage of each policy, in the order in which they were added."""
        return [seen.report() for seen in self._seen.values()]


class _Seen:
    def __init__(self, policy: Policy, file: str) -> None:
        self._policy = policy
        self._file = file
        self._rules: list[Counter[str]] = [Counter() for _ in policy.ir.rules]
        self._clauses: Counter[tuple[int, int, str]] = Counter()
        self._defaults: Counter[str] = Counter()
        self._decisions = 0

    def take(self, request: ActionRequest, state: _core.RunState | None) -> None:
        given = (request.context,) if state is None else (request.context, state)
        decision, traces = _core.explain(self._policy, request, *given)
        self._decisions += 1
        last = deciding_rule(decision)
        if default_of(last):
            self._defaults[last] += 1
        for index, outcome, _, tree, done in traces:
            self._rules[index][outcome] += 1
            if tree is not None:
                self._take_clauses(index, tree)
            for number, truth, _, _ in () if done is None else done[1]:
                self._clauses[index, number, truth] += 1

    def _take_clauses(self, rule: int, tree: Any) -> None:  # Any: nested tuples, see _core.pyi
        stack = [tree]
        while stack:
            node = stack.pop()
            if node[0] == "leaf":
                _, outcome, _, _, op, _, value, _, number, _ = node
                # In a rule that restricts, an absent value makes a clause false; `exists` is about absence itself.
                absent = outcome == "false" and value is None and op != "exists"
                self._clauses[rule, number, "absent" if absent else outcome] += 1
            else:
                stack.extend(node[2])

    def report(self) -> PolicyCoverage:
        rules = tuple(self._rule(index, rule) for index, rule in enumerate(self._policy.ir.rules))
        sources = dict(self._policy.sources)
        return PolicyCoverage(self._file, self._policy.id, rules, dict(self._defaults), self._decisions, sources)

    def _rule(self, index: int, rule: AnyRule) -> RuleCoverage:
        source_map = self._policy.source_map
        span = None if source_map is None else source_map.rule_span(index)
        name = str(rule.id) if isinstance(rule, IrRule) else rule.name
        verdict = rule.verdict if isinstance(rule, IrRule) else None
        outcomes = {outcome: self._rules[index][outcome] for outcome in OUTCOMES}
        return RuleCoverage(name, KINDS[type(rule)], verdict, span, outcomes, tuple(self._clauses_of(index, rule)))

    def _clauses_of(self, index: int, rule: AnyRule) -> Iterator[ClauseCoverage]:
        match rule:
            case IrRule():
                for number, leaf in enumerate(leaves(rule.match)):
                    yield self._clause(index, number, self._leaf_text(leaf))
            case FunctionRule():
                source_map = self._policy.source_map
                source = None if source_map is None else source_map.rules[index]
                names = () if source is None else source.names
                for number, (statement, _) in enumerate(statements(rule.body)):
                    written = source is None or (number < len(source.leaves) and source.leaves[number][0] > 0)
                    if isinstance(statement, ir.If) and written:
                        yield self._clause(index, number, code_text(statement.test, names))
            case HostRule():
                return

    def _clause(self, rule: int, number: int, text: str) -> ClauseCoverage:
        source_map = self._policy.source_map
        span = None if source_map is None else source_map.leaf_span(rule, number)
        outcomes = {outcome: self._clauses[rule, number, outcome] for outcome in OUTCOMES}
        return ClauseCoverage(text, span, outcomes)

    def _leaf_text(self, leaf: Leaf) -> str:
        is_run = str(leaf.head) == "run"
        path = run_path(leaf.path[0], self._policy.ir.memory) if is_run else path_text(leaf.head, leaf.path)
        return f"{path} {comparison_text(leaf.op, leaf.operand)}"
