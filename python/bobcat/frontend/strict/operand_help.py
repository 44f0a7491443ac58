"""Help lines about operands: the spelling of the probable intention."""

from __future__ import annotations

import math

from bobcat._core import Node, ScalarNode, SequenceNode
from bobcat.frontend.report import shown
from bobcat.frontend.strict.key_syntax import written
from bobcat.frontend.strict.keys import Key
from bobcat.frontend.strict.vocabulary import NEGATED, not_an_operator
from bobcat.frontend.suggest import closest
from bobcat.frontend.yaml.scalars import kind_of_node
from bobcat.language.kinds import OperandKind
from bobcat.language.operators import OPERATORS


def bool_help(node: Node) -> str:
    """Suggest the spelling of the intended bool."""
    if isinstance(node, ScalarNode):
        word = {"no": "false", "off": "false", "yes": "true", "on": "true"}.get(str(node.value).lower())
        if word and not node.style:
            return f"YAML 1.2 reads `{node.value}` as the string; write `{word}`"
        if node.style and str(node.value).lower() in ("true", "false"):
            return f"leave out the quotes: `{str(node.value).lower()}`"
    return "write `true` or `false`"


def type_help(node: Node, key: Key) -> str | None:
    """Suggest the spelling of a value with the type of `key`'s path."""
    if not isinstance(node, ScalarNode):
        return None
    text = str(node.value)
    match key.kind:
        case OperandKind.BOOL:
            return bool_help(node)
        case OperandKind.NUMBER | OperandKind.NULLABLE_NUMBER:
            return f"leave out the quotes: `{text}`" if node.style and looks_numeric(text) else "write a number"
        case OperandKind.STRING | OperandKind.NULLABLE_STRING | OperandKind.LOWER:
            return f'quote it: `"{shown(text)}"`' if text else None
        case OperandKind.TIME:
            return "write RFC 3339 with an offset: `2026-01-31T12:00:00Z`"
        case OperandKind.MAPPING:
            return argument_help(None if key.bare else key.op, key)
        case OperandKind.STRINGS:
            return f"write `{key.base}.contains: {shown(text)}`"
        case OperandKind.COUNT:
            return "write a whole number"
        case _:
            return None


def argument_help(op: str | None, key: Key) -> str:
    """Suggest how to name an argument when the key refers to all arguments; `op` may be an argument's name."""
    if op is None:
        return f"name an argument: `{written(key.head, (*key.path, 'NAME'))}`"
    return f"name an argument before `{op}`; one that is called `{op}` is `{written(key.head, (*key.path, op))}`"


def operator_help(found: Node | str, key: Key) -> str | None:
    """Suggest the spelling of the tests of `key`, a nesting operator."""
    if isinstance(found, str):
        near = not_an_operator(found) or closest(found, OPERATORS)
        if near is None:
            return (
                'quote the key of an element: `["NAME"]`'
                if key.kind is OperandKind.ANY
                else "write `OPERATOR: operand`"
            )
        return f"did you mean `{near}`?" if found.lower() not in NEGATED else f"did you mean `not` and `{near}`?"
    if isinstance(found, ScalarNode):
        return f"write `{key.base}.eq: {shown(found.value)}`"
    return f"write `{key.base}.in`" if isinstance(found, SequenceNode) else "write `OPERATOR: operand`"


def as_item(node: ScalarNode) -> str:
    """Return a scalar as the content of the list that was expected."""
    return "" if kind_of_node(node) == "null" else shown(node.value)


def looks_numeric(text: str) -> bool:
    """Return true if a string looks like a finite number."""
    try:
        return math.isfinite(float(text)) and "_" not in text
    except ValueError:
        return False


def flat(node: Node, key: Key) -> str:
    """Return the entries of a nested form as the intended keys."""
    found: list[str] = []
    for name, item in node.value:
        if isinstance(name, ScalarNode) and isinstance(name.value, str):
            text = shown(item.value) if isinstance(item, ScalarNode) else "..."
            operator = key.path and name.value in OPERATORS
            near = f"{key.base}.{name.value}" if operator else written(key.head, (*key.path, name.value))
            found.append(f"{near}: {text}")
    return ", ".join(found[:3]) or f"{key.base}.eq: {{}}"
