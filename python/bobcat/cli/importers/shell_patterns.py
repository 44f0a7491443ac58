"""Patterns for shell commands: narrow ones for permissions, wide ones for restrictions.

A permission matches the whole command, of characters that no shell treats specially. A restriction matches its words
anywhere in the command: behind operators, wrappers and variables, as an argument of another program, and with quotes or
backslashes inside of the words, because hosts look through these.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

Match = dict[str, Any]  # Any: JSON

_SAFE = "[A-Za-z0-9_ ./:=@%+,-]"
"""Characters without a meaning to a shell."""
_SAFE_WORD = re.compile(r"[A-Za-z0-9_./:=@%+,-]+")
_QUOTES = r"""['"\\]*"""
_BETWEEN = r"""['"\\\s]+"""
_BEGIN = "(^|[^A-Za-z0-9_-])"
_END = "($|[^A-Za-z0-9_-])"
_EXPANDS = "[$`{*?\\[]"
COMMAND = "args.command"

NARROWED = "as a whole command of plain words only: no operator, quote, redirection or variable"
WIDENED = "wherever these words stand in the command, also as arguments of another program"


def shell_words(text: str) -> list[str]:
    """Split at the white space of shells."""
    return [word for word in re.split(r"[ \t\r\n]+", text) if word]


def is_plain(text: str) -> bool:
    """Return true if a command needs no shell: words of safe characters."""
    return bool(text.strip()) and all(_SAFE_WORD.fullmatch(word) for word in shell_words(text))


def exactly(command: str) -> Match | None:
    """Match this command alone; None for one with operators, whose parts a host permits one by one."""
    if not set(command).isdisjoint(";&|<>()`$\r\n"):
        return None
    return {f"{COMMAND}.eq": command}


def permitted_words(words: Sequence[str | Sequence[str]]) -> Match | None:
    """Match a command that begins with these words; a list holds alternatives. None: the words need quotes."""
    parts = []
    for word in words:
        choices = [word] if isinstance(word, str) else list(word)
        if not choices or not all(_SAFE_WORD.fullmatch(choice) for choice in choices):
            return None
        parts.append(_choice([re.escape(choice) for choice in choices]))
    return {f"{COMMAND}.matches": f"^{' +'.join(parts)}( {_SAFE}*)?$"}


def permitted_wildcard(text: str) -> Match | None:
    """Match a command with `*` for any safe characters; None: the rest needs quotes."""
    parts = text.split("*")
    if text.startswith("*"):  # it could stand for an assignment of a variable that loads code
        return None
    if not all(re.fullmatch(f"{_SAFE}*", part) for part in parts) or not text.strip("* "):
        return None
    return {f"{COMMAND}.matches": f"^{(_SAFE + '*').join(map(re.escape, parts))}$"}


def restricted_words(words: Sequence[str | Sequence[str]]) -> Match:
    """Match a command with these words next to each other; or with the first of them and a variable."""
    choices = [[word] if isinstance(word, str) else list(word) for word in words]
    parts = [_choice([_loose(choice) for choice in each]) for each in choices]
    adjacent = f"{_BEGIN}{_BETWEEN.join(parts)}{_END}"
    return _or_expanded(adjacent, parts[0], more=len(parts) > 1)


def restricted_wildcard(text: str) -> Match:
    """Match a command with the parts of `text` in this order, and anything for each `*`."""
    begin = "" if text.startswith("*") or not text[:1].isalnum() else _BEGIN
    bounded = text.endswith(" *")
    body = text.removesuffix(" *") if bounded else text
    end = _END if bounded or (body and not body.endswith("*")) else ""
    pieces = [_BETWEEN.join(map(_loose, shell_words(piece))) for piece in body.split("*")]
    pattern = f"(?s){begin}{'.*'.join(pieces)}{end}"
    first = shell_words(body.split("*")[0])
    return _or_expanded(pattern, _loose(first[0]) if first else "", more=bool(first) and len(shell_words(body)) > 1)


def restricted_text(text: str) -> Match:
    """Match a command that holds `text`, quoted or not."""
    return {f"{COMMAND}.matches": _BETWEEN.join(map(_loose, shell_words(text)))}


def restricted_regex(pattern: str) -> Match:
    """Match a command with a part that matches a plain pattern."""
    return {f"{COMMAND}.matches": pattern}


def without_expansion() -> Match:
    """Match a command without variables and substitutions, which could hide the word of a restriction."""
    return {"not": {f"{COMMAND}.matches": "[$`\\\\{]"}}


def without_redirection() -> Match:
    """Match a command without redirections and substitutions."""
    return {"not": {f"{COMMAND}.matches": "[<>`$\\\\]"}}


def safe_regex(pattern: str) -> Match:
    """Match a command of safe characters that begins as the pattern says."""
    clauses = [{f"{COMMAND}.matches": f"^(?:{pattern})"}, {f"{COMMAND}.matches": f"^{_SAFE}*$"}]
    return {"all_of": clauses}


def _or_expanded(pattern: str, first: str, *, more: bool) -> Match:
    plain = {f"{COMMAND}.matches": pattern}
    if not more or not first:
        return plain
    hidden = {
        "all_of": [{f"{COMMAND}.matches": f"{_BEGIN}{first}{_END}"}, {f"{COMMAND}.matches": _EXPANDS}],
    }
    return {"any_of": [plain, hidden]}


def _loose(word: str) -> str:
    """Return a pattern of a word with quotes and backslashes anywhere in it."""
    return _QUOTES + _QUOTES.join(map(re.escape, word)) + _QUOTES if word else ""


def _choice(patterns: Sequence[str]) -> str:
    return patterns[0] if len(patterns) == 1 else f"({'|'.join(patterns)})"
