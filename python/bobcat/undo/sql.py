"""Snapshots of rows: what a statement changed, captured inside its transaction and kept before the commit.

The effect of a statement is its commit. The provider calls the current watch in the transaction, around the statement:
a `RowWatch` on SQLite, a `ServerWatch` on PostgreSQL. Without a snapshot there is no commit.
"""

from __future__ import annotations

import asyncio
import contextvars
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from bobcat.errors import UndoError
from bobcat.model.snapshot import Args, Changed, Prepare, RunEffect, Snapshot
from bobcat.text.json_text import json_text
from bobcat.undo.lite_changes import Capture, read_rows, refuse_triggers, write_rows
from bobcat.undo.postgres_rollback import Server, ServerWatch, present_rows, restore_rows
from bobcat.undo.row_snapshot import Rows, digest, known, rows_of, shown, snapshot_of

WAIT_SECONDS = 60.0
"""Maximum time that a transaction waits for its snapshot to be kept."""
BUSY_SECONDS = 5.0

_WATCH: contextvars.ContextVar[RowWatch | ServerWatch | None] = contextvars.ContextVar("bobcat_row_watch", default=None)


class RowWatch:
    """Watches one statement in its transaction, from a thread: `begin` before it, `before_commit` after it."""

    def __init__(self, database: str, prepare: Prepare) -> None:
        self.snapshot: Snapshot | None = None
        self._database, self._prepare = database, prepare
        self._loop, self._context = asyncio.get_running_loop(), contextvars.copy_context()
        self._capture: Capture | None = None

    def begin(self, connection: sqlite3.Connection) -> None:
        """Begin to capture changes. Raises `UndoError` where they cannot be captured."""
        self._capture = Capture(connection)

    def before_commit(self, connection: sqlite3.Connection) -> None:
        """Keep the snapshot. Raises `UndoError` when that fails: the caller rolls back."""
        if self._capture is None:
            raise UndoError("no_snapshot", "the statement was run before its changes were captured")
        before, after = self._capture.collect(self._prepare.max_bytes)
        self.snapshot = known(_snapshot(self._database, before, after))
        wait_in_loop(self._loop, self._context, lambda: self._prepare(known(self.snapshot)))


def current_watch() -> RowWatch | None:
    """The watch of the call that runs; None outside of a protected one."""
    watch = _WATCH.get()
    return watch if isinstance(watch, RowWatch) else None


def current_server_watch() -> ServerWatch | None:
    """The watch of the call that runs on PostgreSQL; None outside of a protected one."""
    watch = _WATCH.get()
    return watch if isinstance(watch, ServerWatch) else None


