"""A pattern of an edge, searched in the answer or the error of a node. Linear time, because a model wrote the text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, TypeAlias

from bobcat._core import Pattern

Dialect: TypeAlias = Literal["re2", "python", "stdlib"]
"""`stdlib` is Python's `re`, for patterns of the `lynx` profile without a linear form."""


class TextPattern:
    """A compiled pattern, comparable by text and dialect, and picklable."""

    __slots__ = ("_search", "dialect", "text")

    def __init__(self, text: str, dialect: Dialect) -> None:
        self.text = text
        self.dialect = dialect
        self._search: Callable[[str], object]
        self._search = re.compile(text).search if dialect == "stdlib" else Pattern(text, dialect).search

    def search(self, text: str) -> bool:
        """Return true if the pattern matches anywhere in `text`. A lone surrogate is read as a question mark."""
        try:
            return bool(self._search(text))
        except UnicodeEncodeError:
            return bool(self._search(text.encode("utf-8", "replace").decode()))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TextPattern):
            return NotImplemented
        return (self.text, self.dialect) == (other.text, other.dialect)

    def __hash__(self) -> int:
        return hash((self.text, self.dialect))

    def __repr__(self) -> str:
        return f"TextPattern({self.text!r}, {self.dialect!r})"

    def __reduce__(self) -> tuple[type[TextPattern], tuple[str, Dialect]]:
        return type(self), (self.text, self.dialect)
