"""Operands of leaves: lowering of a YAML node to an IR constant, checked against the operator and the declared type of
the path.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from bobcat._core import MappingNode, Node, ScalarNode, SequenceNode, parse_facet
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.strict.keys import Key
from bobcat.frontend.strict.operand_help import bool_help, flat, looks_numeric, type_help
from bobcat.frontend.strict.patterns import check_pattern, check_pattern_operand, pattern_cost
from bobcat.frontend.yaml.nodes import INVALID_VALUE, InvalidValue, check_length, entries, value
from bobcat.frontend.yaml.scalars import FIRST_1_1, MAX_INT_BITS, Scalar, kind_of, kind_of_node, yaml_1_1_reading
from bobcat.frontend.yaml.timestamps import microseconds
from bobcat.ir.schema import Const
from bobcat.language.facets import IR_OPERATORS
from bobcat.language.kinds import OperandForm, OperandKind
from bobcat.language.operators import OPERATORS, ROWS

MAX_CONST_DEPTH = 16
"""Nesting of a constant: a scalar is one level."""
MAX_PATTERN_BYTES = 4 * 1024 * 1024
"""Length of all distinct patterns of a policy together, in UTF-8."""
MAX_PATTERN_COST = 8_000_000
"""Size of all patterns of a policy together with repetitions expanded, counted at every use."""

COMPARING = {
    kind: frozenset(
        row.name for row in ROWS if kind in row.kinds and not row.nests and row.operand is not OperandForm.PLACES
    )
    for kind in OperandKind
}
"""By kind, the operators that compare the value itself, not a derived value, with constants."""
SCALARS: dict[OperandKind, tuple[type, ...]] = {
    OperandKind.ANY: (str, int, float, bool, type(None)),
    OperandKind.STRING: (str,),
    OperandKind.NULLABLE_STRING: (str, type(None)),
    OperandKind.BOOL: (bool,),
    OperandKind.NUMBER: (int, float),
    OperandKind.NULLABLE_NUMBER: (int, float, type(None)),
    OperandKind.TIME: (str,),
    OperandKind.COUNT: (int, float),
    OperandKind.LOWER: (str,),
    OperandKind.VERSION: (str,),
}
_TEXTS = frozenset(
    (OperandKind.ANY, OperandKind.STRING, OperandKind.NULLABLE_STRING, OperandKind.LOWER, OperandKind.VERSION)
)
"""Kinds that can be equal to an unconverted string."""
_ANY_BOUND: tuple[str, tuple[type, ...]] = ("a number or a string", (int, float, str))
_BOUNDS: dict[OperandKind, tuple[str, tuple[type, ...]]] = {
    OperandKind.NUMBER: ("a number", (int, float)),
    OperandKind.NULLABLE_NUMBER: ("a number", (int, float)),
    OperandKind.TIME: ("a point in time", (str,)),
    OperandKind.COUNT: ("a whole number", (int, float)),
    OperandKind.LOWER: ("a string", (str,)),
    OperandKind.STRING: ("a string", (str,)),
    OperandKind.NULLABLE_STRING: ("a string", (str,)),
    OperandKind.VERSION: ("a version", (str,)),
}


def release_numbers(text: str) -> list[int]:
    """Return the numbers of a version; none for a text that is no version, which is another error."""
    found, _ = parse_facet("semver", text)
    parts = json.loads(found) if found is not None else {}
    return [parts[name] for name in ("major", "minor", "patch") if name in parts]


def node_cost(constant: Const) -> int:
    """Return the cost of a constant in the node count: one for each value, one for every 100 characters."""
    kind = type(constant)
    if kind is str:  # PERF: most constants
        return 1 + len(constant) // 100
    if kind is not list and kind is not dict:
        return 1
    total, waiting = 0, [constant]
    while waiting:
        item = waiting.pop()
        total += 1
        if type(item) is str:
            total += len(item) // 100
        elif type(item) is list:
            waiting.extend(item)
        elif type(item) is dict and "tests" in item:
            waiting.extend(test["operand"] for test in item["tests"])
        elif type(item) is dict and "places" in item:
            waiting.extend(item["places"])
        elif type(item) is dict and "map" in item:
            waiting.extend(item["map"].values())
            total += sum(len(key) // 100 for key in item["map"])
    return total


class Operands:
    """Conversion of operands to constants. Methods return `INVALID_VALUE`, which is not a constant, after they have
    reported an error.
    """

    def __init__(self, report: DiagnosticCollector) -> None:
        self._report = report
        self._patterns: set[str] = set()
        self._pattern_bytes = 0
        self._pattern_cost = 0
        takers: dict[OperandForm, Callable[[Node, Key], Const]] = {
            OperandForm.VALUE: self._eq,
            OperandForm.SCALARS: self._in,
            OperandForm.PART: self._contains,
            OperandForm.PARTS: self._contains_many,
            OperandForm.SOME_PARTS: self._contains_many,
            OperandForm.BOUND: self._bound,
            OperandForm.BOUNDS: self._between,
            OperandForm.TEXTS: self._affix,
            OperandForm.PATTERN: self._matches,
            OperandForm.BOOL: self._bool,
        }
        # By operator: the constant to compare with, if the operator supports the kind of the key.
        self.take = {row.name: takers[row.operand] for row in IR_OPERATORS.values() if row.operand in takers}

    def _refuse(self, code: str, node: Node, **params: Any) -> InvalidValue:  # Any: the parameters of the code's texts
        self._report.add(code, node, **params)
        return INVALID_VALUE

    def constant(self, node: Node, depth: int = 1) -> Const:
        """Convert any JSON value unchanged: the value of a transform, or an item of a list that is compared as a
        whole.
        """
        if depth > MAX_CONST_DEPTH:
            return self._refuse("E0410", node, limit=MAX_CONST_DEPTH)
        if isinstance(node, MappingNode):
            items = {key: self.constant(item, depth + 1) for key, (_, item) in entries(node, self._report).items()}
            return INVALID_VALUE if INVALID_VALUE in items.values() else {"map": items}
        if isinstance(node, SequenceNode):
            found = [self.constant(item, depth + 1) for item in node.value]
            return INVALID_VALUE if INVALID_VALUE in found else found
        return self._scalar(node)

    def _scalar(self, node: Node) -> Any:  # Any: a scalar constant, or REFUSED
        found: Scalar | InvalidValue = node.text
        if found is not None:
            return found
        if not isinstance(node, ScalarNode):
            raise TypeError("the caller has checked the node's class")
        found = value(node, self._report)
        kind = type(found)
        if kind is float and not math.isfinite(found):  # type: ignore[arg-type]  # it is a float
            return self._refuse("E0404", node, value=shown(node.value))
        if kind is int and found.bit_length() > MAX_INT_BITS:  # type: ignore[union-attr]  # it is an int
            return self._refuse("E0411", node, limit=MAX_INT_BITS)
        if kind is str and not check_length(node, found, self._report):  # type: ignore[arg-type]  # it is a string
            return INVALID_VALUE
        return found

    def _typed(self, node: ScalarNode, key: Key) -> Const:
        """Convert a scalar that can equal the value at the path of `key`."""
        found: Const = node.text or self._scalar(node)
        if found is INVALID_VALUE:
            return INVALID_VALUE
        if type(found) is str and key.kind in _TEXTS:  # PERF: most operands
            if key.values and found not in key.values:
                self._report.observe("undeclared-value", node, path=key.base, value=found, values=key.values)
            if not node.style and found[:1] in FIRST_1_1:
                self._observe_yaml_1_1(node)
            return found
        if type(found) not in SCALARS.get(key.kind, ()):
            return self._refuse(
                "E0405", node, path=key.base, has=key.kind.value, kind=kind_of(found), help=type_help(node, key)
            )
        if key.kind is OperandKind.TIME:
            return self._time(node, found)
        if key.kind is OperandKind.COUNT and not self._is_count(node, found, key):
            return INVALID_VALUE
        return found

    def _observe_yaml_1_1(self, node: Node) -> None:
        if isinstance(node, ScalarNode) and (other := yaml_1_1_reading(node)) is not None:
            self._report.observe("yaml-1-1-scalar", node, text=node.value, other=other)

    def _time(self, node: Node, text: str) -> Const:
        try:
            return {"timestamp": microseconds(text)}
        except ValueError as error:
            return self._refuse("E0407", node, value=shown(text), problem=str(error))

    def _eq(self, node: Node, key: Key) -> Const:
        if isinstance(node, ScalarNode):
            if key.kind is OperandKind.STRINGS and key.bare:
                return self._refuse("E0405", node, path=key.base, has=key.kind.value, kind=kind_of_node(node),
                                 help=f"write `{key.base}.contains: {shown(node.value)}`")  # fmt: skip
            return self._typed(node, key)
        if key.bare and isinstance(node, SequenceNode):
            instead = "contains_any" if key.kind in (OperandKind.STRINGS, OperandKind.MAPPING) else "in"
            help = (
                None
                if key.kind in (OperandKind.ANY, OperandKind.STRINGS)
                else f"write `{key.base}.{instead}` for one of these values"
            )
            return self._refuse("E0308", node, key=key.base, instead=instead, help=help)
        if key.bare:
            return self._refuse("E0307", node, key=key.base, flat=flat(node, key))
        wanted = (
            SequenceNode
            if key.kind is OperandKind.STRINGS
            else MappingNode
            if key.kind is OperandKind.MAPPING
            else None
        )
        if key.kind is not OperandKind.ANY and (wanted is None or not isinstance(node, wanted)):
            return self._refuse("E0405", node, path=key.base, has=key.kind.value, kind=kind_of_node(node))
        found = self.constant(node)
        if (
            key.kind is OperandKind.STRINGS
            and found is not INVALID_VALUE
            and not all(type(item) is str for item in found)
        ):
            return self._refuse("E0405", node, path=key.base, has=key.kind.value, kind="a list of anything else")
        return found

    def _list(self, node: Node, key: Key) -> list[Node] | InvalidValue:
        if isinstance(node, SequenceNode):
            return list(node.value)
        help = f"write `{key.base}.{key.op}: [{shown(node.value)}]`" if isinstance(node, ScalarNode) else None
        return self._refuse("E0401", node, op=key.op, expected="a list of values", kind=kind_of_node(node), help=help)

    def _in(self, node: Node, key: Key) -> Const:
        items = self._list(node, key)
        if isinstance(items, InvalidValue):
            return INVALID_VALUE
        found = [
            self._typed(item, key) if isinstance(item, ScalarNode) else self._not_scalar(item, key) for item in items
        ]
        if not items and OPERATORS[key.op].anchors is not None:
            self._report.observe("never-true", node)
        return INVALID_VALUE if INVALID_VALUE in found else found

    def _not_scalar(self, node: Node, key: Key) -> Const:
        intended = f"{key.base}.contains_any" if key.op == "contains" and isinstance(node, SequenceNode) else None
        help = f"write `{intended}` for one of these, `{key.base}.contains_all` for all of them" if intended else None
        expected = "null, bools, numbers and strings"
        return self._refuse("E0401", node, op=key.op, expected=expected, kind=kind_of_node(node), help=help)

    def _matches(self, node: Node, key: Key) -> Const:
        found = self.text(node, key, "a pattern")
        if found is None or not isinstance(node, ScalarNode) or not self._has_room(node, found):
            return INVALID_VALUE
        if not check_pattern_operand(node, found, self._report) or not self._is_cheap(node, found):
            return INVALID_VALUE
        return found

    def text(self, node: Node, key: Key, expected: str) -> str | None:
        """Return the string of an operand; None after reporting that it is not a string."""
        found: Const = self._scalar(node) if isinstance(node, ScalarNode) else None
        if found is INVALID_VALUE:
            return None
        if isinstance(found, str):
            return found
        help = f"quote the {expected.removeprefix('a ')}" if isinstance(node, ScalarNode) else None
        self._report.add("E0401", node, op=key.op, expected=expected, kind=kind_of_node(node), help=help)
        return None

    def take_pattern(self, node: Node, pattern: str) -> bool:
        """Return true if the policy may contain a pattern made from the operand; report an error otherwise."""
        problems = check_pattern(pattern, "re2")
        for problem in problems[:1]:
            self._report.add("E0703", node, problem=problem.message)
        return not problems and self._has_room(node, pattern) and self._is_cheap(node, pattern)

    def _has_room(self, node: Node, pattern: str) -> bool:
        if pattern not in self._patterns:
            self._patterns.add(pattern)
            before, self._pattern_bytes = self._pattern_bytes, self._pattern_bytes + len(pattern.encode())
            if before <= MAX_PATTERN_BYTES < self._pattern_bytes:
                self._report.add("E0702", node, limit=MAX_PATTERN_BYTES)
        return self._pattern_bytes <= MAX_PATTERN_BYTES

    def _is_cheap(self, node: Node, pattern: str) -> bool:
        """Return true if an accepted pattern leaves room for the automata of the others."""
        before, self._pattern_cost = self._pattern_cost, self._pattern_cost + pattern_cost(pattern)
        if before <= MAX_PATTERN_COST < self._pattern_cost:
            self._report.add("E0704", node, cost=f"{pattern_cost(pattern):,}", limit=f"{MAX_PATTERN_COST:,}")
        return self._pattern_cost <= MAX_PATTERN_COST

    def _affix(self, node: Node, key: Key) -> Const:
        if isinstance(node, SequenceNode):
            if not node.value:
                return self._refuse("E0409", node, op=key.op)
            found = [self._affix_text(item, key) for item in node.value]
            return INVALID_VALUE if None in found else found
        text = self._affix_text(node, key)
        return INVALID_VALUE if text is None else text

    def _affix_text(self, node: Node, key: Key) -> str | None:
        found = self.text(node, key, "a string or a list of strings")
        if found is not None and isinstance(node, ScalarNode) and not node.style:
            self._observe_yaml_1_1(node)
        return found

    def _is_count(self, node: Node, found: float, key: Key) -> bool:
        if found >= 0 and found == int(found):
            return True
        self._report.add("E0405", node, path=key.base, has=key.kind.value, kind=f"`{found}`",
                         help="write a whole number from 0 on")  # fmt: skip
        return False

    def _contains(self, node: Node, key: Key) -> Const:
        if not isinstance(node, ScalarNode):
            return self._not_scalar(node, key)
        found = self._scalar(node)
        if found is not INVALID_VALUE and key.kind is not OperandKind.ANY and type(found) is not str:
            return self._refuse("E0401", node, op=f"{key.base}.{key.op}", expected="strings", kind=kind_of_node(node))
        return found

    def _contains_many(self, node: Node, key: Key) -> Const:
        items = self._list(node, key)
        if isinstance(items, InvalidValue):
            return INVALID_VALUE
        if not items and OPERATORS[key.op].operand is OperandForm.SOME_PARTS:
            return self._refuse("E0409", node, op=key.op)
        if not items and OPERATORS[key.op].anchors is not None:
            self._report.observe("never-true", node)
        found = [self._contains(item, key) for item in items]
        return INVALID_VALUE if INVALID_VALUE in found else found

    def _bound(self, node: Node, key: Key) -> Const:
        expected, types = _BOUNDS.get(key.kind, _ANY_BOUND)
        found: Const = self._scalar(node) if isinstance(node, ScalarNode) else None
        if found is INVALID_VALUE:
            return INVALID_VALUE
        if type(found) not in types:
            kind = kind_of_node(node)
            return self._refuse("E0401", node, op=key.op, expected=expected, kind=kind, help=type_help(node, key))
        if key.kind is OperandKind.TIME:
            return self._time(node, found)
        if key.kind is OperandKind.COUNT and not self._is_count(node, found, key):
            return INVALID_VALUE
        if type(found) is str:
            self._observe_yaml_1_1(node)
            if key.kind is OperandKind.ANY and looks_numeric(found):
                self._report.observe("numeric-string-bound", node, value=shown(found))
        return found

    def _between(self, node: Node, key: Key) -> Const:
        if not isinstance(node, SequenceNode):
            return self._refuse("E0401", node, op=key.op, expected="a list of two bounds", kind=kind_of_node(node),
                             help="write `[lowest, highest]`")  # fmt: skip
        if len(node.value) != 2:
            return self._refuse("E0402", node, op=key.op, count=len(node.value))
        low, high = (self._bound(item, key) for item in node.value)
        if low is INVALID_VALUE or high is INVALID_VALUE:
            return INVALID_VALUE
        if (type(low) is str) is not (type(high) is str):
            return self._refuse("E0408", node, op=key.op, low=kind_of(low), high=kind_of(high))
        lowest, highest = (low["timestamp"], high["timestamp"]) if key.kind is OperandKind.TIME else (low, high)
        if key.kind is OperandKind.VERSION:
            lowest, highest = release_numbers(low), release_numbers(high)
        if lowest > highest:
            texts = [shown(item.value) for item in node.value]
            return self._refuse("E0403", node, low=texts[0], high=texts[1])
        return [low, high]

    def _bool(self, node: Node, key: Key) -> Const:
        found = self._scalar(node) if isinstance(node, ScalarNode) else None
        if found is INVALID_VALUE:
            return INVALID_VALUE
        if type(found) is not bool:
            return self._refuse(
                "E0401", node, op=key.op, expected="a bool", kind=kind_of_node(node), help=bool_help(node)
            )
        return found
