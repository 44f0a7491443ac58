"""The input of the lints: a policy's rules with their tests, and the calls that it permits.

Created once for a policy, then passed to every lint; see `registry`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator
from itertools import islice
from typing import Any

from msgspec import UnsetType

from bobcat.bundle.source_map import SourceMap
from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Diagnostic, Related, Span
from bobcat.ir import construct
from bobcat.ir.conjuncts import conjuncts, named_tools
from bobcat.ir.schema import AllExpr, AnyExpr, Expr, Head, IrPolicy, IrRule, Leaf, NotExpr, Operator
from bobcat.ir.visit import refs
from bobcat.language.facets import IR_OPERATORS
from bobcat.lint.argument_schema import Tools
from bobcat.lint.calls import CallFinder, CallSearchResult, ExampleCall
from bobcat.lint.implication import PERMITS, Conjunction, PathCondition, conditions
from bobcat.lint.implication import Path as Path
from bobcat.lint.lazy_attribute import lazy

MAX_PAIRS = 300_000
"""Maximum pairs of rules that one lint compares in a policy."""
MAX_RULES_COMPARED = 100
"""Maximum earlier rules about the same tool that are compared with one rule; 3 in a policy of 100,000."""

ANY_TOOL = ""


class PlacedLeaf(PathCondition):
    """A leaf of a match: its number in pre-order, and true if it is under an even number of `not`.

    PERF: the leaves of most matches are their conjuncts, so that one object is both.
    """

    path: Path

    def __init__(self, number: int, leaf: Leaf, positive: bool) -> None:
        self.expr = self.leaf = leaf
        self.path = (leaf.head, *leaf.path)
        self.number = number
        self.positive = positive

    @property
    def excludes(self) -> bool:
        """Return true if it names values for which it is false: by `not`, or by its operator."""
        row = IR_OPERATORS[self.leaf.op]
        return self.positive is (row.excludes and not row.elements)

    @property
    def constrains(self) -> bool:
        """Return true if the leaf constrains the content of a value other than by exclusion."""
        row = IR_OPERATORS[self.leaf.op]
        return row.constrains and not row.excludes if self.positive else row.excludes


class RuleFacts:
    """A declarative rule, with its index in evaluation order."""

    def __init__(self, index: int, rule: IrRule) -> None:
        self.index = index
        self.rule = rule
        parts = conjuncts(rule.match)
        leaves = [PlacedLeaf(number, item, True) for number, item in enumerate(parts) if type(item) is Leaf]
        simple = len(leaves) == len(parts)
        self.leaves = tuple(leaves if simple else placed_leaves(rule.match))
        """The leaves of its match."""
        self.conditions: tuple[PathCondition, ...] = self.leaves if simple else conditions(rule)
        """The conjuncts of its match."""
        self.conjunction = Conjunction(self.conditions)
        self.never = self.conjunction.clash
        """The match is syntactically always false."""
        self.permits = rule.verdict in PERMITS
        """It permits calls."""
        self.tools = named_tools(rule)
        """The tools that it names; empty if it is about any tool."""

    @lazy
    def reads(self) -> frozenset[Path]:
        """Return the paths that the rule reads, including those in operands."""
        paths = [item.path for item in self.leaves]
        for item in self.leaves:
            if isinstance(item.leaf.operand, dict):
                paths.extend(refs(item.leaf.operand))
        return frozenset(paths)

    @property
    def requires(self) -> tuple[PlacedLeaf, ...]:
        """Return the leaves under an odd number of `not`, other than of presence: if the rule restricts, it may require
        that they are true.
        """
        if self.conditions is self.leaves:  # PERF: most rules
            return ()
        return tuple([item for item in self.leaves if not item.positive and item.leaf.op != "exists"])

    def constrains(self, path: Path) -> bool:
        """Return true if the rule constrains the value at a path other than by exclusion."""
        return any(item.constrains for item in self.leaves if item.path == path)


class RestrictingRules:
    """Rules that restrict, by the tools that they name; `most` of them are compared with one rule."""

    def __init__(self, rules: Iterable[RuleFacts], most: int) -> None:
        self._by_tool: dict[str, list[RuleFacts]] = defaultdict(list)
        self._most = most
        for facts in rules:
            if not facts.permits:
                for tool in facts.tools or (ANY_TOOL,):
                    self._by_tool[tool].append(facts)

    def before(self, facts: RuleFacts) -> tuple[tuple[RuleFacts, ...], int]:
        """Return the rules that outrank one and may be about the same tools, in evaluation order, and how many lists of
        them were cut off.
        """
        by_tool = self._by_tool
        if not by_tool:
            return (), 0
        tools = (ANY_TOOL, *facts.tools) if facts.tools else tuple(islice(by_tool, self._most))
        lists = [rules for tool in tools if (rules := by_tool.get(tool))]
        if len(lists) == 1:  # PERF: most rules
            first = [other for other in lists[0][: self._most + 1] if other.index < facts.index]
            return tuple(first[: self._most]), int(len(first) > self._most)
        found: dict[int, RuleFacts] = {}
        capped = 0
        for rules in lists:
            for other in rules:
                if other.index > facts.index:
                    break
                if len(found) >= self._most:
                    capped += 1
                    break
                found[other.index] = other
        return tuple(found[index] for index in sorted(found)), capped


class LintContext:
    """Input of the lints: a policy of the strict profile that compiles."""

    def __init__(self, policy: IrPolicy, source_map: SourceMap, tools: Tools | None = None) -> None:
        self.policy = policy
        self.source_map = source_map
        self.rules = tuple(
            RuleFacts(index, rule)
            for index, rule in enumerate(policy.rules)
            if isinstance(rule, IrRule) and isinstance(rule.mode, UnsetType)
        )
        self.calls = CallFinder(policy, tools or {})
        self.most = max(1, min(MAX_RULES_COMPARED, MAX_PAIRS // max(1, len(self.rules))))
        """Earlier rules that one rule is compared with."""
        self._required: dict[int, tuple[tuple[RuleFacts, PlacedLeaf], ...]] = {}
        self.capped: dict[str, int] = defaultdict(int)
        """Number of omitted comparisons by lint."""

    @lazy
    def permitting(self) -> tuple[RuleFacts, ...]:
        """Return the rules that permit calls."""
        return tuple(facts for facts in self.rules if facts.permits)

    def searched(self, operators: Container[Operator] | None = None) -> Iterator[RuleFacts]:
        """Yield the rules that permit calls, as long as searches have budget: for lints that report example calls.

        With `operators`, those with a leaf of one of them, or with tests that higher-ranking rules require.
        """
        for facts in self.permitting if operators is None else self.permitting_with(operators):
            if not self.calls.searching:
                return
            yield facts

    @lazy
    def _by_test(self) -> dict[tuple[Head, Operator], list[RuleFacts]]:
        found: dict[tuple[Head, Operator], list[RuleFacts]] = defaultdict(list)
        for facts in self.rules:
            for item in facts.leaves:
                rules = found[item.leaf.head, item.leaf.op]
                if not rules or rules[-1] is not facts:
                    rules.append(facts)
        return found

    def testing(self, operators: Container[Operator] | None = None, *, head: Head | None = None) -> list[RuleFacts]:
        """Return the rules that have a leaf with one of some operators and this head, in evaluation order.

        PERF: a lint that starts from these costs nothing in a policy without them.
        """
        lists = [
            rules
            for (own, op), rules in self._by_test.items()
            if (head is None or own == head) and (operators is None or op in operators)
        ]
        if len(lists) == 1:
            return lists[0]
        found = {facts.index: facts for rules in lists for facts in rules}
        return [found[index] for index in sorted(found)]

    @lazy
    def _constrained(self) -> tuple[RuleFacts, ...]:
        return tuple(facts for facts in self.permitting if self.required(facts))

    def permitting_with(self, operators: Container[Operator]) -> list[RuleFacts]:
        """Return the rules that permit calls and have a leaf of one of some operators, or tests that higher-ranking
        rules require, in evaluation order.
        """
        rules = {facts.index: facts for facts in (*self._constrained, *self.testing(operators)) if facts.permits}
        return [rules[index] for index in sorted(rules)]

    @lazy
    def _arguments(self) -> dict[str, set[Path]]:
        found: dict[str, set[Path]] = defaultdict(set)
        for facts in self.rules:
            for tool in facts.tools:
                found[tool] |= {item.path for item in facts.leaves if item.path[0] == "args"}
        return found

    def arguments(self, facts: RuleFacts) -> set[Path]:
        """Return the arguments of a rule's tools that any rule about these tools tests."""
        return {path for tool in facts.tools for path in self._arguments.get(tool, ())}

    def restricting(self, rules: Iterable[RuleFacts]) -> RestrictingRules:
        """Return those of some rules, in evaluation order, that restrict.

        Lints take only the rules that matter to them, so that others do not count as compared.
        """
        return RestrictingRules(rules, self.most)

    def before(self, facts: RuleFacts, rules: RestrictingRules, lint: str) -> tuple[RuleFacts, ...]:
        """Return the rules that outrank one and may be about the same tools, in evaluation order."""
        found, capped = rules.before(facts)
        if capped:
            self.capped[lint] += capped
        return found

    @lazy
    def _requiring(self) -> RestrictingRules:
        return self.restricting([facts for facts in self.rules if not facts.permits and facts.requires])

    def required(self, facts: RuleFacts) -> tuple[tuple[RuleFacts, PlacedLeaf], ...]:
        """Return the tests that higher-ranking rules require of a call that this rule permits, by denying other
        calls.
        """
        if facts.index not in self._required:
            before = self.before(facts, self._requiring, "required-tests")
            self._required[facts.index] = tuple(
                (other, item)
                for other in before
                for item in other.requires
                if self.find(facts, NotExpr(item.leaf)) is None and self.find(facts, item.leaf) is not None
            )
        return self._required[facts.index]

    def own_or_restricting(
        self,
        lint: str,
        rules: Iterable[RuleFacts],
        looks: Callable[[RuleFacts, PlacedLeaf, RuleFacts | None], bool],
    ) -> Iterator[tuple[RuleFacts, PlacedLeaf, RuleFacts | None]]:
        """Yield the tests that `looks` accepts, once for each path of a rule that permits: its own, and then those of
        the restricting rules that outrank it, each with that rule. `rules` are those with such tests.
        """
        concerned = [*rules]
        if not concerned:
            return
        own = {facts.index for facts in concerned}
        restricting = self.restricting(concerned)
        for facts in self.permitting:
            before = self.before(facts, restricting, lint)
            if not self.calls.searching:
                continue
            seen: set[Path] = set()
            for other in (None, *before) if facts.index in own else before:
                for item in (other or facts).leaves:
                    if item.path not in seen and looks(facts, item, other):
                        seen.add(item.path)
                        yield facts, item, other

    def constrains(self, facts: RuleFacts, path: Path) -> bool:
        """Return true if a rule, or one of higher rank, constrains the value at a path in the calls that it permits."""
        if facts.constrains(path):
            return True
        return any(item.path == path and _required(item.leaf) for _, item in self.required(facts))

    def find(self, facts: RuleFacts, *goals: Expr) -> CallSearchResult:
        """Find a call that a rule permits and for which some expressions hold."""
        return self.calls.find([(facts.rule.match, True), *((goal, True) for goal in goals)], facts.rule)

    def example(self, facts: RuleFacts, *goals: Expr) -> str | None:
        """Return the sentence that shows a call which a rule permits and for which some expressions hold; None without
        one.
        """
        call = self.find(facts, *goals)
        return shown_call(call) if isinstance(call, ExampleCall) else None

    # Any below: the parameters of the code's texts.
    def at_rule(self, code: str, facts: RuleFacts, *, beside: RuleFacts | None = None, **params: Any) -> Diagnostic:
        """Return a finding about a rule; `beside` is the other rule of a finding about two."""
        span = self.rule_span(facts)
        if beside is None:
            return diagnose(code, span, id=facts.rule.id, **params)
        place = self.rule_span(beside)
        related = [Related(place, f"`{beside.rule.id}` is here")] if place is not None else []
        return diagnose(code, span, related=related, id=facts.rule.id, other=beside.rule.id, **params)

    def at_leaf(
        self, code: str, facts: RuleFacts, item: PlacedLeaf, *, owner: RuleFacts | None = None, **params: Any
    ) -> Diagnostic:
        """Return a finding about a rule at a leaf of it, or of `owner`."""
        path = ".".join(item.path)
        return diagnose(code, self.leaf_span(owner or facts, item), id=facts.rule.id, path=path, **params)

    def at_either(
        self, code: str, facts: RuleFacts, item: PlacedLeaf, other: RuleFacts | None, **params: Any
    ) -> Diagnostic:
        """Return a finding at a leaf of a rule, or at the rule if the leaf is one of another rule."""
        if other is None:
            return self.at_leaf(code, facts, item, **params)
        return self.at_rule(code, facts, beside=other, path=".".join(item.path), **params)

    def rule_span(self, facts: RuleFacts) -> Span | None:
        """Return the span of a rule."""
        return self.source_map.rule_span(facts.index)

    def leaf_span(self, facts: RuleFacts, item: PlacedLeaf) -> Span | None:
        """Return the span of a leaf."""
        return self.source_map.leaf_span(facts.index, item.number)


