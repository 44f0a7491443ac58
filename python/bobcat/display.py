"""Untrusted text for terminals, pages, logs and prompts: the one place that makes it safe to show.

Everything that a model, a tool, a server, a store or a policy wrote passes through here before a person reads it, so
that it cannot move the cursor, forge a line, reorder what is read or hide a part of it. Structured output (JSON)
escapes by itself and does not need this module. Nothing here enters a digest, a journal or a decision.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from bobcat.plain_json import any_json_text, show

_UNSAFE_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_ALPHABETS = frozenset(("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC", "FULLWIDTH", "MATHEMATICAL"))
"""Alphabets with letters that look like those of another one. Japanese or Korean beside Latin is ordinary text."""
_WORD = re.compile(r"\w+")
_MIXED = " [mixed scripts]"


def safe_text(value: object, *, multiline: bool = False, limit: int | None = None) -> str:
    """`value` as text that is safe to show: control, bidi and invisible characters are written as escapes.

    Newlines are escaped too unless `multiline`. A word that mixes alphabets which look alike is followed by
    `[mixed scripts]`. With a `limit` in characters, a longer text is cut, and says by how many characters.
    """
    text = value if type(value) is str else show(value)
    cut = ""
    if limit is not None and len(text) > limit:
        cut = f"... [{len(text) - limit:,} more characters]"
        text = text[:limit]
    if text.isascii() and text.isprintable():
        return text + cut
    if multiline:
        return "\n".join(map(_safe_line, text.split("\n"))) + cut
    return _safe_line(text) + cut


def safe_json(value: Any, *, limit: int | None = None) -> str:  # Any: every value has a text
    """`value` as one line of JSON that is safe to show; letters of all alphabets stay readable."""
    try:
        text = json.dumps(json.loads(any_json_text(value)), ensure_ascii=False)
    except (ValueError, RecursionError):
        text = any_json_text(value)
    return safe_text(text, limit=limit)


def safe_args(args: Mapping[str, Any], *, indent: str = "  ", limit: int | None = None) -> list[str]:
    """The arguments of a call, one safe line each: `name: JSON`. `limit` is per argument, in characters."""
    return [f"{indent}{safe_text(name)}: {safe_json(value, limit=limit)}" for name, value in args.items()]


def _safe_line(text: str) -> str:
    text = "".join(map(_safe_character, text))
    return text if text.isascii() else _WORD.sub(_marked, text)


def _safe_character(character: str) -> str:
    if " " <= character <= "~":
        return character
    if unicodedata.category(character) not in _UNSAFE_CATEGORIES:
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _marked(match: re.Match[str]) -> str:
    word = match[0]
    if word.isascii():
        return word
    alphabets = {unicodedata.name(letter, "").partition(" ")[0] for letter in word if letter.isalpha()}
    return word + _MIXED if len(alphabets & _ALPHABETS) > 1 else word
