"""Stand-ins for the few characters that libyaml reads otherwise than YAML 1.2 and JSON do.

libyaml reads YAML 1.1: U+0085, U+2028 and U+2029 end lines for it (and comments: what follows would be live), it
refuses characters that may stand raw between quotes, and the surrogate pairs of escapes that JSON writers make of every
emoji. `hidden` puts private characters in their place, one for one, so that every mark still counts columns of the
author's text; `StandIns.restore` puts them back in the nodes.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from yaml.nodes import CollectionNode, Node, ScalarNode

_PAIR = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_HIDDEN = re.compile("[\x7f-\x9f\u2028\u2029\ufffe\uffff]|" + _PAIR)
_QUOTED_ONLY = re.compile("[\x7f-\x84\x86-\x9f\ufffe\uffff]")
_SYMBOLS = "\\u0123456789abcdefABCDEF" + "".join(map(chr, range(0x7F, 0xA0))) + "\u2028\u2029\ufffe\uffff"
_FIRST, _LAST = 0x100000, 0x10FFFD


class StandIns:
    """What stands for what in one text."""

    def __init__(self, first: int) -> None:
        private = "".join(chr(first + offset) for offset in range(len(_SYMBOLS)))
        self._to = str.maketrans(_SYMBOLS, private)
        self._back = str.maketrans(private, _SYMBOLS)
        self._any = re.compile(f"[{private[0]}-{private[-1]}]")
        self._pair = re.compile(f"{private[0]}.{{11}}")  # a backslash is hidden only where a pair begins

    def hide(self, text: str) -> str:
        """The text with stand-ins."""
        return _HIDDEN.sub(lambda found: found[0].translate(self._to), text)

    def restore(self, root: Node) -> list[tuple[int, int]]:
        """Put the originals back below `root`; where the quoted scalars that got some begin and end in the text."""
        seen: set[int] = set()
        stack: list[Node] = [root]
        quoted: list[tuple[int, int]] = []
        while stack:
            node = stack.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            if isinstance(node, CollectionNode):
                for item in node.value:
                    stack.extend(item if isinstance(item, tuple) else (item,))
            elif isinstance(node, ScalarNode) and self._any.search(node.value):
                node.value = self._restored(node)
                if node.style in ("'", '"'):
                    quoted.append((node.start_mark.index, node.end_mark.index))
        return quoted

    def _restored(self, node: ScalarNode) -> str:
        text: str = node.value
        if node.style == '"':
            text = self._pair.sub(lambda found: _character(found[0].translate(self._back)), text)
        return text.translate(self._back)


def _character(pair: str) -> str:
    """The character that two escapes stand for."""
    high, low = int(pair[2:6], 16), int(pair[8:], 16)
    return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))


def hidden(text: str) -> tuple[str, StandIns | None]:
    """The text as libyaml can read it, and how to get its own characters back; None when nothing had to be done."""
    if (text.isascii() and "\\u" not in text and "\x7f" not in text) or _HIDDEN.search(text) is None:
        return text, None
    used = {ord(char) for char in set(text) if char >= chr(_FIRST)}
    for first in range(_FIRST, _LAST - len(_SYMBOLS), len(_SYMBOLS)):
        if used.isdisjoint(range(first, first + len(_SYMBOLS))):
            stand_ins = StandIns(first)
            return stand_ins.hide(text), stand_ins
    return text, None


def unquoted(text: str, quoted: list[tuple[int, int]]) -> int | None:
    """Where in the text the first character is that only quotes may hold and that no scalar in `quoted` holds."""
    quoted = sorted(quoted)
    for found in _QUOTED_ONLY.finditer(text):
        before = bisect_right(quoted, (found.start(), len(text))) - 1
        if before < 0 or quoted[before][1] <= found.start():
            return found.start()
    return None
