"""Translation of globs to patterns of the strict dialect, anchored at both ends.

    *       any characters but `/`            ?        one character that is not `/`
    **      any characters                    [abc]    one of these; ranges; `[!abc]` for none of these, `/` never
    **/     any number of whole directories, none included, at the start or after a `/`
    \\x      the character x itself            {a,b}    either; may be nested

Every other character matches itself; matching is case-sensitive, a leading dot is not special.
"""

from __future__ import annotations

_PLAIN = frozenset("-_/ ,:;@%&='\"!~`<>#")
MAX_BRACES = 8
"""Nesting depth of braces."""


class GlobError(ValueError):
    """The text is not a valid glob; the message gives the reason."""


def to_pattern(text: str) -> str:
    """Return the pattern equivalent to a glob. Raises `GlobError`."""
    reader = _GlobReader(text)
    body = reader.sequence(0, starts=True)
    flags = "(?s)" if "." in reader.used else ""
    return f"{flags}^{body}$"


class _GlobReader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.used: set[str] = set()

    def sequence(self, depth: int, *, starts: bool) -> str:
        """Translate up to the end, or to the `,` or `}` that ends an alternative. `starts`: a directory may start
        here.
        """
        parts: list[str] = []
        while self._at < len(self._text):
            char = self._text[self._at]
            if depth and char in ",}":
                break
            self._at += 1
            parts.append(self._one(char, depth, starts=starts))
            starts = self._text[self._at - 1] == "/"
        return "".join(parts)

    def _one(self, char: str, depth: int, *, starts: bool) -> str:
        match char:
            case "*":
                return self._stars(starts=starts)
            case "?":
                return "[^/]"
            case "[":
                return self._class()
            case "{":
                return self._alternatives(depth + 1, starts=starts)
            case "}":
                raise GlobError("a `}` has no matching `{`; write `\\}` for the character")
            case "\\":
                if self._at == len(self._text):
                    raise GlobError("it ends with a backslash")
                self._at += 1
                return _literal(self._text[self._at - 1])
            case _:
                return _literal(char)

    def _stars(self, *, starts: bool) -> str:
        start = self._at - 1
        while self._text[self._at : self._at + 1] == "*":
            self._at += 1
        if self._at - start == 1:
            return "[^/]*"
        self.used.add(".")
        if starts and self._text[self._at : self._at + 1] == "/":
            self._at += 1
            return "(?:.*/)?"
        return ".*"

    def _alternatives(self, depth: int, *, starts: bool) -> str:
        if depth > MAX_BRACES:
            raise GlobError(f"its braces are nested more than {MAX_BRACES} levels deep")
        found = [self.sequence(depth, starts=starts)]
        while self._text[self._at : self._at + 1] == ",":
            self._at += 1
            found.append(self.sequence(depth, starts=starts))
        if self._text[self._at : self._at + 1] != "}":
            raise GlobError("a `{` is not closed; write `\\{` for the character")
        self._at += 1
        return f"(?:{'|'.join(found)})"

    def _class(self) -> str:
        negated = self._text[self._at : self._at + 1] in ("!", "^")
        if negated:
            self._at += 1
        ranges: list[tuple[str, str]] = []
        first = True
        while True:
            char = self._class_character()
            if char == "]" and not first and self._text[self._at - 1] == "]" and not self._escaped:
                break
            first = False
            high = char
            if self._text[self._at : self._at + 1] == "-" and self._text[self._at + 1 : self._at + 2] not in ("", "]"):
                self._at += 1
                high = self._class_character()
                if high < char:
                    raise GlobError(f"the range `{char}-{high}` is empty")
            ranges.append((char, high))
        return _class_pattern(ranges, negated=negated)

    def _class_character(self) -> str:
        char = self._text[self._at : self._at + 1]
        self._escaped = char == "\\"
        if self._escaped:
            self._at += 1
            char = self._text[self._at : self._at + 1]
        if not char:
            raise GlobError("a `[` is not closed; write `\\[` for the character")
        self._at += 1
        return char


def _class_pattern(ranges: list[tuple[str, str]], *, negated: bool) -> str:
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
