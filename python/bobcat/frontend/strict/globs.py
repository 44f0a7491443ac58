"""Translation of globs to patterns of the strict dialect, anchored at both ends.

    *       any characters but `/`            ?        one character that is not `/`
    **      any characters                    [abc]    one of these; ranges; `[!abc]` for none of these, `/` never
    **/     any number of whole directories, none included, at the start or after a `/`
    \\x      the character x itself            {a,b}    either; may be nested

Every other character matches itself; matching is case-sensitive, a leading dot is not special.
"""

from __future__ import annotations

import re

_PLAIN = frozenset("-_/ ,:;@%&='\"!~`<>#")
MAX_BRACES = 8
"""Nesting depth of braces."""


class GlobError(ValueError):
    """The text is not a valid glob; the message gives the reason."""


_TOKEN = re.compile(
    r"(?P<stars>\*\*+/?)|(?P<star>\*)|(?P<any>\?)|\[(?P<negated>[!^]?+)(?P<set>(?:\\.|[^\\])(?:\\.|[^\\\]])*)\]"
    r"|\\(?P<escaped>.)|(?P<other>.)",
    re.DOTALL,
)
_MEMBER = re.compile(r"(\\.|.)(?:-(\\.|.))?", re.DOTALL)


def to_pattern(text: str) -> str:
    """Return the pattern equivalent to a glob. Raises `GlobError`."""
    parts: list[str] = []
    starts = True  # a directory may start here
    outside: list[bool] = []  # the same at each open brace
    for token in _TOKEN.finditer(text):
        before, starts = starts, token[0].endswith("/")
        match token.lastgroup:
            case "stars" if token[0].endswith("/"):
                parts.append("(?:.*/)?" if before else ".*/")
            case "stars":
                parts.append(".*")
            case "star":
                parts.append("[^/]*")
            case "any":
                parts.append("[^/]")
            case "set":
                parts.append(_class_pattern(token["set"], negated=bool(token["negated"])))
            case "escaped":
                parts.append(_literal(token["escaped"]))
            case _ if token[0] == "{":
                if len(outside) == MAX_BRACES:
                    raise GlobError(f"its braces are nested more than {MAX_BRACES} levels deep")
                parts.append("(?:")
                outside.append(before)
                starts = before
            case _ if token[0] == "," and outside:
                parts.append("|")
                starts = outside[-1]
            case _ if token[0] == "}" and outside:
                parts.append(")")
                outside.pop()
            case _:
                parts.append(_plain(token[0]))
    if outside:
        raise GlobError("a `{` is not closed; write `\\{` for the character")
    flags = "(?s)" if any(part.startswith((".*", "(?:.*")) for part in parts) else ""
    return f"{flags}^{''.join(parts)}$"


def _plain(char: str) -> str:
    match char:
        case "}":
            raise GlobError("a `}` has no matching `{`; write `\\}` for the character")
        case "[":
            raise GlobError("a `[` is not closed; write `\\[` for the character")
        case "\\":
            raise GlobError("it ends with a backslash")
        case _:
            return _literal(char)


def _class_pattern(members: str, *, negated: bool) -> str:
    ranges = [(low[-1], (high or low)[-1]) for low, high in _MEMBER.findall(members)]
    for low, high in ranges:
        if high < low:
            raise GlobError(f"the range `{low}-{high}` is empty")
    if negated:
        return f"[^/{''.join(_range(low, high) for low, high in ranges)}]"
    parts = [part for low, high in ranges for part in _around_slash(low, high)]
    if not parts:
        raise GlobError("brackets never match `/`")
    return f"[{''.join(_range(low, high) for low, high in parts)}]"


def _around_slash(low: str, high: str) -> list[tuple[str, str]]:
    """Return a character range without `/`."""
    if not low <= "/" <= high:
        return [(low, high)]
    parts = [(low, "."), ("0", high)]
    return [(first, last) for first, last in parts if first <= last]


def _range(low: str, high: str) -> str:
    return _escaped(low) if low == high else f"{_escaped(low)}-{_escaped(high)}"


def _escaped(char: str) -> str:
    return f"\\{char}" if char.isascii() and not char.isalnum() and char.isprintable() and char != " " else char


def _literal(char: str) -> str:
    return char if char in _PLAIN else _escaped(char)
