"""Scopes of keys: the paths that a match can test, by the place where it stands."""

from __future__ import annotations

from enum import Enum

from bobcat.language.paths import Head


class Scope(Enum):
    """Where a match stands. The value names the place in diagnostics."""

    CALL = "a rule"
    DEFINITION = "a definition"
    RESULT = "the result of a call"
    RECORD = "a record of a source"

    __hash__ = object.__hash__  # PERF: members are singletons; the inherited hash is a Python call

    @property
    def head(self) -> Head | None:
        """Return the head that only this scope has."""
        return _HEADS.get(self)


_HEADS: dict[Scope, Head] = {Scope.RESULT: "result", Scope.RECORD: "record"}
