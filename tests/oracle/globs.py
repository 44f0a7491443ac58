"""Globs, matched slowly, by the words of `docs/reference/policy-language.md`: every way to split the text is tried."""

from __future__ import annotations

from collections.abc import Iterator

_OPENED, _CLOSED = "\1", "\2"  # where a brace stood: stars on both sides of one are two


def matches(glob: str, text: str) -> bool:
    """Match a well-formed glob against the whole text."""
    return any(_matches(plain, 0, text) for plain in _expanded(glob))


def _expanded(glob: str) -> Iterator[str]:
    """The globs without braces that a glob is short for."""
    start = _find(glob, "{", 0)
    if start is None:
        yield glob
        return
    depth, part, parts, at = 0, start + 1, [], start
    while True:
        char = glob[at]
        if char == "\\":
            at += 2
            continue
        if char == "[":
            at = _after_brackets(glob, at)
            continue
        if char == "{":
            depth += 1
        if char == "," and depth == 1:
            parts.append(glob[part:at])
            part = at + 1
        if char == "}":
            depth -= 1
            if depth == 0:
                parts.append(glob[part:at])
                break
        at += 1
    for item in parts:
        yield from _expanded(glob[:start] + _OPENED + item + _CLOSED + glob[at + 1 :])


def _find(glob: str, wanted: str, at: int) -> int | None:
    while at < len(glob):
        if glob[at] == wanted:
            return at
        at = at + 2 if glob[at] == "\\" else _after_brackets(glob, at) if glob[at] == "[" else at + 1
    return None


def _after_brackets(glob: str, at: int) -> int:
    at += 1
    at += glob[at] in "!^"
    first = True
    while glob[at] != "]" or first:
        first = False
        at += 2 if glob[at] == "\\" else 1
    return at + 1


def _matches(glob: str, at: int, text: str) -> bool:
    if at == len(glob):
        return text == ""
    char = glob[at]
    if char in (_OPENED, _CLOSED):
        return _matches(glob, at + 1, text)
    if char == "*":
        end = at
        while glob[end : end + 1] == "*":
            end += 1
        before = glob[:at].rstrip(_OPENED)
        if end - at > 1 and glob[end : end + 1] == "/" and (before == "" or before[-1] == "/"):
            if _matches(glob, end + 1, text):
                return True
            return any(_matches(glob, end + 1, text[cut:]) for cut in range(1, len(text) + 1) if text[cut - 1] == "/")
        for cut in range(len(text) + 1):
            if end - at == 1 and "/" in text[:cut]:
                return False
            if _matches(glob, end, text[cut:]):
                return True
        return False
    if not text:
        return False
    if char == "?":
        return text[0] != "/" and _matches(glob, at + 1, text[1:])
    if char == "[":
        end = _after_brackets(glob, at)
        return text[0] != "/" and _in_brackets(glob[at + 1 : end - 1], text[0]) and _matches(glob, end, text[1:])
    if char == "\\":
        at += 1
    return glob[at] == text[0] and _matches(glob, at + 1, text[1:])


def _in_brackets(body: str, char: str) -> bool:
    negated = body[:1] in ("!", "^")
    characters: list[tuple[str, bool]] = []
    at = int(negated)
    while at < len(body):
        escaped = body[at] == "\\"
        at += escaped
        characters.append((body[at], escaped))
        at += 1
    found = False
    at = 0
    while at < len(characters):
        low = characters[at][0]
        if at + 2 < len(characters) and characters[at + 1] == ("-", False):
            found = found or low <= char <= characters[at + 2][0]
            at += 3
        else:
            found = found or low == char
            at += 1
    return found is not negated
