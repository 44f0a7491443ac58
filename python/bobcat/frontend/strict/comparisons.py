"""Comparisons: lowering of a key's operators and an operand node to the operator, operand and dialect of a leaf.

`Operands` handles constants. This module handles operators that derive a value (`length`, `lower`, elements),
references to other paths, and globs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, TypeAlias

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from bobcat._core import facet_operand, lower
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.strict.facet_keys import PartStep, Step, tail
from bobcat.frontend.strict.globs import GlobError, to_pattern
from bobcat.frontend.strict.key_syntax import KeySyntaxError, split
from bobcat.frontend.strict.keys import Key, KeyProblem, parse_key
from bobcat.frontend.strict.operand_help import argument_help, operator_help
from bobcat.frontend.strict.operands import COMPARING, Operands
from bobcat.frontend.strict.resources import Resources
from bobcat.frontend.suggest import listed
from bobcat.frontend.yaml.nodes import INVALID_VALUE, entries
from bobcat.frontend.yaml.scalars import kind_of_node
from bobcat.ir import construct
from bobcat.ir.schema import MAX_TEST_DEPTH, Const, Dialect, Operator
from bobcat.language.facets import CORE_KINDS, ELEMENTS, IR_NESTING, IR_OPERATORS, PART, RANGE, kind_at
from bobcat.language.kinds import OperandForm, OperandKind, ReferenceForm
from bobcat.language.operators import LOWERED_TO, ROWS, OperatorSpec

_WITHOUT_CASE = frozenset((OperandForm.BOUND, OperandForm.BOUNDS, OperandForm.PATTERN, OperandForm.BOOL))
"""Forms of operands whose characters are not compared one by one."""


# PERF: see `Sized` of `matches`.
Comparison: TypeAlias = tuple[Operator, Const, Dialect | None]
"""A leaf or a test in one: the operator, the operand, the dialect of a pattern."""


class Comparisons:
    """Lowering of comparisons. Methods return None after they have reported an error."""

    def __init__(self, report: DiagnosticCollector, resources: Resources) -> None:
        self._report = report
        self._resources = resources
        self._operands = Operands(report)

    def comparison(self, node: Node, key: Key) -> Comparison | None:
        """Lower the comparison of `key` with its operand."""
        op = key.op
        if key.facet and isinstance(node, MappingNode):
            facet = replace(key, path=key.path[:-1], base=key.base[: -len(key.facet) - 1], bare=False)
            return self._derived((key.facet,), node, facet, 0)
        # PERF: most leaves compare a path with a constant and skip the rest of `_derived` (a third of the time).
        if op not in LOWERED_TO and op in COMPARING[key.kind] and not key.chain and not isinstance(node, MappingNode):
            operand = self._operands.take[op](node, key)
            return None if operand is INVALID_VALUE else (op, operand, _dialect(op))
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
        if isinstance(node, MappingNode) and _is_ref(node, key):
            return self._ref(op, node, key)
        if key.kind in CORE_KINDS and isinstance(node, MappingNode):
            self._report.add("E0401", node, op=op, expected="a value, or a list of values", kind=kind_of_node(node))
            return None
        if row.operand is OperandForm.GLOB:
            return self._glob(node, key)
        operand = self._operands.take[op](node, replace(key, kind=_plain(key.kind)))
        if operand is INVALID_VALUE or (key.kind is OperandKind.LOWER and not self._is_lower(node, key, operand)):
            return None
        if key.kind in CORE_KINDS and row.operand is not OperandForm.PATTERN and row.operand is not OperandForm.BOOL:
            operand = self._canonical(node, key, operand)
        return None if operand is INVALID_VALUE else (op, operand, _dialect(op))

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
        kind = kind_at(key.kind, part.path)
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
        try:
            found = tail(key.kind, split(name))
        except KeySyntaxError as problem:
            self._report.add("E0305", name_node, key=shown(name), problem=str(problem))
            return None
        if found.unknown or (found.bare and not found.steps):
            wrong = found.unknown or name
            help = operator_help(wrong, key)
            self._report.add("E0303", name_node, operator=shown(wrong), quoted="", help=help)
            return None
        if found.bare and found.steps[-1] in IR_NESTING:
            return self._derived(found.steps, node, key, depth)
        return self._derived((*found.steps, found.op), node, key, depth)

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
        other = parse_key(str(target.value))
        if isinstance(other, KeyProblem):
            params: dict[str, Any] = {**other.params}
            self._report.add(other.code, target, help=other.help, **params)
            return None
        problem = _ref_problem(op, key, other)
        if problem is not None:
            self._report.add("E0413", target, path=shown(target.value), problem=problem)
            return None
        return op, construct.reference(other.head, other.path), None


def _accepts(row: OperatorSpec, key: Key, depth: int) -> bool:
    """Return true if an operator tests the values of a key; inside of another one, an operator tests derived values."""
    return key.kind in row.kinds and not (depth and row.path_only and not key.part)


def _plain(kind: OperandKind) -> OperandKind:
    """Return the type of the operands of a derived value."""
    if kind is OperandKind.DOCUMENT:
        return OperandKind.ANY
    return OperandKind.STRING if kind in CORE_KINDS and kind is not OperandKind.VERSION else kind


def _dialect(op: str) -> Dialect | None:
    return "re2" if IR_OPERATORS[op].operand is OperandForm.PATTERN else None


def _derived_kind(row: OperatorSpec, kind: OperandKind) -> OperandKind:
    """Return the type of the value that an operator derives from a value of another type."""
    if row.derived is not None:
        return row.derived
    return kind if kind is OperandKind.DOCUMENT else ELEMENTS.get(kind, OperandKind.ANY)


def _is_ref(node: MappingNode, key: Key) -> bool:
    """Return true if an operand refers to another path. `eq` treats a mapping that only resembles a reference as a
    mapping.
    """
    if len(node.value) != 1:
        return False
    name, target = node.value[0]
    named = isinstance(name, ScalarNode) and name.value == "ref"
    return named and (isinstance(target, ScalarNode) or key.op != "eq")


def _ref_problem(op: str, key: Key, other: Key) -> str | None:
    """Return the reason that an operator cannot compare the two paths; None if it can."""
    if not other.bare:
        return "it ends with an operator"
    if key.kind in CORE_KINDS:
        return f"`{key.base}` is {key.kind.value}, and is compared with constants"
    own, ref = _class(_plain(key.kind)), _class(other.kind)
    if other.kind is OperandKind.MAPPING:
        return "it is a mapping; name one of its entries"
    wanted: str
    match IR_OPERATORS[op].reference:
        case ReferenceForm.LIST:
            fits, wanted = ref in ("any", "list"), "a list"
            if ref == "list" and own not in ("any", "text", "list"):
                return f"it holds strings, and `{key.base}` is {key.kind.value}"
        case ReferenceForm.TEXT:
            fits, wanted = ref in ("any", "text"), "a string"
        case ReferenceForm.PART:
            fits = ref == "any" or (ref == "text" if own != "any" else ref != "list")
            wanted = "a string" if own != "any" else "a single value"
        case _:
            fits, wanted = ref == "any" or (ref != "list" if own == "any" else ref == own), key.kind.value
            if own == "list":
                return f"`{key.base}` is a list, and only single values are compared"
    return None if fits else f"it is {other.kind.value}, and `{key.base}.{op}` takes {wanted}"


def _class(kind: OperandKind) -> Literal["any", "text", "number", "bool", "time", "list", "mapping"]:
    match kind:
        case OperandKind.ANY:
            return "any"
        case OperandKind.STRING | OperandKind.NULLABLE_STRING | OperandKind.LOWER:
            return "text"
        case OperandKind.NUMBER | OperandKind.NULLABLE_NUMBER | OperandKind.COUNT:
            return "number"
        case OperandKind.BOOL:
            return "bool"
        case OperandKind.TIME:
            return "time"
        case OperandKind.STRINGS:
            return "list"
        case _:
            return "mapping"
