"""The policy that the lints look at: its rules with what they test, and the calls that it lets through.

Made once for a policy, then given to every lint; see `registry`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from bobcat.analysis.argument_schema import Tools
from bobcat.analysis.calls import Answer, Call, CallFinder
from bobcat.analysis.implication import PERMITS, Condition, clash, conditions, conjuncts
from bobcat.bundle.source_map import SourceMap
from bobcat.diagnostics import Related, Span
from bobcat.ir import construct
from bobcat.ir.schema import All, AnyOf, Expr, Leaf, Not, Policy, Rule
from bobcat.ir.visit import refs

MAX_PAIRS = 300_000
"""Pairs of rules that one lint compares in a policy."""
MAX_RULES_COMPARED = 100
"""Earlier rules about the same tool that are compared with one rule; 3 in a policy of 100,000."""

ANY_TOOL = ""
Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlacedLeaf:
    """A leaf of a match: its number in pre-order, and whether it stands under an even number of `not`."""

    number: int
    leaf: Leaf
    positive: bool

    @property
    def path(self) -> Path:
        """The path that is tested, with its head."""
        return (self.leaf.head, *self.leaf.path)


@dataclass(frozen=True)
class RuleFacts:
    """A declarative rule, with its place in evaluation order."""

    index: int
    rule: Rule

    @cached_property
    def leaves(self) -> tuple[PlacedLeaf, ...]:
        """The leaves of its match."""
        return tuple(placed_leaves(self.rule.match))

    @cached_property
    def reads(self) -> frozenset[Path]:
        """The paths that the rule reads, those in operands too."""
        operands = (path for item in self.leaves for path in refs(item.leaf.operand))
        return frozenset((*(item.path for item in self.leaves), *operands))

    @cached_property
    def tools(self) -> tuple[str, ...]:
        """The tools that the rule names; none when it is about any tool."""
        return named_tools(self.rule)

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """The parts of its match that must all hold."""
        return conditions(self.rule)

    @cached_property
    def never(self) -> bool:
        """Whether no call makes the match true, as far as its form shows."""
        return clash(self.conditions)

    @property
    def permits(self) -> bool:
        """Whether the rule lets calls through."""
        return self.rule.verdict in PERMITS

    def tests(self, path: Path, *, positive: bool) -> list[PlacedLeaf]:
        """The leaves about a path, those under `not` or those that are not."""
        return [item for item in self.leaves if item.path == path and item.positive is positive]

    def constrains(self, path: Path) -> bool:
        """Whether the rule says what stands at a path, and not just what does not."""
        return any(
            (item.leaf.op not in ("exists", "length", "none", "not_between")) is item.positive
            for item in self.leaves
            if item.path == path and (item.positive or item.leaf.op in ("none", "not_between"))
        )


class Subject:
    """A policy of the strict profile that compiles, for the lints."""

    def __init__(self, policy: Policy, source_map: SourceMap, tools: Tools | None = None) -> None:
        self.policy = policy
        self.source_map = source_map
        self.rules = tuple(RuleFacts(index, rule) for index, rule in enumerate(policy.rules) if isinstance(rule, Rule))
        self.calls = CallFinder(policy, tools or {})
        self.most = max(1, min(MAX_RULES_COMPARED, MAX_PAIRS // max(1, len(self.rules))))
        """Earlier rules that one rule is compared with."""
        self._required: dict[int, tuple[tuple[RuleFacts, PlacedLeaf], ...]] = {}
        self.capped: dict[str, int] = defaultdict(int)
        """How often a comparison was left out, by lint."""

    @cached_property
    def permitting(self) -> tuple[RuleFacts, ...]:
        """The rules that let calls through."""
        return tuple(facts for facts in self.rules if facts.permits)

    @cached_property
    def _arguments(self) -> dict[str, set[Path]]:
        found: dict[str, set[Path]] = defaultdict(set)
        for facts in self.rules:
            for tool in facts.tools:
                found[tool] |= {item.path for item in facts.leaves if item.path[0] == "args"}
        return found

    def arguments(self, facts: RuleFacts) -> set[Path]:
        """The arguments of a rule's tools that a rule about them looks at."""
        return {path for tool in facts.tools for path in self._arguments.get(tool, ())}

    @cached_property
    def _restricting(self) -> dict[str, list[RuleFacts]]:
        found: dict[str, list[RuleFacts]] = defaultdict(list)
        for facts in self.rules:
            if not facts.permits:
                for tool in facts.tools or (ANY_TOOL,):
                    found[tool].append(facts)
        return found

    def restricting_before(self, facts: RuleFacts, lint: str) -> Iterator[RuleFacts]:
        """The rules that outrank one, restrict, and may be about the same tools, in evaluation order."""
        tools = (ANY_TOOL, *facts.tools) if facts.tools else tuple(self._restricting)[: self.most]
        found: dict[int, RuleFacts] = {}
        for tool in tools:
            for other in self._restricting.get(tool, ()):
                if other.index > facts.index:
                    break
                if len(found) >= self.most:
                    self.capped[lint] += 1
                    break
                found[other.index] = other
        yield from (found[index] for index in sorted(found))

    def required(self, facts: RuleFacts) -> tuple[tuple[RuleFacts, PlacedLeaf], ...]:
        """The tests that rules of higher rank make a call pass which this rule permits: `deny` of what fails them."""
        if facts.index not in self._required:
            self._required[facts.index] = tuple(
                (other, item)
                for other in self.restricting_before(facts, "required-tests")
                for item in other.leaves
                if not item.positive
                and item.leaf.op != "exists"
                and self.find(facts, Not(item.leaf)) is None
                and self.find(facts, item.leaf) is not None
            )
        return self._required[facts.index]

    def constrains(self, facts: RuleFacts, path: Path) -> bool:
        """Whether a rule, or one of higher rank, says what stands at a path in the calls that it permits."""
        if facts.constrains(path):
            return True
        return any(item.path == path and item.leaf.op not in ("length", "none") for _, item in self.required(facts))

    def find(self, facts: RuleFacts, *goals: Expr) -> Answer:
        """A call that a rule permits and for which some expressions hold."""
        return self.calls.find([(facts.rule.match, True), *((goal, True) for goal in goals)], facts.rule)

    def rule_span(self, facts: RuleFacts) -> Span | None:
        """Where a rule stands."""
        return self.source_map.rule_span(facts.index)

    def leaf_span(self, facts: RuleFacts, item: PlacedLeaf) -> Span | None:
        """Where a leaf stands."""
        return self.source_map.leaf_span(facts.index, item.number)

    def here(self, facts: RuleFacts) -> list[Related]:
        """The note that says where another rule is."""
        place = self.rule_span(facts)
        return [Related(place, f"`{facts.rule.id}` is here")] if place is not None else []


