"""Sessions of SQLite: a file, an authorizer, a deadline. Runs in a thread."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

from bobcat.errors import ToolError
from bobcat.providers.database.limits import SqlLimits
from bobcat.providers.database.statement import Parsed
from bobcat.providers.database.values import Rows, Value
from bobcat.undo.sql import current_watch

Authorizer: TypeAlias = Callable[[int, str | None, str | None, str | None, str | None], int]

_STEPS = 1_000
"""Instructions of SQLite between two looks at the clock."""
_BUSY_SECONDS = 5.0
"""Maximum time to wait for another writer."""
_FUNCTIONS = frozenset(("load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "lsmode", "fsdir"))
"""Functions that reach files or code, if an extension or the library defines them."""
_READS = frozenset((sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE))
_NEVER = frozenset((sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_PRAGMA, sqlite3.SQLITE_TRANSACTION))


class Lite:
    """A database in a file. Each call has its own session."""

    def __init__(self, name: str, path: str | os.PathLike[str], limits: SqlLimits) -> None:
        self._name, self._limits = name, limits
        self._path = Path(os.path.abspath(path))

    async def run(self, parsed: Parsed, parameters: Sequence[Value], rows: int, *, write: bool) -> dict[str, Value]:
        """Run a statement in a thread."""
        ended = threading.Event()
        try:
            return await asyncio.to_thread(self._run, parsed, parameters, rows, ended, write=write)
        finally:
            ended.set()

    @property
    def path(self) -> str:
        """The absolute path of the file."""
        return str(self._path)

    def facts(self) -> dict[str, Value]:
        """The file that a call opens. Raises `ToolError` for one that is not there."""
        try:
            found = os.stat(self._path)
        except OSError as error:
            raise ToolError(f"the database `{self._name}` cannot be opened: {error.strerror}", "database") from error
        if not stat.S_ISREG(found.st_mode):
            raise ToolError(f"the database `{self._name}` is no regular file", "database")
        return {"database": self._name, "device": found.st_dev, "inode": found.st_ino}

    def _run(
        self, parsed: Parsed, parameters: Sequence[Value], rows: int, ended: threading.Event, *, write: bool
    ) -> dict[str, Value]:
        deadline = time.monotonic() + self._limits.seconds
        mode = "rw" if write else "ro"
        try:
            connection = sqlite3.connect(
                f"file:{quote(str(self._path))}?mode={mode}",
                uri=True,
                isolation_level=None,
                timeout=min(_BUSY_SECONDS, self._limits.seconds),
            )
        except sqlite3.Error as error:
            raise ToolError(f"the database `{self._name}` cannot be opened: {error}", "database") from error
        try:
            authorize = self._restrict(connection, parsed, write=write)
            connection.set_progress_handler(lambda: ended.is_set() or time.monotonic() > deadline, _STEPS)
            limits = SqlLimits(1, rows, self._limits.characters)
            if not write:
                connection.set_authorizer(authorize)
                return self._queried(connection, parsed, parameters, limits)
            return self._executed(connection, parsed, parameters, limits, authorize)
        except (sqlite3.Error, sqlite3.Warning, OverflowError, MemoryError) as error:
            if isinstance(error, sqlite3.OperationalError) and time.monotonic() > deadline:
                text = f"the statement was ended after {self._limits.seconds:g} s"
                raise ToolError(text, "timeout") from error
            raise ToolError(f"the database refuses the statement: {error}", "database") from error
        finally:
            connection.close()

    def _restrict(self, connection: sqlite3.Connection, parsed: Parsed, *, write: bool) -> Authorizer:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA foreign_keys = ON")
        if not write:
            connection.execute("PRAGMA query_only = ON")
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(self._limits.characters, 1_000_000))
        named = {name.rpartition(".")[2] for name in parsed.tables}
        if write:
            named |= _related(connection)
        transaction = ("BEGIN", "COMMIT", "ROLLBACK")

        def authorize(action: int, one: str | None, two: str | None, base: str | None, inner: str | None) -> int:
            permitted = action in _READS or (write and action not in _NEVER)
            if action == sqlite3.SQLITE_TRANSACTION:
                permitted = write and one in transaction
            elif action == sqlite3.SQLITE_FUNCTION:
                permitted = str(two).lower() not in _FUNCTIONS
            elif inner is None and two and action in (sqlite3.SQLITE_READ, sqlite3.SQLITE_UPDATE):
                table = str(one).lower()
                permitted = permitted and (table in named or table.startswith("sqlite_"))
            return sqlite3.SQLITE_OK if permitted else sqlite3.SQLITE_DENY

        return authorize

    def _queried(
        self, connection: sqlite3.Connection, parsed: Parsed, parameters: Sequence[Value], limits: SqlLimits
    ) -> dict[str, Value]:
        kept = Rows(limits)
        cursor = connection.execute(parsed.text, tuple(parameters))
        for row in cursor:
            if not kept.add(row):
                break
        return kept.result(_columns(cursor))

    def _executed(
        self,
        connection: sqlite3.Connection,
        parsed: Parsed,
        parameters: Sequence[Value],
        limits: SqlLimits,
        authorize: Authorizer,
    ) -> dict[str, Value]:
        kept, watch = Rows(limits), current_watch()
        connection.execute("BEGIN IMMEDIATE")
        if watch is not None:
            watch.begin(connection)
        connection.set_authorizer(authorize)
        cursor = connection.execute(parsed.text, tuple(parameters))
        for row in cursor:  # to the end: a row of `RETURNING` that does not fit is dropped, not its change
            if not kept.truncated:
                kept.add(row)
        affected = cursor.rowcount
        connection.set_authorizer(None)
        if watch is not None:
            watch.before_commit(connection)
        connection.execute("COMMIT")
        return {"rows_affected": max(affected, 0), **kept.result(_columns(cursor))}


def _related(connection: sqlite3.Connection) -> set[str]:
    """The tables with foreign keys and those that they refer to: SQLite reads them where a statement changes either."""
    keys = connection.execute(
        'SELECT tables.name, keys."table" FROM sqlite_master AS tables, pragma_foreign_key_list(tables.name) AS keys '
        "WHERE tables.type = 'table'"
    )
    return {str(name).lower() for row in keys for name in row}


def _columns(cursor: sqlite3.Cursor) -> list[str]:
    description: Any = cursor.description  # Any: typeshed has a tuple of Nones
    return [str(column[0]) for column in description or ()]
