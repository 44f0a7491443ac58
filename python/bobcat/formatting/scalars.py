"""Scalars in one spelling: quotes, block scalars with their indentation, and texts that went over several lines."""

from __future__ import annotations

import json
import re

from bobcat.formatting.tree import Value

STEP = 2
"""Spaces of one level."""
_HEADER = re.compile(r"[|>](?P<marks>[-+0-9]*)[ \t]*(?P<comment>#.*)?")
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def inline(value: Value) -> str:
    """Return a scalar or an alias as it stands in a line."""
    if value.kind == "alias":
        return f"*{value.text}"
    anchor = f"&{value.anchor} " if value.anchor else ""
    if value.style in ("'", '"'):
        return anchor + _quoted(value)
    if "\n" not in value.source:
        return (anchor + value.source).rstrip()
    return anchor + (_escaped(value.text) if "\n" in value.text else value.text)


def _quoted(value: Value) -> str:
    text = value.text
    spelled = value.style == '"' and "\\" in value.source and not text.isascii()  # the author shows what is in it
    if spelled or not text.isprintable():
        return value.source if "\n" not in value.source else _escaped(text)
    if '"' not in text and "\\" not in text:
        return f'"{text}"'
    return "'" + text.replace("'", "''") + "'"


def _escaped(text: str) -> str:
    """Return a text between double quotes, in one line."""
    quoted = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def is_block(value: Value) -> bool:
    """Return true for a block scalar."""
    return value.kind == "scalar" and value.style in ("|", ">")


def keeps_lines(value: Value) -> bool:
    """Return true if empty lines below a value are part of it."""
    return is_block(value) and "+" in value.source.partition("\n")[0]


def block_lines(value: Value, indent: int) -> tuple[str, str, list[str]]:
    """Return the header of a block scalar, the comment behind it, and its lines; `indent` is that of the entry."""
    first, *lines = value.source.split("\n")
    header = _HEADER.match(first)
    marks, comment = (header["marks"], header["comment"] or "") if header is not None else ("", "")
    while lines and not lines[-1].strip() and "+" not in marks:
        lines.pop()
    if "+" in marks and lines and not lines[-1].strip(" "):
        lines.pop()  # the end of the last line
    inner = _indentation(value, lines)
    own = [line[inner:] if line.strip(" ") or len(line) > inner else "" for line in lines]
    spaced = any(character.isdigit() for character in marks) or _first_text(own).startswith(" ")
    chomping = "".join(character for character in marks if character in "+-")
    anchor = f"&{value.anchor} " if value.anchor else ""
    head = f"{anchor}{value.style}{STEP if spaced else ''}{chomping}"
    return head, comment.rstrip(), [f"{' ' * (indent + STEP)}{line}" if line else "" for line in own]


def _indentation(value: Value, lines: list[str]) -> int:
    """Return the number of spaces that are no part of the text."""
    line = next((line for line in lines if line.strip(" ")), "")
    known = next((part for part in value.text.split("\n") if part.strip(" ")), "")
    return (len(line) - len(line.lstrip(" "))) - (len(known) - len(known.lstrip(" ")))


def _first_text(lines: list[str]) -> str:
    return next((line for line in lines if line), "")