def ignoring(expr: Expr, leaf: Leaf) -> Expr:
    """An expression with one of its leaves taken as true."""
    match expr:
        case Leaf():
            return construct.TRUE if expr is leaf else expr
        case Not(item):
            return construct.not_(ignoring(item, leaf))
        case All(items):
            return construct.all_([ignoring(item, leaf) for item in items])
        case AnyOf(items):
            return construct.any_([ignoring(item, leaf) for item in items])


def shown_call(call: Answer) -> str:
    """The sentence of a finding that shows a call; empty without one."""
    return f"; it lets {call} through" if isinstance(call, Call) else ""


def placed_leaves(expr: Expr) -> Iterator[PlacedLeaf]:
    """The leaves of an expression in pre-order."""
    waiting: list[tuple[Expr, bool]] = [(expr, True)]
    number = 0
    while waiting:
        node, positive = waiting.pop()
        match node:
            case Leaf():
                yield PlacedLeaf(number, node, positive)
                number += 1
            case Not(item):
                waiting.append((item, not positive))
            case All(items) | AnyOf(items):
                waiting.extend((item, positive) for item in reversed(items))


def named_tools(rule: Rule) -> tuple[str, ...]:
    """The tools that a match names; none when it is about any tool."""
    for item in conjuncts(rule.match):
        if isinstance(item, Leaf) and item.head == "tool" and item.op == "eq" and isinstance(item.operand, str):
            return (item.operand,)
        if isinstance(item, Leaf) and item.head == "tool" and item.op == "in" and isinstance(item.operand, list):
            return tuple(item.operand)
    return ()


def shared_tools(left: Iterable[str], right: Iterable[str]) -> bool:
    """Whether two rules may be about one tool, going by the tools that they name."""
    mine, theirs = set(left), set(right)
    return not mine or not theirs or bool(mine & theirs)
