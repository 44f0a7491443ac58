"""Check of a statement before it reaches a database."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from bobcat.errors import ToolError
from bobcat.facets import Undecidable, sql

WRITES = ("insert", "update", "delete", "merge", "replace")
"""The kinds of statements that `sql.execute` runs by default."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A statement with its kinds and tables."""

    text: str
    kinds: tuple[str, ...]
    tables: frozenset[str]

    def facts(self, **more: Any) -> dict[str, Any]:  # Any: JSON
        """The facts that the journal gets about it."""
        return {"kinds": list(self.kinds), "tables": sorted(self.tables), **more}


def check(text: str, kinds: Collection[str], functions: Collection[str] | None) -> Parsed:
    """Parse a statement of one of some kinds. Raises `ToolError` for another one, and for functions not listed.

    `functions` are those that may be called beside the ones that read and change nothing; None is all.
    """
    try:
        parts = sql(text)
        found = tuple(parts.kinds)
        other = [kind for kind in found if kind not in kinds]
        if other:
            raise ToolError(
                f"a statement of the kind `{other[0]}` is refused here; possible: {', '.join(kinds)}", "kind"
            )
        tables = frozenset(parts.tables)
        if functions is not None:
            unknown = [name for name in parts.unknown_functions if name not in functions]
            if unknown:
                raise ToolError(
                    f"the function `{unknown[0]}` is not permitted: it could read or change more", "function"
                )
    except Undecidable as error:
        raise ToolError(f"the statement is refused: {error}", error.code) from error
    return Parsed(text, found, tables)
