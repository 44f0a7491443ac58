"""Selection of cases: expressions over names as `-k` takes them, and tags."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import TypeAlias

from bobcat.testing.suites.model import Case

Selector: TypeAlias = Callable[[str], bool]
_TOKEN = re.compile(r"""\s*(?:(?P<sign>[()])|"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<word>[^\s()"']+))""")
_WORDS = ("and", "or", "not")


class BadExpression(ValueError):
    """An expression that cannot be read."""


def selector(expression: str) -> Selector:
    """Return the test of an expression: words, `and`, `or`, `not` and parentheses. A word is a part of the name, in any
    case; a phrase in quotes has spaces. Raises `BadExpression`.
    """
    return _Parser(expression).parse()


def is_selected(case: Case, file: str, select: Selector | None, tags: Collection[str]) -> bool:
    """Return true if a case is selected by an expression about `FILE::NAME`, and has one of the tags, if any."""
    if tags and not any(tag in tags for tag in case.tags):
        return False
    return select is None or select(f"{file}::{case.name}".casefold())


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, bool]] = []
        end = 0
        while found := _TOKEN.match(text, end):
            quoted = found["double"] if found["double"] is not None else found["single"]
            self._tokens.append((quoted, True) if quoted is not None else (found["sign"] or found["word"], False))
            end = found.end()
        if text[end:].strip():
            raise BadExpression("a quote is not closed")
        if not self._tokens:
            raise BadExpression("it is empty")
        self._at = 0

    def parse(self) -> Selector:
        found = self._any()
        if self._at < len(self._tokens):
            token = self._tokens[self._at][0]
            problem = (
                "a parenthesis is closed that is not open"
                if token == ")"
                else f"`{token}` follows without `and` or `or`"
            )
            raise BadExpression(f"{problem}; put a phrase between quotes")
        return found

    def _any(self) -> Selector:
        items = [self._all()]
        while self._take("or"):
            items.append(self._all())
        return lambda name: any(item(name) for item in items)

    def _all(self) -> Selector:
        items = [self._one()]
        while self._take("and"):
            items.append(self._one())
        return lambda name: all(item(name) for item in items)

    def _one(self) -> Selector:
        if self._take("not"):
            item = self._one()
            return lambda name: not item(name)
        if self._take("("):
            found = self._any()
            if not self._take(")"):
                raise BadExpression("a parenthesis is not closed")
            return found
        if self._at == len(self._tokens):
            raise BadExpression("it ends where a word is expected")
        word, quoted = self._tokens[self._at]
        if not quoted and (word in _WORDS or word == ")"):
            raise BadExpression(f"`{word}` stands where a word is expected")
        self._at += 1
        part = word.casefold()
        return lambda name: part in name

    def _take(self, token: str) -> bool:
        if self._at < len(self._tokens) and self._tokens[self._at] == (token, False):
            self._at += 1
            return True
        return False
