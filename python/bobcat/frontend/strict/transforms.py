"""The `transform` of a rule: the place in the arguments, the operation and the value."""

from __future__ import annotations

from typing import Any

from bobcat._core import MappingNode, Node, ScalarNode
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.strict.fields import check_keys, mapping, wrong_type
from bobcat.frontend.strict.key_syntax import split
from bobcat.frontend.strict.operands import Operands
from bobcat.frontend.suggest import listed
from bobcat.frontend.yaml.nodes import INVALID_VALUE, InvalidValue, entries, string_of
from bobcat.frontend.yaml.scalars import kind_of_node, scalar_value
from bobcat.ir import construct
from bobcat.ir.schema import Const, Transform

_OPERATIONS = ("set", "append", "delete")
_KEYS = ("jsonpath", *_OPERATIONS)


class Transforms:
    """Lowering of transforms. Methods return None after they have reported an error."""

    def __init__(self, report: DiagnosticCollector) -> None:
        self._report = report
        self._operands = Operands(report)

    def transform(self, node: Node) -> Transform | None:
        """Lower the transform in `node`."""
        fields = mapping(node, "transform", self._report, help="write `transform: {jsonpath: $.args.NAME, set: VALUE}`")
        if fields is None:
            return None
        found = entries(fields, self._report)
        check_keys(found, _KEYS, "a transform", self._report)
        operations = [name for name in _OPERATIONS if name in found]
        path = self._path(found["jsonpath"][1]) if "jsonpath" in found else ()
        if len(operations) != 1:
            self._report.add("E0601", node, count=listed(operations) or "none of them")
            return None
        op = operations[0]
        key_node, value_node = found[op]
        value = self._value(op, value_node, whole=path == ())
        if path == () and op != "set":
            self._report.add("E0603", found["jsonpath"][1] if "jsonpath" in found else key_node, op=op)
            return None
        if path is None or isinstance(value, InvalidValue):
            return None
        return construct.transform(op, path, value)

    def _value(self, op: str, node: Node, *, whole: bool) -> Const:
        if op == "delete":
            # The text in a document, or the value in a mapping; a very long number is not a bool.
            short = not isinstance(node.value, str) or len(node.value) < 100
            value: Any = scalar_value(node) if isinstance(node, ScalarNode) and short else None
            if value is not True:
                self._report.add(
                    "E0604", node, op=op, expected="`true`", kind=kind_of_node(node), help="write `delete: true`"
                )
                return INVALID_VALUE
            return None
        if op == "set" and whole and not isinstance(node, MappingNode):
            self._report.add(
                "E0604",
                node,
                op="set",
                expected="a mapping in place of all arguments",
                kind=kind_of_node(node),
                help="add `jsonpath: $.args.NAME` to set one argument",
            )
            return INVALID_VALUE
        return self._operands.constant(node)

    def _path(self, node: Node) -> tuple[str, ...] | None:
        text = string_of(node, self._report)
        if text is None:
            wrong_type(node, "jsonpath", "a string", self._report, help="write `$.args.NAME`")
            return None
        problem = None
        if not text.startswith("$."):
            problem = "it does not begin with `$.args`"
        else:
            try:
                segments = split(text[2:])
            except ValueError as error:
                problem = str(error)
            else:
                if segments[0].text == "args":
                    return tuple(segment.text for segment in segments[1:])
                problem = "it does not begin with `$.args`"
        bare = text.removeprefix("$").removeprefix(".")
        help = (
            f"write `$.{bare}`"
            if bare.split(".")[0] == "args"
            else f"write `$.args.{bare}`"
            if bare.isidentifier()
            else None
        )
        self._report.add("E0602", node, path=shown(text), problem=problem, help=help)
        return None
