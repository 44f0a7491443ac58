"""Matches and predicates: lowering of YAML nodes to normalised expressions with predicates expanded and the position of
every leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bobcat._core import MappingNode, Node, ScalarNode, SequenceNode
from bobcat.bundle.source_map import Position
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.strict.comparisons import Comparison, Comparisons
from bobcat.frontend.strict.fields import wrong_type
from bobcat.frontend.strict.keys import Key, KeyProblem, parse_key
from bobcat.frontend.strict.marks import FileMark
from bobcat.frontend.strict.memory import Memory
from bobcat.frontend.strict.operand_help import as_item
from bobcat.frontend.strict.operands import node_cost
from bobcat.frontend.strict.predicates import Predicates
from bobcat.frontend.strict.resources import Resources
from bobcat.frontend.strict.run_keys import RunKey, parse_run_key, reads_run
from bobcat.frontend.strict.scopes import Scope
from bobcat.frontend.strict.sizes import MAX_EXPR_DEPTH, MAX_EXPR_NODES, MAX_POLICY_NODES, Sized
from bobcat.frontend.strict.sources import Sources
from bobcat.frontend.yaml.nodes import INVALID_VALUE, Entries, entries, string_of
from bobcat.frontend.yaml.scalars import kind_of_node
from bobcat.ir import construct
from bobcat.ir.memory import reads_memory
from bobcat.ir.schema import AllExpr, Const, Definition, Expr, Leaf, NotExpr
from bobcat.language.kinds import OperandForm
from bobcat.language.operators import OPERATORS

_CONNECTIVES = frozenset(("all_of", "any_of", "not"))
_Join = Callable[[Iterable[Expr]], Expr]


class MatchLowering:
    """Lowering of the matches of one policy. Methods return None after they have reported an error."""

    def __init__(
        self, report: DiagnosticCollector, resources: Resources | None = None, sources: Sources | None = None
    ) -> None:
        self._report = report
        self._sources = sources or Sources(report)
        self._memory = Memory(report, self)
        self._comparisons = Comparisons(report, resources or Resources(report), self._reference, self._from)
        self._predicates = Predicates(report, self._body, self.charge)
        self._scope = Scope.CALL
        self._keys: dict[Scope, dict[str, Key | KeyProblem | RunKey]] = {scope: {} for scope in Scope}
        self._total = 0
        # id of a leaf of the rule that is lowered → (the leaf, kept alive, its position, the number of its file).
        # PERF: those of all rules would be a third of the memory of lowering.
        self._places: dict[int, tuple[Leaf, Position, int]] = {}
        # The same for the leaves of predicates.
        self._shared: dict[int, tuple[Leaf, Position, int]] = {}

    def define(self, found: Entries) -> None:
        """Register the predicates and check every body, used or not."""
        self._predicates.define(found)
        self._shared.update(self._places)
        self._places.clear()

    @property
    def definitions(self) -> Mapping[str, Definition]:
        """Return the definitions of all conditions that read the run and of all sources, by their names in the IR."""
        return {**self._memory.definitions, **self._sources.definitions}

    def report_unused(self) -> None:
        """Record predicates that no rule reaches."""
        self._predicates.report_unused()

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

    def take_places(self, expr: Expr, otherwise: Position, file: int) -> tuple[tuple[Position, ...], tuple[int, ...]]:
        """Return the positions of the leaves of a rule's normalised match, in pre-order, and the numbers of their
        files, none if all are in `file`. The next rule starts without them.
        """
        known, shared = self._places, self._shared
        if type(expr) is AllExpr:  # PERF: most rules are conjunctions of leaves of their own
            placed = [known.get(id(item)) for item in expr.items]
            if placed and None not in placed:
                known.clear()
                _, first, numbers = zip(*placed, strict=True)
                return first, () if numbers.count(file) == len(numbers) else numbers
        places: list[Position] = []
        files: list[int] = []
        waiting: list[Expr] = [*expr.items[::-1]] if type(expr) is AllExpr else [expr]
        while waiting:
            item = waiting.pop()
            # PERF: most items are leaves with a position and are found by it; class patterns take three times as long.
            found = known.get(id(item)) or shared.get(id(item))
            if found is not None:
                places.append(found[1])
                files.append(found[2])
            elif isinstance(item, Leaf):
                places.append(otherwise)
                files.append(file)
            elif isinstance(item, NotExpr):
                waiting.append(item.item)
            else:
                waiting.extend(item.items[::-1])
        known.clear()
        return tuple(places), () if files.count(file) == len(files) else tuple(files)

    def _placed(self, leaf: Leaf, first: Node, last: Node) -> None:
        """Keep the position of a leaf."""
        file = self._report.file_number(first) if isinstance(first.start_mark, FileMark) else 0
        self._places[id(leaf)] = leaf, first.position_to(last), file

    def _match(self, node: Node, where: str) -> Sized | None:
        if isinstance(node, MappingNode):
            items = [
                self._entry(key, item) if key in _CONNECTIVES else self._leaf(key, key_node, item)
                for key, (key_node, item) in entries(node, self._report).items()
            ]
            return self._joined(construct.all_, items, node)
        name = string_of(node, self._report)
        if name is not None:
            return self._use(node, name)
        help = "write `{}` to match every call" if kind_of_node(node) == "null" else None
        if isinstance(node, SequenceNode):
            help = "write `all_of: [...]` or `any_of: [...]`"
        self._report.add("E0306", node, where=where, kind=kind_of_node(node), help=help)
        return None

    def _entry(self, key: str, node: Node) -> Sized | None:
        match key:
            case "all_of":
                return self._listed(construct.all_, key, node)
            case "any_of":
                if isinstance(node, SequenceNode) and not node.value:
                    self._report.observe("never-true", node)
                return self._listed(construct.any_, key, node)
            case _:
                return self._negated(node)

    def _listed(self, joined: _Join, key: str, node: Node) -> Sized | None:
        if not isinstance(node, SequenceNode):
            if isinstance(node, ScalarNode):
                self._report.add("E0207", node, key=key, kind=kind_of_node(node), value=as_item(node))
            else:
                wrong_type(node, key, "a list of matches", self._report, help="put `- ` before each match")
            return None
        return self._joined(joined, [self._match(item, f"an item of `{key}`") for item in node.value], node)

    def _joined(self, joined: _Join, items: list[Sized | None], node: Node) -> Sized | None:
        if len(items) == 1:
            return items[0]
        exprs: list[Expr] = []
        depth, nodes = 1, 1
        for item in items:
            if item is None:
                return None
            exprs.append(item[0])
            depth = max(depth, item[1] + 1)
            nodes += item[2]
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
            place = self._places.get(id(negated)) or self._shared.get(id(negated))
            if place is not None:
                self._places[id(expr)] = (expr, *place[1:])
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
        key = self._keys[self._scope].get(text) or self._key(text)
        if not isinstance(key, Key):
            if isinstance(key, RunKey):
                return self._run(key, key_node, node)
            params: dict[str, Any] = {
                name: shown(param) if name == "key" else param for name, param in key.params.items()
            }
            self._report.add(key.code, key_node, help=self._key_help(text, key, node), **params)
            return None
        if key.quoted and (isinstance(node, ScalarNode) or OPERATORS[key.op].operand is not OperandForm.PLACES):
            facts = {"key": shown(text), "operator": key.op, "quoted": shown(key.quoted)}
            self._report.observe("operator-or-argument", key_node, **facts)
        comparison = self._comparisons.comparison(node, key)
        if comparison is None:
            return None
        op, operand, dialect = comparison
        path = key.path[:-1] if key.facet and isinstance(node, MappingNode) else key.path
        leaf = construct.leaf(key.head, path, op, operand, dialect)
        self._placed(leaf, key_node, node)
        return leaf, 1, 1 + node_cost(operand)

    def _run(self, key: RunKey, key_node: ScalarNode, node: Node) -> Sized | None:
        """Lower a condition that reads the run."""
        found = self._memory.condition(key, key_node, node)
        if found is None:
            return None
        for leaf, first, last in found.leaves:
            self._placed(leaf, first, last)
        expr = construct.all_([leaf for leaf, _, _ in found.leaves])
        depth = 1 if isinstance(expr, Leaf) else 2
        return (expr, depth, found.nodes) if self._within(node, depth, found.nodes) else None

    def _key_help(self, text: str, problem: KeyProblem, node: Node) -> str | None:
        if text in self._predicates:
            return f"`{shown(text)}` is a predicate; write `all_of: [{shown(text)}]`"
        if problem.code == "E0309" and isinstance(node, MappingNode) and node.value:
            flat = [f"`{text}.{shown(name.value)}`" for name, _ in node.value if isinstance(name, ScalarNode)]
            return f"write {', '.join(flat[:3])}" if flat else problem.help
        return problem.help

    def _use(self, node: Node, name: str) -> Sized | None:
        lowered = self._predicates.use(node, name)
        if lowered is None:
            return None
        expr, depth, nodes = lowered
        if self._scope is not Scope.CALL and reads_memory(expr):
            self._report.add("E1008", node, what=shown(name), where=self._scope.value)
            return None
        return (expr, depth + 1, nodes) if self._within(node, depth + 1, nodes) else None

    def _body(self, node: Node, where: str) -> Sized | None:
        return self.definition(node, where, Scope.CALL)

    def definition(self, node: Node, where: str, scope: Scope) -> Sized | None:
        """Lower a match that is part of a definition; its keys are those of the scope."""
        before, self._scope = self._scope, scope
        lowered = self._match(node, where)
        self._scope = before
        return lowered

    def compare(self, node: Node, key: Key) -> Comparison | None:
        """Lower the comparison of a key with its operand."""
        return self._comparisons.comparison(node, key)

    def _key(self, text: str) -> Key | KeyProblem | RunKey:
        """Parse a key in the scope, once."""
        known = self._keys[self._scope]
        key = known.get(text)
        if key is None:
            if not reads_run(text):
                key = parse_key(text, self._scope.head)
            elif self._scope is Scope.CALL:
                key = parse_run_key(text)
            else:
                key = KeyProblem("E1008", {"what": text, "where": self._scope.value})
            known[text] = key
        return key

    def _reference(self, text: str) -> Key | KeyProblem:
        """Parse the path of an operand."""
        key = self._key(text)
        return key if isinstance(key, Key | KeyProblem) else self._memory.reference(key)

    def _from(self, node: Node, key: Key) -> Const:
        """Lower the operand of `from`."""
        if self._scope is not Scope.CALL:
            self._report.add("E1008", node, what=key.op, where=self._scope.value)
            return INVALID_VALUE
        return self._sources.operand(node, key)
