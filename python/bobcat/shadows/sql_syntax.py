"""Tokenization of SQL statements: comments dropped, strings and quoted names kept whole.

Dialects disagree about backslashes in strings; a parser with the wrong dialect takes text for code, or the other way
round. `statements` therefore takes the dialect, and a careful caller parses the text with both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

TokenKind = Literal["word", "name", "string", "number", "mark"]

_TOKEN = r"""
    (?P<skipped> \s+ | --[^\n]* | /\*!\d* | \*/ | /\*.*?(?:\*/|\Z) )  # MySQL runs the content of /*! comments
  | (?P<string> '(?: '' | %s [^'\\] )*+ '? | (?P<tag>\$(?:[A-Za-z_]\w*)?\$) .*? (?:(?P=tag)|\Z) )
  | (?P<name> "[^"]*" | `[^`]*` )
  | (?P<word> [^\W\d]\w* )
  | (?P<number> \d+(?:\.\d+)? )
  | (?P<mark> . )
"""
_STANDARD = re.compile(_TOKEN % r"\\ |", re.VERBOSE | re.DOTALL)
_BACKSLASHED = re.compile(_TOKEN % r"\\.? |", re.VERBOSE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Token:
    """One token. `text` is upper case for words; `depth` is the number of open parentheses around it."""

    kind: TokenKind
    text: str
    depth: int
    spelling: str = ""


def statements(sql: str, *, backslash_escapes: bool) -> list[list[Token]]:
    """Split `sql` into statements, without semicolons and empty statements."""
    found: list[list[Token]] = [[]]
    for token in _tokens(sql, backslash_escapes):
        if token.kind == "mark" and token.text == ";":
            found.append([])
        else:
            found[-1].append(token)
    return [statement for statement in found if statement]


def _tokens(sql: str, backslash_escapes: bool) -> list[Token]:
    """Comments are skipped without nesting: standard SQL nests them, so less is skipped, never more."""
    pattern = _BACKSLASHED if backslash_escapes else _STANDARD
    found: list[Token] = []
    at, depth = 0, 0
    while at < len(sql) and (token := pattern.match(sql, at)) is not None:
        kind, text, at = token.lastgroup, token.group(), token.end()
        if kind == "mark" and text == "[" and (close := sql.find("]", at)) > 0:
            kind, text, at = "name", sql[at - 1 : close + 1], close + 1
        match kind:
            case "string" | "number":
                found.append(Token(kind, text, depth))
            case "word":
                found.append(Token("word", text.upper(), depth, text))
            case "name":
                found.append(Token("name", text[1:-1], depth, text[1:-1]))
            case "mark":
                depth = max(0, depth - (text == ")"))
                found.append(Token("mark", text, depth))
                depth += text == "("
    return found
