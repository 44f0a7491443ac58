"""Globs of Python's `fnmatch` as patterns of RE2: `*` and `**` cross `/`, and case counts as on POSIX systems."""

from __future__ import annotations

import re

_MEMBER = re.compile(r"(.)-(.)|(.)", re.DOTALL)
_WILD = re.compile(r"[*?\[]")


class EmptySet(ValueError):
    """A glob that matches nothing."""


def literal_prefix(glob: str) -> str:
    """Return the text in front of the first wildcard."""
    found = _WILD.search(glob)
    return glob[: found.start()] if found else glob


def is_literal(glob: str) -> bool:
    """Return true if a glob has no wildcard."""
    return _WILD.search(glob) is None


def pattern_of(glob: str, *, star: str = ".*") -> str:
    """Return the pattern of the texts that a glob matches; `star` is what `*` stands for. Raises `EmptySet`."""
    parts: list[str] = []
    at = 0
    while at < len(glob):
        char, at = glob[at], at + 1
        if char == "*":
            if parts[-1:] != [star]:
                parts.append(star)
        elif char == "?":
            parts.append(".")
        elif char == "[" and (end := _closing(glob, at)) is not None:
            parts.append(_members(glob[at:end]))
            at = end + 1
        else:
            parts.append(_literal(char))
    return f"(?s)^{''.join(parts)}$"


def _literal(char: str) -> str:
    """Return the pattern of a character."""
    return char if char in "/_-: @=&%,;" else "[.]" if char == "." else _member(char)


def _member(char: str) -> str:
    """Return a character in a class."""
    return char if char.isalnum() or ord(char) > 127 else f"\\x{ord(char):02x}"


def _closing(glob: str, at: int) -> int | None:
    """Return the index of the bracket that ends the set from `at` on."""
    start = at + (glob[at : at + 1] == "!")
    found = glob.find("]", start + (glob[start : start + 1] == "]"))
    return found if found >= 0 else None


def _members(text: str) -> str:
    """Return the class of a set. A range from a greater to a lesser character is empty."""
    negated = text.startswith("!")
    parts = []
    for low, high, one in _MEMBER.findall(text[negated:]):
        if one or low <= high:
            parts.append(_member(one) if one else f"{_member(low)}-{_member(high)}")
    if not parts and not negated:
        raise EmptySet("a set in brackets is empty")
    return f"[{'^' if negated else ''}{''.join(parts)}]" if parts else "."
