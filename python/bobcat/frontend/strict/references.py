"""Operands that refer to the value at another path: recognition, and the paths that an operator can compare."""

from __future__ import annotations

from typing import Literal

from bobcat._core import MappingNode, ScalarNode
from bobcat.frontend.strict.keys import Key
from bobcat.language.facets import CORE_KINDS, IR_OPERATORS
from bobcat.language.kinds import OperandForm, OperandKind, ReferenceForm


def is_reference(node: MappingNode, key: Key) -> bool:
    """Return true if an operand refers to another path. `eq` treats a mapping that only resembles a reference as a
    mapping.
    """
    if len(node.value) != 1:
        return False
    name, target = node.value[0]
    named = isinstance(name, ScalarNode) and name.value == "ref"
    return named and (isinstance(target, ScalarNode) or key.op != "eq")


def reference_problem(op: str, key: Key, other: Key) -> str | None:
    """Return the reason that an operator cannot compare the two paths; None if it can."""
    if not other.bare:
        return "it ends with an operator"
    if key.kind in CORE_KINDS and IR_OPERATORS[op].operand is not OperandForm.PLACES:
        return f"`{key.base}` is {key.kind.value}, and is compared with constants"
    own, ref = _class(plain_kind(key.kind)), _class(other.kind)
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


def plain_kind(kind: OperandKind) -> OperandKind:
    """Return the type of the operands of a derived value."""
    if kind is OperandKind.DOCUMENT:
        return OperandKind.ANY
    return OperandKind.STRING if kind in CORE_KINDS and kind is not OperandKind.VERSION else kind