def _required(leaf: Leaf) -> bool:
    row = IR_OPERATORS[leaf.op]
    return row.constrains and not (row.excludes and row.elements)


def ignoring(expr: Expr, leaf: Leaf) -> Expr:
    """Replace one leaf of an expression by true."""
    match expr:
        case Leaf():
            return construct.TRUE if expr is leaf else expr
        case NotExpr(item):
            return construct.not_(ignoring(item, leaf))
        case AllExpr(items):
            return construct.all_([ignoring(item, leaf) for item in items])
        case AnyExpr(items):
            return construct.any_([ignoring(item, leaf) for item in items])


def shown_call(call: ExampleCall) -> str:
    """Return the sentence of a finding that shows a call."""
    return f"; it permits {call}"


def placed_leaves(expr: Expr) -> Iterator[PlacedLeaf]:
    """Yield the leaves of an expression in pre-order."""
    waiting: list[tuple[Expr, bool]] = [(expr, True)]
    number = 0
    while waiting:
        node, positive = waiting.pop()
        match node:
            case Leaf():
                yield PlacedLeaf(number, node, positive)
                number += 1
            case NotExpr(item):
                waiting.append((item, not positive))
            case AllExpr(items) | AnyExpr(items):
                waiting.extend((item, positive) for item in reversed(items))
