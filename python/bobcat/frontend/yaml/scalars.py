"""Values of YAML scalars: a strict reading of the YAML 1.2 core schema.

Only `null`, bools, decimal, `0o` and `0x` integers and floats are not strings. `no`, `on`, `017`, `1_000`,
`12:30:45` and `2026-01-01` are strings, unlike in YAML 1.1; `yaml_1_1_reading` describes the difference.
"""

from __future__ import annotations

import re

from bobcat._core import MappingNode, Node, ScalarNode, SequenceNode

Scalar = str | int | float | bool | None

CONSTANT_STYLE = "const"
"""Style of a scalar node that carries its Python value itself: a value from a mapping source."""

MAX_INT_BITS = 4_096
"""Maximum bits of an integer in a policy or a request."""

WORDS: dict[str, bool | int | None] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
    **{str(number): number for number in range(1_001)},  # PERF: most numbers; the expression takes 5 x as long
}  # fmt: skip
"""Plain scalars that are not strings: all those without a digit or full stop, and small numbers."""
MAY_BE_TYPED = frozenset(("", *"0123456789+-.~nNtTfF"))
"""First characters of plain scalars that are not strings; an empty scalar is null."""
_WORDS_ONLY = frozenset("~nNtTfF")
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"(?P<sign>[-+]?)\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

FIRST_1_1 = frozenset("0123456789+-yYnNoO")
"""First characters of strings that YAML 1.1 reads as other values."""
_YAML_1_1 = (
    (re.compile(r"(?:yes|on)", re.IGNORECASE), "true"),
    (re.compile(r"(?:no|off)", re.IGNORECASE), "false"),
    (re.compile(r"[-+]?0[0-7_]+"), "an octal number"),
    (re.compile(r"[-+]?0b[01_]+"), "a binary number"),
    (re.compile(r"(?:[-+]0x|0x(?=[^_]*_))[0-9a-fA-F_]+"), "a hexadecimal number"),
    (re.compile(r"[-+]?[0-9][0-9]*_[0-9_]*(?:\.[0-9_]*)?"), "a number"),
    (re.compile(r"[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"), "a number in base 60"),
    (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"), "a date"),
)


def scalar_value(node: ScalarNode) -> Scalar:
    """Return the value of a scalar. Raises ValueError for an integer that is too long to parse."""
    text = node.value
    if node.style or text[:1] not in MAY_BE_TYPED:
        return text  # type: ignore[no-any-return]  # a string, or a constant with its own value
    return _plain(text)


def _plain(text: str) -> Scalar:
    if text in WORDS:
        return WORDS[text]
    if text[0] in _WORDS_ONLY:  # PERF: `tool` and `timeout_seconds` are keys of most rules
        return text
    if _INT.fullmatch(text):
        return int(_bounded(text))
    if _BASED.fullmatch(text):
        return int(_bounded(text), 0)
    if _FLOAT.fullmatch(text):
        return float(text)
    special = _SPECIAL.fullmatch(text)
    if special is None:
        return text
    return float((special["sign"] + "inf") if special["sign"] is not None else "nan")


def _bounded(text: str) -> str:
    if len(text) > MAX_INT_BITS // 3 + 16:  # octal digits of the largest integer, and its prefix
        raise ValueError("too many digits")
    return text


def yaml_1_1_reading(node: ScalarNode) -> str | None:
    """Describe the YAML 1.1 value of a plain scalar that is a string here; None if both agree."""
    if node.style or not node.value or node.value[0] not in FIRST_1_1:
        return None
    for pattern, reading in _YAML_1_1:
        if pattern.fullmatch(node.value):
            return reading
    return None


def kind_of(value: Scalar) -> str:
    """Return the type of a scalar, with its article."""
    match value:
        case None:
            return "null"
        case bool():
            return "a bool"
        case int() | float():
            return "a number"
        case str():
            return "a string"


def kind_of_node(node: Node) -> str:
    """Return the type of a node's value, with its article."""
    if isinstance(node, MappingNode):
        return "a mapping"
    if isinstance(node, SequenceNode):
        return "a list"
    if not isinstance(node, ScalarNode):
        raise TypeError("a node is a mapping, a list or a scalar")
    try:
        return kind_of(scalar_value(node))
    except ValueError:
        return "a number"
