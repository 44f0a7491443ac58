"""Sample strings that match a pattern: generated from its syntax, and kept only if the pattern is found in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from bobcat._core import Pattern

MAX_SAMPLES = 3
_VARIANTS = 8
_LENGTH = 400
_MANY = 64
_PRINTABLE = [chr(code) for code in (*range(97, 123), *range(48, 58), *range(65, 91), *range(32, 127), 9, 10, 0xE9)]

# Any: the parser of `re` is not public, and the only one that reads all that lynx-agent accepts. A pattern that it
# gives in an unknown form has no samples.
_parser: Any = import_module("re._parser")


def pattern_samples(pattern: str) -> list[str]:
    """Return up to three different strings in which `pattern` is found; the plainest comes first."""
    found: list[str] = []
    try:
        tree = _parser.parse(pattern)
        search = searcher(pattern)
        for variant in range(_VARIANTS):
            text = _Writer(variant).write(tree)
            if len(text) <= _LENGTH and text not in found and search(text):
                found.append(text)
    except (re.error, ArithmeticError, AttributeError, IndexError, RecursionError, TypeError, ValueError):
        return found[:MAX_SAMPLES]
    return found[:MAX_SAMPLES]


def longest_sample(pattern: str) -> str | None:
    """Return a string in which `pattern` is found, with every repetition as often as its bound allows, up to 64."""
    try:
        text = _Writer(0, longest=True).write(_parser.parse(pattern))
        return text if len(text) <= _LENGTH and searcher(pattern)(text) else None
    except (re.error, ArithmeticError, AttributeError, IndexError, RecursionError, TypeError, ValueError):
        return None


def searcher(pattern: str) -> Callable[[str], object]:
    """Return a search function for `pattern`, linear-time where possible. Raises `re.error` for an invalid pattern."""
    try:
        return Pattern(pattern, "python").search
    except ValueError:
        return re.compile(pattern).search


class _Writer:
    """Generator of one string; `variant` selects branches and characters."""

    def __init__(self, variant: int, *, longest: bool = False) -> None:
        self._variant = variant
        self._longest = longest
        self._groups: dict[int, str] = {}

    def write(self, tree: Iterable[tuple[Any, Any]]) -> str:  # Any: nodes of the parser
        return "".join(self._node(str(op), value) for op, value in tree)

    def _node(self, op: str, value: Any) -> str:  # Any: the operand of a node
        match op:
            case "LITERAL":
                return chr(value)
            case "NOT_LITERAL":
                return self._pick([char for char in _PRINTABLE if ord(char) != value])
            case "ANY":
                return self._pick(_PRINTABLE)
            case "IN":
                return self._one_of(value)
            case "BRANCH":
                branches = value[1]
                return self.write(branches[self._variant % len(branches)])
            case "SUBPATTERN":
                text = self.write(value[-1])
                if value[0] is not None:
                    self._groups[value[0]] = text
                return text
            case "ATOMIC_GROUP":
                return self.write(value)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                low, high, item = value
                count = min(low + (self._variant // 2) % 2, int(high))
                if self._longest and int(high) <= _MANY:
                    count = int(high)
                return "".join(self.write(item) for _ in range(count))
            case "GROUPREF":
                return self._groups.get(value, "")
            case _:  # anchors and look-around consume no characters; a later check rejects wrong strings
                return ""

    def _one_of(self, items: list[tuple[Any, Any]]) -> str:  # Any: as above
        negated = str(items[0][0]) == "NEGATE"
        inside = [char for char in _PRINTABLE if _in_class(char, items)]
        if negated:
            return self._pick([char for char in _PRINTABLE if char not in inside])
        if inside:
            return self._pick(inside)
        op, value = items[0]
        return chr(value[0] if str(op) == "RANGE" else value)

    def _pick(self, characters: list[str]) -> str:
        return characters[self._variant % len(characters)]


def _in_class(char: str, items: list[tuple[Any, Any]]) -> bool:  # Any: as above
    for op, value in items:
        match str(op):
            case "LITERAL" if ord(char) == value:
                return True
            case "RANGE" if value[0] <= ord(char) <= value[1]:
                return True
            case "CATEGORY" if _in_category(char, str(value)):
                return True
            case _:
                pass
    return False


def _in_category(char: str, name: str) -> bool:
    inside = {"DIGIT": char.isdigit(), "SPACE": char.isspace(), "WORD": char.isalnum() or char == "_"}
    kind = name.rpartition("_")[2]
    return inside.get(kind, False) != ("_NOT_" in name)
