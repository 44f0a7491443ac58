"""Changes of rows in a SQLite database: captured by temporary triggers, read, and written back.

The triggers see every row that a statement changes, also by a foreign key's action, whatever its text is. Tables whose
rows no key identifies refuse the statement, and so does a database with triggers of its own, whose effects elsewhere an
undo could not take back. All functions work inside the caller's transaction and block.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bobcat.errors import UndoError
from bobcat.undo.row_snapshot import Cells, Key, Rows, note, quoted

_CAPTURE = "_bobcat_undo_"
_BLOCK = 500
_NO_KEY = "undo: the table has no primary key that would identify its rows"


@dataclass(frozen=True, slots=True)
class Table:
    """The stored columns of a table, and the positions of its primary key."""

    name: str
    columns: tuple[str, ...]
    key: tuple[int, ...]

    def key_of(self, row: Cells) -> Key:
        """Return the key of a row."""
        return self.name, tuple(row[at] for at in self.key)


class Capture:
    """The changes of one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._tables = tables_of(connection)
        refuse_triggers(connection)
        connection.execute("PRAGMA recursive_triggers = ON")  # rows that REPLACE deletes fire triggers, too
        for at, table in enumerate(self._tables.values()):
            self._install(f"{_CAPTURE}{at}", table)
        self._changes = connection.total_changes

    def collect(self, max_bytes: int) -> tuple[Rows, Rows]:
        """Return the rows before and after, by key. Raises `UndoError` for more than about `max_bytes`."""
        before: Rows = {}
        after: Rows = {}
        captured = size = 0
        for at, table in enumerate(self._tables.values()):
            width = len(table.columns)
            cursor = self._connection.execute(f'SELECT * FROM temp."{_CAPTURE}{at}" ORDER BY seq')
            for _, old, new, *cells in cursor:
                captured += 1
                size += sum(_size(cell) for cell in cells)
                if size > max_bytes:
                    raise UndoError("too_large", f"the rows that change have more than {max_bytes} bytes (max_bytes)")
                old_row, new_row = (tuple(part) for part in (cells[:width], cells[width:]))
                note(
                    before,
                    after,
                    (table.key_of(old_row), old_row) if old else None,
                    (table.key_of(new_row), new_row) if new else None,
                )
        if self._connection.total_changes - self._changes > 2 * captured:
            raise UndoError("no_snapshot", "the statement changes a virtual table, whose rows no undo can restore")
        return before, after

    def _install(self, capture: str, table: Table) -> None:
        name = quoted(table.name)
        if not table.key:
            for event in ("INSERT", "UPDATE", "DELETE"):
                self._connection.execute(
                    f'CREATE TEMP TRIGGER "{capture}_{event}" BEFORE {event} ON main.{name} '
                    f"BEGIN SELECT RAISE(ABORT, '{_NO_KEY}'); END"
                )
        columns = [f"{side}{at}" for side in ("o", "n") for at in range(len(table.columns))]
        self._connection.execute(
            f'CREATE TEMP TABLE "{capture}" (seq INTEGER PRIMARY KEY, old, new, {", ".join(columns)})'
        )
        if not table.key:
            return
        for event, old, new in (("INSERT", 0, 1), ("UPDATE", 1, 1), ("DELETE", 1, 0)):
            values = [f"OLD.{quoted(column)}" if old else "NULL" for column in table.columns]
            values += [f"NEW.{quoted(column)}" if new else "NULL" for column in table.columns]
            insert = (
                f'INSERT INTO "{capture}" (old, new, {", ".join(columns)}) VALUES ({old}, {new}, {", ".join(values)})'
            )
            self._connection.execute(
                f'CREATE TEMP TRIGGER "{capture}_{event}" AFTER {event} ON main.{name} BEGIN {insert}; END'
            )


def read_rows(connection: sqlite3.Connection, keys: Iterable[Key]) -> Rows:
    """Return the present rows of some keys. Raises `UndoError` for a table that is not there."""
    tables = tables_of(connection)
    found: Rows = {}
    for name, key in keys:
        table = _table(tables, name)
        condition = " AND ".join(f"{quoted(table.columns[at])} IS ?" for at in table.key)
        columns = ", ".join(map(quoted, table.columns))
        found[name, key] = connection.execute(
            f"SELECT {columns} FROM main.{quoted(name)} WHERE {condition}", key
        ).fetchone()
    return found


def write_rows(connection: sqlite3.Connection, wanted: Mapping[Key, Cells | None]) -> None:
    """Make the rows as they are wanted. Foreign keys are checked at the end of the transaction."""
    connection.execute("PRAGMA defer_foreign_keys = ON")
    tables = tables_of(connection)
    present = read_rows(connection, wanted)
    for key in sorted(present, key=lambda key: wanted[key] is not None):  # what goes makes room for what comes
        _write_row(connection, _table(tables, key[0]), key[1], present[key], wanted[key])


def _write_row(
    connection: sqlite3.Connection, table: Table, key: Cells, row: Cells | None, wanted: Cells | None
) -> None:
    name = quoted(table.name)
    condition = " AND ".join(f"{quoted(table.columns[at])} IS ?" for at in table.key)
    if _is_same(row, wanted):
        return
    if wanted is None:
        connection.execute(f"DELETE FROM main.{name} WHERE {condition}", key)
    elif row is None:
        columns, marks = ", ".join(map(quoted, table.columns)), ", ".join("?" * len(wanted))
        connection.execute(f"INSERT INTO main.{name} ({columns}) VALUES ({marks})", wanted)
    else:
        values = ", ".join(f"{quoted(column)} = ?" for column in table.columns)
        connection.execute(f"UPDATE main.{name} SET {values} WHERE {condition}", (*wanted, *key))


def tables_of(connection: sqlite3.Connection) -> dict[str, Table]:
    """Return the tables of the database by name; without a key for those whose rows cannot be restored."""
    found = {}
    for schema, name, type, *_ in connection.execute("PRAGMA table_list").fetchall():
        if schema != "main" or type not in ("table", "shadow") or name.startswith("sqlite_"):
            continue
        columns = connection.execute(f"PRAGMA main.table_xinfo({quoted(name)})").fetchall()
        stored = [column for column in columns if column[6] == 0]
        keyed = sorted((column[5], at) for at, column in enumerate(stored) if column[5])
        key = tuple(at for _, at in keyed) if type == "table" else ()
        found[name] = Table(name, tuple(column[1] for column in stored), key)
    return found


def refuse_triggers(connection: sqlite3.Connection) -> None:
    """Raise `UndoError` for a database with triggers of its own."""
    own = connection.execute("SELECT name FROM main.sqlite_master WHERE type = 'trigger'").fetchone()
    if own is not None:
        raise UndoError("no_snapshot", f"the database has the trigger `{own[0]}`, whose effects no undo takes back")


def _table(tables: Mapping[str, Table], name: str) -> Table:
    found = tables.get(name)
    if found is None:
        raise UndoError("conflict", f"the table `{name}` is gone")
    return found


def _is_same(one: Cells | None, other: Cells | None) -> bool:
    """Return true for equal rows with values of the same types: 2 and 2.0 are different values."""
    if one is None or other is None:
        return one is other
    return len(one) == len(other) and all(type(a) is type(b) and a == b for a, b in zip(one, other, strict=True))


def _size(cell: Any) -> int:  # Any: a value of SQLite
    return len(cell) if isinstance(cell, (str, bytes)) else 8
