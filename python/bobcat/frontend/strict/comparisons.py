"""Comparisons: lowering of a key's operators and an operand node to the operator, operand and dialect of a leaf.

`Operands` handles constants. This module handles operators that derive a value (`length`, `lower`, elements),
references to other paths, and globs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from bobcat._core import MappingNode, Node, ScalarNode, SequenceNode, facet_operand, lower
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.strict.facet_keys import PartStep, Step, tail
from bobcat.frontend.strict.globs import GlobError, to_pattern
from bobcat.frontend.strict.key_syntax import KeySyntaxError, split
from bobcat.frontend.strict.keys import Key, KeyProblem
from bobcat.frontend.strict.operand_help import argument_help, operator_help
from bobcat.frontend.strict.operands import COMPARING, Operands
from bobcat.frontend.strict.references import is_reference, plain_kind, reference_problem
from bobcat.frontend.strict.resources import Resources
from bobcat.frontend.strict.vocabulary import not_an_operator
from bobcat.frontend.suggest import listed
from bobcat.frontend.yaml.nodes import INVALID_VALUE, entries
from bobcat.frontend.yaml.scalars import kind_of_node
from bobcat.ir import construct
from bobcat.ir.schema import MAX_TEST_DEPTH, Const, Dialect, Operator
from bobcat.language.facets import CORE_KINDS, ELEMENTS, GROUPS, IR_NESTING, IR_OPERATORS, PART, RANGE, kind_at
from bobcat.language.kinds import OperandForm, OperandKind
from bobcat.language.operators import LOWERED_TO, OPERATORS, ROWS, OperatorSpec

_WITHOUT_CASE = frozenset(
    (OperandForm.BOUND, OperandForm.BOUNDS, OperandForm.PATTERN, OperandForm.BOOL, OperandForm.SOURCES)
)
"""Forms of operands whose characters are not compared one by one."""
_NO_VALUES = frozenset((OperandForm.PATTERN, OperandForm.BOOL, OperandForm.SOURCES))
"""Forms of operands that hold no values of the tested type."""

_DIALECTS: dict[str, Dialect] = {row.name: "re2" for row in IR_OPERATORS.values() if row.operand is OperandForm.PATTERN}

# PERF: see `Sized` of `sizes`.
Comparison: TypeAlias = tuple[Operator, Const, Dialect | None]
"""A leaf or a test in one: the operator, the operand, the dialect of a pattern."""


class Comparisons:
    """Lowering of comparisons. Methods return None after they have reported an error."""

    def __init__(
        self,
        report: DiagnosticCollector,
        resources: Resources,
        parse: Callable[[str], Key | KeyProblem],
        take_sources: Callable[[Node, Key], Const],
    ) -> None:
        self._report = report
        self._resources = resources
        self._parse = parse
        self._operands = Operands(report)
        self._operands.take |= {row.name: take_sources for row in ROWS if row.operand is OperandForm.SOURCES}

    def comparison(self, node: Node, key: Key) -> Comparison | None:
        """Lower the comparison of `key` with its operand."""
        op = key.op
        if key.facet and isinstance(node, MappingNode):
            facet = replace(key, path=key.path[:-1], base=key.base[: -len(key.facet) - 1], bare=False)
            return self._derived((key.facet,), node, facet, 0)
        # PERF: most leaves compare a path with a constant and skip the rest of `_derived` (a third of the time).
        if op not in LOWERED_TO and op in COMPARING[key.kind] and not key.chain and not isinstance(node, MappingNode):
            operand = self._operands.take[op](node, key)
            return None if operand is INVALID_VALUE else (op, operand, _DIALECTS.get(op))
        return self._derived((*key.chain, op), node, key, 0)

    def _derived(self, operators: tuple[Step, ...], node: Node, key: Key, depth: int) -> Comparison | None:
        """Lower the operators applied to `key`; at `depth` > 0, `key` is a value derived from the path."""
        op = operators[0]
        if isinstance(op, PartStep):
            return self._part(op, operators[1:], node, key, depth)
        if key.op != op or key.chain:  # PERF: a key with one operator is used as parsed; a copy takes 5 us
            key = replace(key, op=op, chain=())
        row = IR_OPERATORS[op]
        if not _accepts(row, key, depth) and not key.bare:
            known = [other.name for other in (*ROWS, IR_OPERATORS[RANGE]) if _accepts(other, key, depth)]
            help = argument_help(op, key) if key.kind is OperandKind.MAPPING and not depth else None
            has, names = key.kind.value, listed(known) or "none; it is tested by its parts"
            self._report.add("E0406", node, op=op, path=key.base, has=has, known=names, help=help)
            return None
        if row.nests:
            return self._nesting(op, operators[1:], node, key, depth + 1)
        if row.operand is OperandForm.PLACES:
            return self._places(op, node, key)
        if isinstance(node, MappingNode) and is_reference(node, key):
            return self._ref(op, node, key)
        if key.kind in CORE_KINDS and isinstance(node, MappingNode):
            self._report.add("E0401", node, op=op, expected="a value, or a list of values", kind=kind_of_node(node))
            return None
        if row.operand is OperandForm.GLOB:
            return self._glob(node, key)
        operand = self._operands.take[op](node, replace(key, kind=plain_kind(key.kind)))
        if operand is INVALID_VALUE or (key.kind is OperandKind.LOWER and not self._is_lower(node, key, operand)):
            return None
        if key.kind in CORE_KINDS and row.operand not in _NO_VALUES:
            operand = self._canonical(node, key, operand)
        return None if operand is INVALID_VALUE else (op, operand, _DIALECTS.get(op))

    def _canonical(self, node: Node, key: Key, operand: Const) -> Const:
        """Return an operand in the form that values of its type have."""
        if isinstance(operand, list):
            nodes = node.value if isinstance(node, SequenceNode) else [node] * len(operand)
            found = [self._canonical(each, key, item) for each, item in zip(nodes, operand, strict=True)]
            return INVALID_VALUE if INVALID_VALUE in found else found
        directories = key.kind is OperandKind.FILE_PATH and key.op == RANGE
        if directories and isinstance(operand, str):
            operand = self._resources.directory_operand(operand, node)
            if operand is None:
                return INVALID_VALUE
        try:
            return facet_operand(CORE_KINDS[key.kind], key.op == RANGE, operand)
        except ValueError as problem:
            help = self._resources.suggestion(str(operand)) if directories else None
            self._report.add(
                "E0415", node, value=shown(str(operand)), kind=key.kind.value, problem=str(problem), help=help
            )
            return INVALID_VALUE

    def _part(self, part: PartStep, rest: tuple[Step, ...], node: Node, key: Key, depth: int) -> Comparison | None:
        """Lower the tests of a part of `key`, a derived value."""
        kind = OperandKind.DOCUMENT if key.kind is OperandKind.ANY else kind_at(key.kind, part.path)
        if kind is None:
            raise TypeError("the parser of keys has checked the part")
        below = replace(key, kind=kind, base=".".join((key.base, *part.path)), bare=False, part=True)
        found = self._derived(rest, node, below, depth)
        return None if found is None else (PART, construct.part(part.path, [construct.check(*found)]), None)

    def _nesting(self, op: str, rest: tuple[Step, ...], node: Node, key: Key, depth: int) -> Comparison | None:
        if depth > MAX_TEST_DEPTH:
            self._report.add("E0410", node, limit=MAX_TEST_DEPTH)
            return None
        kind = _derived_kind(IR_OPERATORS[op], key.kind)
        derived = replace(key, kind=kind, base=f"{key.base}.{op}", bare=False, part=False)
        if rest:
            found = [self._derived(rest, node, derived, depth)]
        elif derived.kind is OperandKind.COUNT and not isinstance(node, MappingNode):
            found = [self._derived(("eq",), node, derived, depth)]
        elif isinstance(node, MappingNode) and node.value:
            found = [self._test(name, entry, derived, depth) for name, entry in entries(node, self._report).items()]
        else:
            kind_text = "an empty one" if isinstance(node, MappingNode) else kind_of_node(node)
            self._report.add("E0401", node, op=op, expected="a mapping of operators", kind=kind_text,
                             help=operator_help(node, derived))  # fmt: skip
            return None
        tests = [construct.check(*item) for item in found if item is not None]
        return (op, construct.checks(tests), None) if len(tests) == len(found) else None

    def _test(self, name: str, entry: tuple[ScalarNode, Node], key: Key, depth: int) -> Comparison | None:
        name_node, node = entry
        if name in GROUPS and key.kind is not OperandKind.LOWER and key.kind is not OperandKind.COUNT:
            return self._group(name, node, key, depth + 1)
        try:
            segments = split(f"x{name}")[1:] if name.startswith("[") else split(name)
        except KeySyntaxError as problem:
            self._report.add("E0305", name_node, key=shown(name), problem=str(problem))
            return None
        found = tail(key.kind, segments)
        if (found.unknown or (found.bare and not found.steps)) and key.kind is OperandKind.ANY:
            below = segments[0]
            if below.quoted or not (below.text in OPERATORS or not_an_operator(below.text)):
                of_key = tail(OperandKind.DOCUMENT, segments)
                plain = isinstance(node, ScalarNode) or (isinstance(node, MappingNode) and is_reference(node, key))
                found = of_key if plain or not of_key.bare else found
        if found.unknown or (found.bare and not found.steps):
            wrong = found.unknown or name
            help = operator_help(wrong, key)
            self._report.add("E0303", name_node, operator=shown(wrong), quoted="", help=help)
            return None
        if found.bare and found.steps[-1] in IR_NESTING:
            return self._derived(found.steps, node, key, depth)
        return self._derived((*found.steps, found.op), node, key, depth)

    def _group(self, op: str, node: Node, key: Key, depth: int) -> Comparison | None:
        """Lower a connective of tests of one value."""
        if depth > MAX_TEST_DEPTH:
            self._report.add("E0410", node, limit=MAX_TEST_DEPTH)
            return None
        several = op != "not"
        items = node.value if several and isinstance(node, SequenceNode) else [] if several else [node]
        mappings = [item for item in items if isinstance(item, MappingNode) and item.value]
        if not items or len(mappings) < len(items):
            expected = "a list of mappings of operators" if several else "a mapping of operators"
            self._report.add("E0401", node, op=op, expected=expected, kind=kind_of_node(node))
            return None
        alternatives: list[list[dict[str, Const]]] = []
        for item in mappings:
            wrapped = op == "any_of" and len(item.value) > 1
            found = [
                self._test(name, entry, key, depth + wrapped) for name, entry in entries(item, self._report).items()
            ]
            if wrapped and depth + 1 > MAX_TEST_DEPTH:
                self._report.add("E0410", item, limit=MAX_TEST_DEPTH)
                return None
            if not found or None in found:
                return None
            alternatives.append([construct.check(*test) for test in found if test is not None])
        if op == "any_of":
            tests = [
                tests[0] if len(tests) == 1 else construct.check("all_of", construct.checks(tests))
                for tests in alternatives
            ]
        else:
            tests = [test for tests in alternatives for test in tests]
        return op, construct.checks(tests), None

    def _places(self, op: str, node: Node, key: Key) -> Comparison | None:
        """Lower the texts and paths in which a value is searched for."""
        nodes = node.value if isinstance(node, SequenceNode) else [node]
        if not nodes:
            self._report.add("E0409", node, op=op)
            return None
        found = [self._place(op, item, key) for item in nodes]
        places = [place for place in found if place is not None]
        return (op, construct.places(places), None) if len(places) == len(found) else None

    def _place(self, op: str, node: Node, key: Key) -> Const | None:
        if isinstance(node, MappingNode) and is_reference(node, key):
            reference = self._ref(op, node, key)
            return None if reference is None else reference[1]
        return self._operands.text(node, key, "a string, a path, or a list of them")

    def _glob(self, node: Node, key: Key) -> Comparison | None:
        text = self._operands.text(node, key, "a glob")
        if text is None or (key.kind is OperandKind.LOWER and not self._is_lower(node, key, text)):
            return None
        try:
            pattern = to_pattern(text)
        except GlobError as error:
            self._report.add("E0703", node, problem=str(error))
            return None
        return (LOWERED_TO[key.op], pattern, "re2") if self._operands.take_pattern(node, pattern) else None

    def _is_lower(self, node: Node, key: Key, operand: Const) -> bool:
        """Return true if lower-case text can contain the operand's letters; report an error otherwise."""
        if IR_OPERATORS[key.op].operand in _WITHOUT_CASE:
            return True
        texts = operand if isinstance(operand, list) else [operand]
        wrong = next((text for text in texts if isinstance(text, str) and text != lower(text)), None)
        if wrong is None:
            return True
        help = f"write `{shown(lower(wrong))}`"
        self._report.add("E0405", node, path=key.base, has=key.kind.value, kind=f"`{shown(wrong)}`", help=help)
        return False

    def _ref(self, op: str, node: MappingNode, key: Key) -> Comparison | None:
        if key.bare:
            help = f"to compare with the value at another path, write `{key.base}.eq`"
            self._report.add("E0307", node, key=key.base, flat="", help=help)
            return None
        if IR_OPERATORS[op].reference is None:
            self._report.add("E0414", node, op=op, known=listed(row.name for row in ROWS if row.reference))
            return None
        _, target = node.value[0]
        if not isinstance(target, ScalarNode) or target.tag == "tag:yaml.org,2002:null" or not target.value:
            self._report.add("E0401", target, op="ref", expected="a path", kind=kind_of_node(target),
                             help="write `{ref: context.principal.id}`")  # fmt: skip
            return None
        other = self._parse(str(target.value))
        if isinstance(other, KeyProblem):
            params: dict[str, Any] = {**other.params}
            self._report.add(other.code, target, help=other.help, **params)
            return None
        problem = reference_problem(op, key, other)
        if problem is not None:
            self._report.add("E0413", target, path=shown(target.value), problem=problem)
            return None
        return op, construct.reference(other.head, other.path), None


def _accepts(row: OperatorSpec, key: Key, depth: int) -> bool:
    """Return true if an operator tests the values of a key; inside of another one, an operator tests derived values."""
    return key.kind in row.kinds and not (depth and row.path_only and not key.part)


def _derived_kind(row: OperatorSpec, kind: OperandKind) -> OperandKind:
    """Return the type of the value that an operator derives from a value of another type."""
    if row.derived is not None:
        return row.derived
    return kind if kind is OperandKind.DOCUMENT else ELEMENTS.get(kind, OperandKind.ANY)
