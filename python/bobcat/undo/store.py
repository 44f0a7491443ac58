"""The tables of undo entries, in SQLite and in PostgreSQL: one set of statements for both.

INVARIANT: a change that a method has made is on disk when it returns. Every change of state names the states that it
starts from, so that of two processes only one makes it. Methods block: callers use threads.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from bobcat.errors import UndoError
from bobcat.stores.connected import Connected, TableSet
from bobcat.stores.connected_place import database_at
from bobcat.undo.entry import COLUMNS, LISTED, EntryState, Row

_CREATE = (
    """CREATE TABLE IF NOT EXISTS {prefix}undo_entries (
        id {text} NOT NULL PRIMARY KEY,
        state {text} NOT NULL,
        tool {text} NOT NULL,
        origin {text} NOT NULL,
        target {text} NOT NULL,
        other {text} NOT NULL,
        kind {text} NOT NULL,
        size {number} NOT NULL,
        created {real} NOT NULL,
        updated {real} NOT NULL,
        expires {real} NOT NULL,
        key {text} NOT NULL,
        undoes {text} NOT NULL,
        owner {text} NOT NULL,
        sealed {number} NOT NULL,
        snapshot {bytes} NOT NULL,
        outcome {bytes} NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS {index}undo_by_key ON {prefix}undo_entries (key)",
    "CREATE INDEX IF NOT EXISTS {index}undo_by_time ON {prefix}undo_entries (created)",
    "CREATE INDEX IF NOT EXISTS {index}undo_by_expiry ON {prefix}undo_entries (expires)",
)
_TABLES = TableSet(
    "undo store",
    {"TABLE": "undo_entries"},
    _CREATE,
    UndoError,
    "undo.db",
    beside="-undo",  # a write to either file does not wait for the other
    pragmas=("secure_delete = ON",),
)


class UndoStore(Connected):
    """The entries of the database that a path, a URL, a SQLiteStore or a PostgresStore names.

    Raises `UndoError`, and `TypeError` for any other `place`.
    """

    def __init__(self, place: object, *, must_exist: bool = False) -> None:
        super().__init__(database_at(place, _TABLES, must_exist=must_exist), _TABLES)

    def add(self, row: Row) -> None:
        """Insert a row."""
        self.write(lambda: self._insert(row))

    def add_undo(self, row: Row, undone: str, *, of: Sequence[EntryState]) -> bool:
        """Insert the row of an undo, and mark the entry that it is of. Returns false if that has another state."""

        def work() -> bool:
            return self._change(undone, "applying", of, {"owner": row.owner}) and self._insert(row)

        return self.write(work)

    def change(self, id: str, state: EntryState, *, of: Sequence[EntryState], **columns: object) -> bool:
        """Change the state of an entry that has one of the states `of`, with other columns. Returns false for none."""
        return self.write(lambda: self._change(id, state, of, columns))

    def settle(self, undo: str, undone: str, outcome: bytes) -> bool:
        """Record that the undo `undo` of entry `undone` happened: both states change, or none."""

        def work() -> bool:
            done = self._change(undo, "done", ("prepared",), {"outcome": outcome})
            return done and self._change(undone, "applied", ("applying",), {})

        return self.write(work)

    def give_up(self, undo: str, undone: str, state: EntryState) -> None:
        """Remove an undo without an effect, and return the entry that it is of to its state."""

        def work() -> None:
            self.run("DELETE FROM TABLE WHERE id = ? AND state = 'prepared'", (undo,))
            self._change(undone, state, ("applying",), {})

        self.write(work)

    def remove(self, id: str, *, of: Sequence[EntryState]) -> bool:
        """Remove an entry that has one of the states `of`."""
        marks = ", ".join("?" * len(of))
        statement = f"DELETE FROM TABLE WHERE id = ? AND state IN ({marks})"
        return self.write(lambda: bool(self.run(statement, (id, *of)).rowcount))

    def prune(self, now: float) -> int:
        """Remove the entries that have expired, but none in use. Returns their number."""
        statement = "DELETE FROM TABLE WHERE expires <= ? AND state NOT IN ('prepared', 'applying')"
        return self.write(lambda: int(self.run(statement, (now,)).rowcount))

    def get(self, id: str) -> Row | None:
        """Return an entry, or None."""
        return next(iter(self._select(f"SELECT {COLUMNS} FROM TABLE WHERE id = ?", (id,))), None)

    def of_key(self, key: str) -> list[Row]:
        """Return the entries of one action, the newest first."""
        return self._select(f"SELECT {COLUMNS} FROM TABLE WHERE key = ? ORDER BY created DESC, id", (key,))

    def undoing(self, id: str) -> Row | None:
        """Return the undo of an entry that was begun last, or None."""
        query = f"SELECT {COLUMNS} FROM TABLE WHERE undoes = ? ORDER BY created DESC, id LIMIT 1"
        return next(iter(self._select(query, (id,))), None)

    def entries(
        self, *, tool: str | None, target: str | None, states: Sequence[EntryState], limit: int, alive: float
    ) -> list[Row]:
        """Return entries that expire after `alive`, the newest first, without their snapshots."""
        where, values = ["expires > ?"], [alive]
        conditions: list[Any] = []  # Any: values of columns
        for name, value in (("tool", tool), ("target", target)):
            if value is not None:
                where.append(f"{name} = ?")
                conditions.append(value)
        if states:
            where.append(f"state IN ({', '.join('?' * len(states))})")
            conditions += states
        query = f"SELECT {LISTED} FROM TABLE WHERE {' AND '.join(where)} ORDER BY created DESC, id LIMIT ?"
        found = self._fetch(query, (*values, *conditions, limit))
        return [Row._make((*each, b"", b"")) for each in found]

    def unfinished(self) -> list[Row]:
        """Return the entries that a process has begun and not finished, the oldest first."""
        query = f"SELECT {COLUMNS} FROM TABLE WHERE state IN ('prepared', 'applying') ORDER BY created, id"
        return self._select(query, ())

    def _insert(self, row: Row) -> bool:
        marks = ", ".join("?" * len(row))
        self.run(f"INSERT INTO TABLE ({COLUMNS}) VALUES ({marks})", row)
        return True

    def _change(self, id: str, state: EntryState, of: Sequence[EntryState], columns: dict[str, object]) -> bool:
        columns = {"state": state, "updated": time.time(), **columns}
        names = ", ".join(f"{name} = ?" for name in columns)
        marks = ", ".join("?" * len(of))
        statement = f"UPDATE TABLE SET {names} WHERE id = ? AND state IN ({marks})"
        return bool(self.run(statement, (*columns.values(), id, *of)).rowcount)

    def _select(self, query: str, values: Sequence[object]) -> list[Row]:
        found = self._fetch(query, values)
        return [Row._make(bytes(each) if type(each) is memoryview else each for each in row) for row in found]

    def _fetch(self, query: str, values: Sequence[object]) -> list[tuple[Any, ...]]:  # Any: columns
        found: list[tuple[Any, ...]] = self.read(lambda: self.run(query, values).fetchall())
        return found
