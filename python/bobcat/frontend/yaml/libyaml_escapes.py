"""Escapes for the few characters that libyaml reads differently from YAML 1.2 and JSON.

libyaml reads YAML 1.1. U+0085, U+2028 and U+2029 end lines (and comments, so the following text would be parsed). It
rejects characters that may occur raw between quotes, and the surrogate pairs of escapes that JSON writers emit for
every emoji. `escape_for_libyaml` replaces them with private characters, one for one, so that every mark still counts
columns of the author's text; `LibyamlEscapes.restore` restores them in the nodes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache
from operator import itemgetter

from bobcat._core import Node, ScalarNode
from bobcat.frontend.yaml.nodes import copied

_PAIR = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_QUOTED_ONLY = re.compile("[\x7f-\x84\x86-\x9f\ufffe\uffff]")
_SYMBOLS = "\\u0123456789abcdefABCDEF" + "".join(map(chr, range(0x7F, 0xA0))) + "\u2028\u2029\ufffe\uffff"
_FIRST, _LAST = 0x100000, 0x10FFFD
LINE_BREAK = re.compile("\r\n|[\n\r]")

Place = tuple[tuple[int, int], tuple[int, int]]
"""The first line and column of a scalar, and those behind it, from 0."""


@cache  # PERF: it takes 5 ms to compile, and most texts are plain
def _hidden() -> re.Pattern[str]:
    return re.compile("[\x7f-\x9f\u2028\u2029\ufffe\uffff]|" + _PAIR)


class LibyamlEscapes:
    """Escapes of one text: the original of each private character."""

    def __init__(self, first: int) -> None:
        private = "".join(chr(first + offset) for offset in range(len(_SYMBOLS)))
        self._to = str.maketrans(_SYMBOLS, private)
        self._back = str.maketrans(private, _SYMBOLS)
        self._any = re.compile(f"[{private[0]}-{private[-1]}]")
        self._pair = re.compile(f"{private[0]}.{{11}}")  # a backslash is replaced only at the start of a pair

    def escape(self, text: str) -> str:
        """Return the text with escapes."""
        return _hidden().sub(lambda found: found[0].translate(self._to), text)

    def restore(self, root: Node) -> tuple[Node, list[Place]]:
        """Return the nodes with the originals, and the places of the quoted scalars that contained escapes."""
        quoted: list[Place] = []

        def original(node: ScalarNode) -> str:
            if not self._any.search(node.value):
                return node.value  # type: ignore[no-any-return]  # the composer's strings
            if node.style in ("'", '"'):
                start, end = node.start_mark, node.end_mark
                quoted.append(((start.line, start.column), (end.line, end.column)))
            return self._restored(node)

        return copied(root, original), quoted

    def _restored(self, node: ScalarNode) -> str:
        text: str = node.value
        if node.style == '"':
            text = self._pair.sub(lambda found: _character(found[0].translate(self._back)), text)
        return text.translate(self._back)


def _character(pair: str) -> str:
    """Return the character of two surrogate escapes."""
    high, low = int(pair[2:6], 16), int(pair[8:], 16)
    return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))


def escape_for_libyaml(text: str) -> tuple[str, LibyamlEscapes | None]:
    """Return the text for libyaml and the escapes to undo; None if nothing was escaped."""
    if (text.isascii() and "\\u" not in text and "\x7f" not in text) or _hidden().search(text) is None:
        return text, None
    used = {ord(char) for char in set(text) if char >= chr(_FIRST)}
    for first in range(_FIRST, _LAST - len(_SYMBOLS), len(_SYMBOLS)):
        if used.isdisjoint(range(first, first + len(_SYMBOLS))):
            escapes = LibyamlEscapes(first)
            return escapes.escape(text), escapes
    return text, None


def first_unquoted(text: str, quoted: list[Place]) -> int | None:
    """Return the index of the first character that is allowed only in quotes and is not in a scalar of `quoted`."""
    quoted = sorted(quoted)
    starts = [0, *(found.end() for found in LINE_BREAK.finditer(text))]
    for found in _QUOTED_ONLY.finditer(text):
        line = bisect_right(starts, found.start()) - 1
        at = line, found.start() - starts[line]
        before = bisect_right(quoted, at, key=itemgetter(0)) - 1
        if before < 0 or quoted[before][1] <= at:
            return found.start()
    return None
