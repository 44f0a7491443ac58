"""The provider of databases: the tools `sql.query` and `sql.execute` for databases that a program names.

    from bobcat.providers import sql

    tools = sql({"shop": "shop.sqlite3", "stock": "postgresql://reader@db/stock"})

A policy reads `args.database` and the parts of `args.query.sql` and `args.statement.sql`.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

from bobcat.errors import ToolError
from bobcat.providers.database.limits import SqlLimits
from bobcat.providers.database.lite import Lite
from bobcat.providers.database.postgres import Postgres
from bobcat.providers.database.statement import WRITES, Parsed, check
from bobcat.text.display import safe_text
from bobcat.tools.action import current_action, uses_action
from bobcat.tools.decorator import tool
from bobcat.tools.toolset import ToolSet
from bobcat.undo.sql import SqlSnapshotter

Database: TypeAlias = str | os.PathLike[str]
Result: TypeAlias = dict[str, Any]  # Any: JSON
TIMEOUT_SECONDS = 30.0
"""Default time limit of a statement."""
MAX_ROWS = 1_000
"""Default cap of the rows of a result."""
MAX_BYTES = 1_000_000
"""Default cap of the characters of the rows of a result, as JSON."""
_SCHEMES = ("postgresql://", "postgres://")


def sql(
    databases: Mapping[str, Database],
    *,
    read_only: Collection[str] = (),
    functions: Collection[str] | None = (),
    kinds: Collection[str] = WRITES,
    role: str | None = None,
    timeout_seconds: float = TIMEOUT_SECONDS,
    max_rows: int = MAX_ROWS,
    max_bytes: int = MAX_BYTES,
) -> ToolSet:
    """Return the tools `sql.query` and `sql.execute`.

    `databases` maps names to files of SQLite or URLs of PostgreSQL. `sql.query` runs a query in a read-only session;
    `sql.execute` runs a statement of `kinds` in a transaction, in databases that `read_only` does not name. A statement
    that the facet `sql` does not decide is refused. So are functions that could read or change more than their
    arguments, unless `functions` lists them; None permits all. `role` is the role of PostgreSQL that statements run as.

    Parameters are `?` in SQLite and `$1` in PostgreSQL. Raises `TypeError` and `ValueError` for invalid arguments.
    """
    if not isinstance(databases, Mapping) or not databases:
        raise TypeError('databases must be a mapping of names to files or URLs: {"shop": "shop.sqlite3"}')
    unknown = [name for name in read_only if name not in databases]
    if unknown:
        raise ValueError(f"read_only names `{unknown[0]}`, which is not one of the databases")
    limits = SqlLimits(timeout_seconds, max_rows, max_bytes)
    opened = {name: _database(name, place, limits, role) for name, place in databases.items()}
    allowed = None if functions is None else frozenset(name.lower() for name in functions)

    def found(name: str) -> Lite | Postgres:
        if name not in opened:
            raise ToolError(f"unknown database `{safe_text(name)}`; known: {', '.join(opened)}", "unknown_database")
        return opened[name]

    @tool(name="sql.query", scope=("sql:read",), effect="none")
    @uses_action
    async def query(database: str, query: str, parameters: Sequence[Any] = (), max_rows: int = max_rows) -> Result:
        """Run one query. The result has `columns` and `rows`; it is `truncated` where it exceeds a cap."""
        if max_rows < 1:
            raise ToolError(f"max_rows must be at least 1, got {max_rows}", "invalid")
        where = found(database)
        parsed = check(query, ("select",), allowed)
        _record(where, parsed)
        return await where.run(parsed, _scalars(parameters), min(max_rows, limits.rows), write=False)

    @tool(name="sql.execute", scope=("sql:write",), reversible=False)
    @uses_action
    async def execute(database: str, statement: str, parameters: Sequence[Any] = ()) -> Result:
        """Run one statement in a transaction. The result has `rows_affected`, and the rows of `RETURNING`."""
        where = found(database)
        if database in read_only:
            raise ToolError(f"the database `{database}` is read-only", "read_only")
        parsed = check(statement, kinds, allowed)
        _record(where, parsed)
        return await where.run(parsed, _scalars(parameters), limits.rows, write=True)

    lite = {name: place.path for name, place in opened.items() if isinstance(place, Lite)}
    servers = {name: place.server for name, place in opened.items() if isinstance(place, Postgres)}
    snapshotter = SqlSnapshotter(lite, servers)
    changing = dataclasses.replace(ToolSet.from_functions(execute).get("sql.execute"), snapshotter=snapshotter)
    return ToolSet.from_functions(query).with_tool(changing)


def _database(name: str, place: Database, limits: SqlLimits, role: str | None) -> Lite | Postgres:
    if isinstance(place, str) and place.startswith(_SCHEMES):
        return Postgres(name, place, limits, role)
    if isinstance(place, str) and "://" in place:
        raise ValueError(f"the database `{name}` has a URL of an unknown scheme; write a file or postgresql://")
    return Lite(name, place, limits)


def _record(where: Lite | Postgres, parsed: Parsed) -> None:
    facts = where.facts()
    action = current_action()
    if action is not None:
        action.record(**parsed.facts(**facts))


def _scalars(parameters: Sequence[Any]) -> list[Any]:
    for at, value in enumerate(parameters):
        if value is not None and not isinstance(value, bool | int | float | str):
            raise ToolError(f"parameter {at + 1} must be a text, a number, a bool or null", "invalid")
    return list(parameters)
