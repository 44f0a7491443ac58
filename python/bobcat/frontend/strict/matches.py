"""Matches and predicates: lowering of YAML nodes to normalised expressions with predicates expanded and the position of
every leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from bobcat._core import is_printable
from bobcat.bundle.source_map import Position
from bobcat.diagnostics.model import Related
from bobcat.frontend.report import DiagnosticCollector, end_of, shown
from bobcat.frontend.strict.comparisons import Comparisons
from bobcat.frontend.strict.fields import wrong_type
from bobcat.frontend.strict.keys import Key, KeyProblem, parse_key
from bobcat.frontend.strict.operand_help import as_item
from bobcat.frontend.strict.operands import node_cost
from bobcat.frontend.strict.resources import Resources
from bobcat.frontend.strict.vocabulary import CONNECTIVES
from bobcat.frontend.suggest import MAX_COMPARISONS, Names
from bobcat.frontend.yaml.nodes import Entries, entries, string_of
from bobcat.frontend.yaml.scalars import kind_of_node
from bobcat.ir import construct
from bobcat.ir.schema import Expr, Leaf, NotExpr

MAX_EXPR_DEPTH = 40
"""Nesting of a match: connectives, leaves and uses of predicates."""
MAX_EXPR_NODES = 250_000
"""Connectives, leaves and values of one match, predicates expanded; long strings count more (`node_cost`)."""
MAX_POLICY_NODES = 2_000_000
"""The same for all rules together, including reasons, approvers and transforms."""


_Join = Callable[[Iterable[Expr]], Expr]


# PERF: a plain tuple is created in a tenth of the time of a named one; every leaf and match creates one.
Sized: TypeAlias = tuple[Expr, int, int]
"""An expression with its nesting and its number of nodes as written, predicates expanded."""


@dataclass(slots=True)
class _Predicate:
    name: str
    key: ScalarNode
    body: Node
    done: bool = False
    lowered: Sized | None = None
    uses: set[str] = field(default_factory=set)


class MatchLowering:
    """Lowering of the matches of one policy. Methods return None after they have reported an error."""

    def __init__(self, report: DiagnosticCollector, resources: Resources | None = None) -> None:
        self._report = report
        self._comparisons = Comparisons(report, resources or Resources(report))
        self._keys: dict[str, Key | KeyProblem] = {}
        self._predicates: dict[str, _Predicate] = {}
        self._names: Names | None = None
        self._stack: list[str] = []
        self._used: set[str] = set()
        self._total = 0
        # id of a leaf → (the leaf, kept alive, and its position).
        self._places: dict[int, tuple[Leaf, Position]] = {}

    def define(self, found: Entries) -> None:
        """Register the predicates and check every body, used or not."""
        for name, (key_node, body) in found.items():
            problem = _name_problem(name)
            if problem:
                self._report.add("E0503", key_node, name=shown(name), problem=problem)
                continue
            self._predicates[name] = _Predicate(name, key_node, body)
        for predicate in self._predicates.values():
            if self._report.full:
                return
            self._lower_predicate(predicate)

    def report_unused(self) -> None:
        """Record predicates that no rule reaches."""
        reached: set[str] = set()
        waiting = list(self._used)
        while waiting:
            name = waiting.pop()
            if name not in reached and name in self._predicates:
                reached.add(name)
                waiting.extend(self._predicates[name].uses)
        for name, predicate in self._predicates.items():
            if name not in reached:
                self._report.observe("unused-predicate", predicate.key, name=name)

    def match(self, node: Node, where: str) -> Expr | None:
        """Lower a rule's match; `where` names it in diagnostics."""
        lowered = self._match(node, where)
        if lowered is None:
            return None
        expr, _, nodes = lowered
        return expr if self.charge(node, nodes) else None

    def charge(self, node: Node, nodes: int) -> bool:
        """Count `nodes` against the policy's limit; return false, and report once, if it is exceeded."""
        before, self._total = self._total, self._total + nodes
        if before <= MAX_POLICY_NODES < self._total:
            self._report.add("E0505", node, limit=MAX_POLICY_NODES, help="the limit holds for all rules together")
        return self._total <= MAX_POLICY_NODES

    def leaf_places(self, expr: Expr, otherwise: Position) -> tuple[Position, ...]:
        """Return the positions of the leaves of a normalised match, in pre-order."""
        known = self._places
        places: list[Position] = []
        waiting: list[Expr] = [expr]
        while waiting:
            item = waiting.pop()
            # PERF: most items are leaves with a position and are found by it; class patterns take three times as long.
            found = known.get(id(item))
            if found is not None:
                places.append(found[1])
            elif isinstance(item, Leaf):
                places.append(otherwise)
            elif isinstance(item, NotExpr):
                waiting.append(item.item)
            else:
                waiting.extend(item.items[::-1])
        return tuple(places)

    def _match(self, node: Node, where: str) -> Sized | None:
        if isinstance(node, MappingNode):
            return self._joined(
                construct.all_, [self._entry(key, entry) for key, entry in entries(node, self._report).items()], node
            )
        name = string_of(node, self._report)
        if name is not None:
            return self._use(node, name)
        help = "write `{}` to match every call" if kind_of_node(node) == "null" else None
        if isinstance(node, SequenceNode):
            help = "write `all_of: [...]` or `any_of: [...]`"
        self._report.add("E0306", node, where=where, kind=kind_of_node(node), help=help)
        return None

    def _entry(self, key: str, entry: tuple[ScalarNode, Node]) -> Sized | None:
        key_node, node = entry
        match key:
            case "all_of":
                return self._listed(construct.all_, key, node)
            case "any_of":
                if isinstance(node, SequenceNode) and not node.value:
                    self._report.observe("never-true", node)
                return self._listed(construct.any_, key, node)
            case "not":
                return self._negated(node)
            case _:
                return self._leaf(key, key_node, node)

    def _listed(self, joined: _Join, key: str, node: Node) -> Sized | None:
        if not isinstance(node, SequenceNode):
            if isinstance(node, ScalarNode):
                self._report.add("E0207", node, key=key, kind=kind_of_node(node), value=as_item(node))
            else:
                wrong_type(node, key, "a list of matches", self._report, help="put `- ` before each match")
            return None
        return self._joined(joined, [self._match(item, f"an item of `{key}`") for item in node.value], node)

    def _joined(self, joined: _Join, items: list[Sized | None], node: Node) -> Sized | None:
        exprs: list[Expr] = []
        depth, nodes = 1, 1
        for item in items:
            if item is None:
                return None
            exprs.append(item[0])
            depth = max(depth, item[1] + 1)
            nodes += item[2]
        if len(items) == 1:
            return items[0]
        return (joined(exprs), depth, nodes) if self._within(node, depth, nodes) else None

    def _negated(self, node: Node) -> Sized | None:
        item = self._match(node, "`not`")
        if item is None:
            return None
        negated, depth, nodes = item[0], item[1] + 1, item[2] + 1
        if not self._within(node, depth, nodes):
            return None
        expr = construct.not_(negated)
        if isinstance(expr, Leaf) and isinstance(negated, Leaf):
            place = self._places.get(id(negated))
            if place is not None:
                self._places.setdefault(id(expr), (expr, place[1]))
        return expr, depth, nodes

    def _within(self, node: Node, depth: int, nodes: int) -> bool:
        if depth > MAX_EXPR_DEPTH:
            self._report.add("E0504", node, limit=MAX_EXPR_DEPTH)
            return False
        if nodes > MAX_EXPR_NODES:
            self._report.add("E0505", node, limit=MAX_EXPR_NODES)
            return False
        return True

    def _leaf(self, text: str, key_node: ScalarNode, node: Node) -> Sized | None:
        if self._report.full:
            return None
        key = self._keys.get(text)
        if key is None:
            key = self._keys[text] = parse_key(text)
        if isinstance(key, KeyProblem):
            params: dict[str, Any] = {
                name: shown(param) if name == "key" else param for name, param in key.params.items()
            }
            self._report.add(key.code, key_node, help=self._key_help(text, key, node), **params)
            return None
        if key.quoted:
            self._report.observe("operator-or-argument", key_node, key=text, operator=key.op, quoted=key.quoted)
        comparison = self._comparisons.comparison(node, key)
        if comparison is None:
            return None
        op, operand, dialect = comparison
        path = key.path[:-1] if key.facet and isinstance(node, MappingNode) else key.path
        leaf = construct.leaf(key.head, path, op, operand, dialect)
        self._places[id(leaf)] = leaf, self.position(key_node, node)
        return leaf, 1, 1 + node_cost(operand)

    def _key_help(self, text: str, problem: KeyProblem, node: Node) -> str | None:
        if text in self._predicates:
            return f"`{shown(text)}` is a predicate; write `all_of: [{shown(text)}]`"
        if problem.code == "E0309" and isinstance(node, MappingNode) and node.value:
            flat = [f"`{text}.{shown(name.value)}`" for name, _ in node.value if isinstance(name, ScalarNode)]
            return f"write {', '.join(flat[:3])}" if flat else problem.help
        return problem.help

    def position(self, first: Node, last: Node) -> Position:
        """Return the position from the start of one node to the end of another."""
        start = first.start_mark
        if last.start_mark.index < start.index:  # an alias
            last = first
        end = last.end_mark if isinstance(last, ScalarNode) else end_of(last)
        return start.line + 1, start.column + 1, end.line + 1, end.column + 1

    def _use(self, node: Node, name: str) -> Sized | None:
        predicate = self._predicates.get(name)
        if predicate is None:
            self._report.add("E0501", node, name=shown(name), help=self._suggestion(name))
            return None
        if self._stack:
            self._predicates[self._stack[-1]].uses.add(name)
        else:
            self._used.add(name)
        if name in self._stack:
            cycle = [*self._stack[self._stack.index(name) :], name]
            related = [Related(self._report.span(predicate.key), f"`{shown(name)}` is defined here")]
            chain = " -> ".join(f"`{shown(step)}`" for step in cycle)
            self._report.add("E0502", node, name=shown(name), chain=chain, related=related)
            return None
        if len(self._stack) >= MAX_EXPR_DEPTH:
            self._report.add("E0504", node, limit=MAX_EXPR_DEPTH)
            return None
        lowered = self._lower_predicate(predicate)
        if lowered is None:
            return None
        expr, depth, nodes = lowered
        return (expr, depth + 1, nodes) if self._within(node, depth + 1, nodes) else None

    def _suggestion(self, name: str) -> str:
        """Return a help line about an unknown predicate."""
        if self._names is None:
            self._names = Names(self._predicates)
        near = self._names.closest(name)
        if near is not None:
            return f"did you mean `{shown(near)}`?"
        if self._names.exhausted:
            limit = f"{MAX_COMPARISONS:,}"
            return f"define it under `predicates`; the search for a similar name stopped after {limit} comparisons"
        return "define it under `predicates`"

    def _lower_predicate(self, predicate: _Predicate) -> Sized | None:
        if not predicate.done:
            self._stack.append(predicate.name)
            predicate.lowered = self._match(predicate.body, f"the predicate `{shown(predicate.name)}`")
            self._stack.pop()
            predicate.done = True
            if predicate.lowered is not None and not self.charge(predicate.body, predicate.lowered[2]):
                predicate.lowered = None
        return predicate.lowered


def _name_problem(name: str) -> str | None:
    if not name.strip():
        return "it is empty"
    if not is_printable(name):
        return "it holds a control character"
    if name in CONNECTIVES:
        return "it is a connective"
    return None
