"""Undo of statements on PostgreSQL: the watch in the provider's transaction, and the restoration in one of its own.

A transaction that changes rows holds an advisory lock, whose number is in its snapshot. Who reads the rows to decide
about the entry takes the lock first, and so waits for a transaction that the server still completes.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from bobcat.errors import UndoError
from bobcat.model.snapshot import Changed, Prepare, Snapshot
from bobcat.undo.postgres_changes import Moves, ServerCapture, settle_texts, tables_that_change
from bobcat.undo.postgres_rows import read_rows, tables_of, write_rows
from bobcat.undo.postgres_tables import Connection, oid_of
from bobcat.undo.row_snapshot import Rows, digest, known, rows_of, snapshot_of

BUSY_SECONDS = 30
"""Seconds that an undo waits for other writers to its tables."""
_UNDONE = ("select", "insert", "update", "delete", "merge")
_BUSY = ("55P03", "40P01", "57014")


@dataclass(frozen=True, slots=True)
class Server:
    """A database of PostgreSQL, and the role that statements run as."""

    url: str
    role: str | None = None


class ServerWatch:
    """Watches one statement in its transaction: `begin` before it, `before_commit` after it."""

    def __init__(self, database: str, prepare: Prepare) -> None:
        self.snapshot: Snapshot | None = None
        self._database, self._prepare = database, prepare
        self._lock = secrets.randbits(62)
        self._capture: ServerCapture | None = None

    async def begin(
        self, connection: Connection, statement: str, kinds: Sequence[str], parameters: Sequence[Any]
    ) -> None:  # Any: scalars
        """Begin to capture changes. Raises `UndoError` where they cannot be captured."""
        other = [kind for kind in kinds if kind not in _UNDONE]
        if other:
            raise UndoError("no_snapshot", f"a statement of the kind `{other[0]}` cannot be undone")
        changed = await tables_that_change(connection, statement, parameters)
        await _take(connection, self._lock)
        self._capture = ServerCapture(connection)
        await self._capture.begin(changed)

    async def before_commit(self, connection: Connection) -> None:
        """Keep the snapshot. Raises `UndoError` when that fails: the caller rolls back."""
        if self._capture is None:
            raise UndoError("no_snapshot", "the statement was run before its changes were captured")
        before, after, moves = await self._capture.collect(self._prepare.max_bytes)
        await settle_texts(connection)
        columns = _columns(self._capture, before)
        if await read_rows(connection, await tables_of(connection, columns), after) != after:
            raise UndoError("no_snapshot", "the rows that changed cannot be read back by their keys")
        more = {"lock": self._lock, "columns": columns, "moves": [list(move) for move in moves]}
        self.snapshot = known(snapshot_of(self._database, before, after, **more))
        await self._prepare(self.snapshot)


async def present_rows(server: Server, snapshot: Snapshot) -> Rows:
    """Return the present rows of a snapshot's keys, when no transaction that made them is going on."""
    async with _transaction(server, snapshot) as connection:
        tables = await tables_of(connection, snapshot.data["columns"])
        return await read_rows(connection, tables, rows_of(snapshot, 0))


async def restore_rows(
    server: Server, snapshot: Snapshot, expected: tuple[str, ...] | None, prepare: Prepare
) -> Changed:
    """Write the rows back, in one transaction that commits after the present ones are kept."""
    wanted = rows_of(snapshot, 0)
    async with _transaction(server, snapshot) as connection:
        tables = await tables_of(connection, snapshot.data["columns"])
        capture = ServerCapture(connection)
        await capture.begin({await oid_of(connection, name): {"Insert", "Update", "Delete"} for name in tables})
        now = await read_rows(connection, tables, wanted)
        if expected is not None and (digest(now),) != tuple(expected):
            raise UndoError("conflict", f"rows of `{snapshot.target}` changed since")
        moves: Moves = [(table, tuple(old), tuple(new)) for table, old, new in snapshot.data["moves"]]
        await write_rows(connection, tables, wanted, moves)
        before, _, _ = await capture.collect(prepare.max_bytes)
        if not set(before) <= set(wanted):
            raise UndoError("conflict", f"other rows depend on those of `{snapshot.target}`, and would change")
        more = {**snapshot.data, "moves": [[table, new, old] for table, old, new in reversed(moves)]}
        more = {name: value for name, value in more.items() if name not in ("database", "rows")}
        kept = snapshot_of(snapshot.data["database"], dict(reversed(now.items())), wanted, **more)
        await prepare(known(replace(kept, target=snapshot.target)))
        await connection.commit()
    return Changed(None, snapshot.before)


@asynccontextmanager
async def _transaction(server: Server, snapshot: Snapshot) -> AsyncIterator[Connection]:
    """A transaction that holds the snapshot's lock, and turns errors of PostgreSQL into those of undo."""
    import psycopg

    try:
        connection = await psycopg.AsyncConnection.connect(
            server.url, cursor_factory=psycopg.AsyncRawCursor, connect_timeout=BUSY_SECONDS
        )
    except psycopg.Error as error:
        raise UndoError("unavailable", f"the database cannot be reached: {_first_line(error)}") from error
    try:
        await connection.set_isolation_level(psycopg.IsolationLevel.READ_COMMITTED)  # sees what it waited for
        await connection.set_read_only(False)
        await connection.execute(f"SET LOCAL lock_timeout = '{BUSY_SECONDS}s'".encode())
        if server.role is not None:
            await connection.execute(b"SELECT pg_catalog.set_config('role', $1, true)", (server.role,))
        await settle_texts(connection)
        await _take(connection, snapshot.data["lock"])
        yield connection
    except psycopg.Error as error:
        code = "busy" if error.sqlstate in _BUSY else "conflict"
        raise UndoError(code, f"the rows cannot be read or restored: {_first_line(error)}") from error
    finally:
        await connection.close()


async def _take(connection: Connection, lock: int) -> None:
    await connection.execute(b"SELECT pg_catalog.pg_advisory_xact_lock($1::bigint)", (lock,))


def _columns(capture: ServerCapture, rows: Rows) -> dict[str, list[str]]:
    changed = {key[0] for key in rows}
    return {table.name: table.names for table in capture.tables if table.name in changed}


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