@dataclass(frozen=True, slots=True)
class SqlSnapshotter:
    """The `Snapshotter` of statements on databases by name: files of SQLite, and `servers` of PostgreSQL.

    `database` is the argument that has the name.
    """

    files: Mapping[str, str]
    servers: Mapping[str, Server] = field(default_factory=dict)
    database: str = "database"
    kind: str = "sql"
    proves_absence: bool = True

    async def protect(self, args: Args, effect: RunEffect, prepare: Prepare) -> Changed:
        """Run the statement under a watch."""
        name = str(args[self.database])
        if name not in self.files and name not in self.servers:
            raise UndoError("no_snapshot", f"the database `{name}` is not among those of the tool")
        watch = ServerWatch(name, prepare) if name in self.servers else RowWatch(name, prepare)
        token = _WATCH.set(watch)
        try:
            value = await effect()
        finally:
            _WATCH.reset(token)
        if watch.snapshot is None:
            raise UndoError("no_snapshot", "the statement was committed without a snapshot")
        return Changed(value, known(watch.snapshot).after or ())

    async def fingerprint(self, snapshot: Snapshot) -> tuple[str, ...]:
        """Read the present rows of the changed keys."""
        return (digest(await self._present(snapshot)),)

    async def present(self, snapshot: Snapshot, max_bytes: int) -> Snapshot:
        """Take a snapshot of the present rows."""
        rows = await self._present(snapshot)
        return _snapshot(snapshot.data["database"], rows, rows)

    async def restore(self, snapshot: Snapshot, expected: tuple[str, ...] | None, prepare: Prepare) -> Changed:
        """Write the rows back, in one transaction that commits after the present ones are kept."""
        server = self.servers.get(snapshot.data["database"])
        if server is not None:
            return await restore_rows(server, snapshot, expected, prepare)
        loop, context = asyncio.get_running_loop(), contextvars.copy_context()

        def keep(now: Snapshot) -> None:
            wait_in_loop(loop, context, lambda: prepare(now))

        return await asyncio.to_thread(self._restore, snapshot, expected, keep, prepare.max_bytes)

    async def clean(self, snapshot: Snapshot) -> None:
        """Do nothing: a transaction leaves nothing behind."""

    def texts(self, snapshot: Snapshot) -> Mapping[str, str | None]:
        """Return the rows as lines of JSON."""
        lines = [json_text([*key, None if row is None else shown(row)]) for key, row in rows_of(snapshot, 0).items()]
        return {snapshot.target: "".join(f"{line}\n" for line in lines)}

    async def _present(self, snapshot: Snapshot) -> Rows:
        server = self.servers.get(snapshot.data["database"])
        if server is not None:
            return await present_rows(server, snapshot)
        return await asyncio.to_thread(self._read, snapshot)

    def _read(self, snapshot: Snapshot) -> Rows:
        with closing(self._connect(snapshot, "ro")) as connection, _translated():
            return read_rows(connection, rows_of(snapshot, 0))

    def _restore(
        self, snapshot: Snapshot, expected: tuple[str, ...] | None, keep: Callable[[Snapshot], None], max_bytes: int
    ) -> Changed:
        wanted = rows_of(snapshot, 0)
        with closing(self._connect(snapshot, "rw")) as connection, _translated():
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("BEGIN IMMEDIATE")
            now = read_rows(connection, wanted)
            if expected is not None and (digest(now),) != tuple(expected):
                raise UndoError("conflict", f"rows of `{snapshot.target}` changed since")
            refuse_triggers(connection)
            capture = Capture(connection)
            write_rows(connection, wanted)
            before, _ = capture.collect(max_bytes)
            if not set(before) <= set(wanted):
                raise UndoError("conflict", f"other rows depend on those of `{snapshot.target}`, and would be deleted")
            kept = _snapshot(snapshot.data["database"], now, wanted)
            keep(known(replace(kept, target=snapshot.target)))
            connection.execute("COMMIT")
        return Changed(None, snapshot.before)

    def _connect(self, snapshot: Snapshot, mode: str) -> sqlite3.Connection:
        name = snapshot.data["database"]
        if name not in self.files:
            raise UndoError("no_snapshotter", f"the database `{name}` is not among those of the tool")
        with _translated():
            return sqlite3.connect(
                f"file:{quote(self.files[name])}?mode={mode}", uri=True, isolation_level=None, timeout=BUSY_SECONDS
            )


class _translated:
    """Turns errors of SQLite into conflicts."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, sqlite3.Error):
            raise UndoError("conflict", f"the rows cannot be read or restored: {error}") from error


def wait_in_loop(
    loop: asyncio.AbstractEventLoop, context: contextvars.Context, make: Callable[[], Any]
) -> None:  # Any: a coroutine
    """Run a coroutine in the loop, in a context, and wait for it in this thread."""

    async def begin() -> None:
        await loop.create_task(make(), context=context)

    asyncio.run_coroutine_threadsafe(begin(), loop).result(WAIT_SECONDS)


def _snapshot(database: str, before: Rows, after: Rows) -> Snapshot:
    ordered = sorted(before, key=lambda key: (key[0], digest({key: None})))
    return snapshot_of(database, {key: before[key] for key in ordered}, after)
