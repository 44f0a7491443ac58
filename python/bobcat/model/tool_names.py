"""Tool names: policies match them and people approve them, so they must not contain deceptive characters.

Called when a tool is defined and when a set of tools is built.
"""

from __future__ import annotations

import unicodedata

_UNSAFE_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
_VARIATIONS = (("\u180b", "\u180f"), ("\ufe00", "\ufe0f"), ("\U000e0100", "\U000e01ef"))


def check_tool_name(name: object) -> None:
    """Raise `ValueError` for a name with control, bidi or invisible characters, newlines or lone surrogates."""
    if not isinstance(name, str) or (str.isascii(name) and str.isprintable(name)):
        return
    for character in str.__str__(name):
        if _is_unsafe(character):
            escaped = ascii(str.__str__(name))
            raise ValueError(f"the tool name {escaped} has a control or invisible character, U+{ord(character):04X}")


def _is_unsafe(character: str) -> bool:
    return (
        unicodedata.category(character) in _UNSAFE_CATEGORIES
        or character in _INVISIBLE
        or any(first <= character <= last for first, last in _VARIATIONS)
    )
