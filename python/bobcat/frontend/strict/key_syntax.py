"""Syntax of keys: parse segments between dots and quoted segments in brackets, and write them."""

from __future__ import annotations

import re
from typing import NamedTuple

from bobcat._core import is_printable
from bobcat.frontend.strict.vocabulary import not_an_operator
from bobcat.language.facets import FACETS
from bobcat.language.operators import NESTING, OPERATORS

MAX_STEPS = 64
"""Steps of one key, its head and its operator included."""

_QUOTED = re.compile(r"""\[(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\]""")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)


class Segment(NamedTuple):
    """One step of a key. A quoted step is never an operator."""

    text: str
    quoted: bool


class KeySyntaxError(ValueError):
    """Invalid syntax of a key; the message gives the reason."""


def split(text: str) -> list[Segment]:
    """Split a key into segments, with quoted ones unescaped. Raises `KeySyntaxError` with the problem."""
    if not is_printable(text):
        raise KeySyntaxError("it holds an invisible character; write it as `\\uXXXX` in brackets")
    segments = [_bare(part) for part in text.split(".")] if "[" not in text else _bracketed(text)
    if len(segments) > MAX_STEPS:
        raise KeySyntaxError(f"it has more than {MAX_STEPS} steps")
    return segments


def _bracketed(text: str) -> list[Segment]:
    segments: list[Segment] = []
    position = 0
    while position < len(text):
        if text[position] == "[":
            quoted = _QUOTED.match(text, position)
            if quoted is None:
                raise KeySyntaxError('brackets hold one quoted name, like `["in"]`; a list cannot be indexed')
            if not segments:
                raise KeySyntaxError("it begins with a bracket")
            segments.append(Segment(_unescape(quoted[1] if quoted[1] is not None else quoted[2]), True))
            position = quoted.end()
            if position < len(text) and text[position] not in ".[":
                raise KeySyntaxError("a dot or a bracket must follow a bracket")
            continue
        if segments:
            position += 1  # the dot after a segment
        end = next((i for i in range(position, len(text)) if text[i] in ".["), len(text))
        segments.append(_bare(text[position:end]))
        position = end
        if text[position : position + 1] == "." and position + 1 == len(text):
            raise KeySyntaxError("it ends with a dot")
    return segments


def _bare(part: str) -> Segment:
    if not part:
        raise KeySyntaxError("it has an empty part")
    if part != part.strip():
        raise KeySyntaxError("it has a space beside a dot")
    return Segment(part, False)


def _unescape(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        escape = found[1]
        if escape in ('"', "'", "\\"):
            return escape
        if escape[0] == "u" and len(escape) == 5:
            code = int(escape[1:], 16)
            if not 0xD800 <= code <= 0xDFFF:
                return chr(code)
            raise KeySyntaxError(f"`\\{escape}` is a lone surrogate; write the character itself")
        raise KeySyntaxError(f"`\\{escape}` is not an escape")

    return _ESCAPE.sub(one, text)


def written(head: str, path: tuple[str, ...], op: str | None = None) -> str:
    """Return the key of a path and an operator, with quotes where needed."""
    parts = [head]
    for index, step in enumerate(path):
        last = index == len(path) - 1 and op is None
        ordinary = is_printable(step) and step == step.strip() and step and not re.search(r"[.\[\]]", step)
        making = index > 0 and (step in NESTING or (step in FACETS and (index + 1 < len(path) or op)))
        if ordinary and not making and not (last and (step in OPERATORS or (len(path) > 1 and not_an_operator(step)))):
            parts.append(f".{step}")
        else:
            parts.append(segment_text(step))
    return "".join(parts) + (f".{op}" if op else "")


def segment_text(step: str) -> str:
    """Return a quoted segment."""
    return f'["{"".join(_escaped(char) for char in step)}"]'


def _escaped(char: str) -> str:
    if char in ('"', "\\"):
        return f"\\{char}"
    return char if is_printable(char) or ord(char) > 0xFFFF else f"\\u{ord(char):04x}"
