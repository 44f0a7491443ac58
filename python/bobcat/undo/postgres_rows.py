"""Rows of PostgreSQL as texts: read by key, and written back. All functions work in the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bobcat.errors import UndoError
from bobcat.text.display import safe_text
from bobcat.undo.postgres_changes import Moves
from bobcat.undo.postgres_tables import (
    Connection,
    ServerTable,
    described,
    oid_of,
    parents_first,
    text_of,
)
from bobcat.undo.row_snapshot import Cells, Key, Rows, quoted

Tables = dict[str, ServerTable]


async def tables_of(connection: Connection, columns: Mapping[str, Sequence[str]]) -> Tables:
    """Return tables by name. Raises `UndoError` when their columns are not those given, in this order."""
    found: Tables = {}
    for name, names in columns.items():
        table = await described(connection, await oid_of(connection, name), changing=False)
        if table.names != list(names):
            raise UndoError("conflict", f"the columns of the table `{safe_text(name)}` changed since")
        found[name] = table
    return found


async def read_rows(connection: Connection, tables: Tables, keys: Mapping[Key, Any]) -> Rows:
    """Return the present rows of some keys, in their order."""
    found: Rows = dict.fromkeys(keys)
    for name, table in tables.items():
        wanted = [key for each, key in keys if each == name]
        if not wanted:
            continue
        source, match, values = _keys(table, wanted)
        query = f"SELECT ARRAY[{', '.join(table.texts('t'))}]::text[] FROM {table.name} t JOIN {source} ON {match}"
        for (row,) in await (await connection.execute(query.encode(), values)).fetchall():
            found[table.key_of(row)] = tuple(row)
    return found


async def write_rows(connection: Connection, tables: Tables, wanted: Rows, moves: Moves) -> None:
    """Make the rows as they are wanted. Raises `UndoError` where constraints or types forbid it.

    Rows come before those that refer to them, and go after them. Where a unique constraint forbids that, rows go first.
    """
    import psycopg

    await connection.execute(b"SET CONSTRAINTS ALL DEFERRED")
    await connection.execute(b"SAVEPOINT bobcat_rows")
    try:
        await _write(connection, tables, wanted, moves, (_insert, _update, _delete))
    except psycopg.errors.UniqueViolation:
        await connection.execute(b"ROLLBACK TO SAVEPOINT bobcat_rows")
        await _write(connection, tables, wanted, moves, (_delete, _update, _insert))
    await connection.execute(b"RELEASE SAVEPOINT bobcat_rows")
    if await read_rows(connection, tables, wanted) != wanted:
        raise UndoError("conflict", "the database does not take the rows back as they were")


async def _write(
    connection: Connection, tables: Tables, wanted: Rows, moves: Moves, phases: Sequence[Any]
) -> None:  # Any: one of the functions below
    await _move(connection, tables, wanted, moves)
    for phase in phases:
        await phase(connection, tables, await read_rows(connection, tables, wanted), wanted)


async def _move(connection: Connection, tables: Tables, wanted: Rows, moves: Moves) -> None:
    for name, old, new in reversed(moves):
        present = await read_rows(connection, tables, {(name, old): None, (name, new): None})
        if wanted[name, old] is None or wanted[name, new] is not None or present[name, old] is not None:
            continue
        if present[name, new] is not None:
            table = tables[name]
            columns = [(at, value) for at, value in zip(table.key, old, strict=True)]
            await _set(connection, table, new, columns)


async def _insert(connection: Connection, tables: Tables, present: Rows, wanted: Rows) -> None:
    for name in await parents_first(connection, tables):
        table = tables[name]
        rows = [row for key, row in wanted.items() if key[0] == name and row is not None and present[key] is None]
        if not rows:
            continue
        columns = ", ".join(map(quoted, table.names))
        source, values = _unnested(list(zip(*rows, strict=True)))
        cells = ", ".join(f"CAST(k.c{at} AS {column.type})" for at, column in enumerate(table.columns))
        await connection.execute(
            f"INSERT INTO {table.name} ({columns}) OVERRIDING SYSTEM VALUE SELECT {cells} FROM {source}".encode(),
            values,
        )


async def _update(connection: Connection, tables: Tables, present: Rows, wanted: Rows) -> None:
    for key, row in reversed(wanted.items()):
        now, table = present[key], tables[key[0]]
        if row is not None and now is not None and row != now:
            differing = [(at, value) for at, value in enumerate(row) if value != now[at]]
            await _set(connection, table, key[1], differing)


async def _delete(connection: Connection, tables: Tables, present: Rows, wanted: Rows) -> None:
    for name in reversed(await parents_first(connection, tables)):
        keys = [key[1] for key, row in wanted.items() if key[0] == name and row is None and present[key] is not None]
        if keys:
            source, match, values = _keys(tables[name], keys)
            await connection.execute(f"DELETE FROM {tables[name].name} t USING {source} WHERE {match}".encode(), values)


async def _set(connection: Connection, table: ServerTable, key: Cells, cells: list[tuple[int, Any]]) -> None:
    """Set columns, by position, of one row."""  # Any: text or None
    cells = [(at, value) for at, value in cells if not table.columns[at].numbered]
    if not cells:
        return
    pairs = ", ".join(
        f"{quoted(table.columns[at].name)} = ${number}::{table.columns[at].type}"
        for number, (at, _) in enumerate(cells, start=1)
    )
    source, match, values = _keys(table, [key], first=len(cells) + 1)
    query = f"UPDATE {table.name} t SET {pairs} FROM {source} WHERE {match}"
    await connection.execute(query.encode(), (*(value for _, value in cells), *values))


def _keys(table: ServerTable, keys: Sequence[Cells], first: int = 1) -> tuple[str, str, list[list[Any]]]:
    """A source `k` of keys, its condition for rows of `t`, and its parameters from number `first`."""  # Any: text
    source, values = _unnested(list(zip(*keys, strict=True)), first)
    parts = []
    for number, at in enumerate(table.key):
        column = table.columns[at]
        cell = f"t.{quoted(column.name)}"
        if column.compared:
            parts.append(f"{cell} = CAST(k.c{number} AS {column.type})")
        parts.append(f"{text_of(cell)} = k.c{number}")  # keys that are equal may have several texts: 1.0 and 1.00
    return source, " AND ".join(parts), values


def _unnested(columns: Sequence[Sequence[Any]], first: int = 1) -> tuple[str, list[list[Any]]]:
    names = ", ".join(f"c{at}" for at in range(len(columns)))
    arrays = ", ".join(f"${at}::text[]" for at in range(first, first + len(columns)))
    return f"unnest({arrays}) AS k({names})", [list(column) for column in columns]
