"""Tokenization of SQL statements: comments dropped, strings and quoted names kept whole.

Dialects disagree about backslashes in strings; a parser with the wrong dialect takes text for code, or the other way
round. `statements` therefore takes the dialect, and a careful caller parses the text with both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

TokenKind = Literal["word", "name", "string", "number", "mark"]

_DOLLAR = re.compile(r"\$(?:[A-Za-z_]\w*)?\$")
_WORD = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_CLOSERS = {'"': '"', "`": "`", "[": "]"}


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
    found: list[Token] = []
    at, depth = 0, 0
    while at < len(sql):
        char = sql[at]
        if char.isspace():
            at += 1
        elif sql.startswith("--", at):
            at = _line_end(sql, at)
        elif sql.startswith("/*!", at):  # MySQL runs the content of such comments
            at += 3
            while at < len(sql) and sql[at].isdigit():
                at += 1
        elif sql.startswith("*/", at):
            at += 2
        elif sql.startswith("/*", at):
            at = _comment_end(sql, at)
        elif char == "'":
            end = _string_end(sql, at, backslash_escapes)
            found.append(Token("string", sql[at:end], depth))
            at = end
        elif char in _CLOSERS and (close := sql.find(_CLOSERS[char], at + 1)) > 0:
            found.append(Token("name", sql[at + 1 : close], depth, sql[at + 1 : close]))
            at = close + 1
        elif char == "$" and (opening := _DOLLAR.match(sql, at)):
            close = sql.find(opening.group(), opening.end())
            end = len(sql) if close < 0 else close + len(opening.group())
            found.append(Token("string", sql[at:end], depth))
            at = end
        elif word := _WORD.match(sql, at):
            found.append(Token("word", word.group().upper(), depth, word.group()))
            at = word.end()
        elif number := _NUMBER.match(sql, at):
            found.append(Token("number", number.group(), depth))
            at = number.end()
        else:
            depth = max(0, depth - (char == ")"))
            found.append(Token("mark", char, depth))
            depth += char == "("
            at += 1
    return found


def _line_end(sql: str, at: int) -> int:
    end = sql.find("\n", at)
    return len(sql) if end < 0 else end + 1


def _comment_end(sql: str, at: int) -> int:
    """Return the index after a block comment. Comments nest in the standard; without nesting, less is skipped, never
    more.
    """
    end = sql.find("*/", at + 2)
    return len(sql) if end < 0 else end + 2


def _string_end(sql: str, at: int, backslash_escapes: bool) -> int:
    at += 1
    while at < len(sql):
        if backslash_escapes and sql[at] == "\\":
            at += 2
        elif sql[at] != "'":
            at += 1
        elif sql.startswith("''", at):
            at += 2
        else:
            return at + 1
    return len(sql)
