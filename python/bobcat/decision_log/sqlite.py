"""A decision log in a SQLite file: `BEGIN IMMEDIATE` around each append, a write-ahead log, a sync per commit.

The head is a row of a second table, changed in the same transaction as the entries.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TypeVar
from urllib.parse import quote

from bobcat.decision_log.entry import Head, Row
from bobcat.decision_log.medium import Located
from bobcat.decision_log.os_errors import to_log_error
from bobcat.decision_log.tables import COLUMNS, VERSION, LogTables, located
from bobcat.errors import DecisionLogError
from bobcat.stores.private_files import create_private
from bobcat.stores.write_ahead import write_ahead

T = TypeVar("T")

BUSY_SECONDS = 30.0
"""Seconds that an append waits for other writers."""
PAGE = 500
"""Rows that are read at once: no cursor stays open between them."""

_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS bobcat_log_entries (
        seq INTEGER NOT NULL PRIMARY KEY,
        record_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        at TEXT NOT NULL,
        body TEXT NOT NULL,
        previous TEXT NOT NULL,
        hash TEXT NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS bobcat_log_by_record ON bobcat_log_entries (record_id, seq)",
    "CREATE INDEX IF NOT EXISTS bobcat_log_marks ON bobcat_log_entries (seq) WHERE kind = 'pruned'",
    "CREATE TABLE IF NOT EXISTS bobcat_log_head (version INTEGER NOT NULL, seq INTEGER NOT NULL, hash TEXT NOT NULL)",
)


class SQLiteLog(LogTables):
    """The storage of one file. One connection per process, under a lock."""

    entries, head, mark, page = "bobcat_log_entries", "bobcat_log_head", "?", PAGE

    def __init__(self, path: str, *, must_exist: bool = False, read_only: bool = False) -> None:
        self._path, self._read_only = path, read_only
        self.name = f"the decision log `{path}`"
        if must_exist and not os.path.isfile(path):
            raise DecisionLogError("not_there", f"there is no decision log at `{path}`")
        self._lock = threading.RLock()  # reads inside a write: see `prune`
        self._process = 0
        self._connection: sqlite3.Connection | None = None
        self._abandoned: list[sqlite3.Connection] = []
        self._closed = False
        with self._connected():
            pass

    def append(self, make: Callable[[Head], Row]) -> Row:
        """Store the row that follows the head."""
        with self._writing() as connection:
            return self.add(connection, make)

    def prune(self, through: int, make: Callable[[Head], Row]) -> Row:
        """Append a row and remove those up to `through`."""
        with self._writing() as connection:
            return self.replace(connection, through, make)

    def of_records(self, record_ids: Collection[str]) -> Iterator[Row]:
        """Yield the rows of some records."""
        record_ids, found = tuple(record_ids), []
        for start in range(0, len(record_ids), PAGE):
            part = record_ids[start : start + PAGE]
            marks = ",".join("?" * len(part))
            found += self.read(f"WHERE record_id IN ({marks})", part)
        yield from sorted(found)

    def located(self) -> Iterator[Located]:
        """Yield every row with its place."""
        # One statement sees one state of the file, whatever others write meanwhile.
        with self._connected() as connection:
            yield from map(located, connection.execute(f"SELECT {COLUMNS} FROM bobcat_log_entries ORDER BY seq"))

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._closed = True
            connection, self._connection = self._connection, None
            if connection is not None and self._process == os.getpid():
                connection.close()

    def repeated(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Call `work` with the connection: a file does not disconnect."""
        with self._connected() as connection:
            return work(connection)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.rollback()
                raise

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """The connection of this process, held by this thread."""
        if self._process not in (0, os.getpid()):  # a fork: a thread of the parent may have held the lock
            self._lock = threading.RLock()
        with self._lock, self._translated():
            if self._closed:
                raise DecisionLogError("closed", f"{self.name} was closed")
            if self._connection is None or self._process != os.getpid():
                if self._connection is not None:  # another process owns it: closing it here would drop its locks
                    self._abandoned.append(self._connection)
                self._connection, self._process = None, os.getpid()
                self._connection = self._connect()
            yield self._connection

    def _connect(self) -> sqlite3.Connection:
        if self._read_only:
            return self._connect_to_read()
        try:
            create_private(self._path)
        except OSError as error:
            raise to_log_error(self._path, error) from error
        connection = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            _set_up(connection, self._path)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect_to_read(self) -> sqlite3.Connection:
        """Connect to an existing log without changing it; where its directory is read-only, read the file alone."""
        log = f"{self._path}-wal"
        still = not os.path.exists(log) or not os.path.getsize(log)
        for mode in ("mode=rw", "mode=ro&immutable=1") if still else ("mode=rw", "mode=ro"):
            connection = sqlite3.connect(
                f"file:{quote(self._path)}?{mode}", uri=True, timeout=BUSY_SECONDS, isolation_level=None,
                check_same_thread=False,
            )  # fmt: skip
            try:
                found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'bobcat_log_head'").fetchone()
            except sqlite3.OperationalError:
                connection.close()
                if mode == "mode=rw":
                    continue
                raise
            if found is None:
                connection.close()
                raise DecisionLogError("not_a_log", f"`{self._path}` is a SQLite file without a decision log")
            return connection
        raise AssertionError("unreachable: the last mode returns or raises")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            name = {
                sqlite3.SQLITE_READONLY: "read_only",
                sqlite3.SQLITE_BUSY: "busy",
                sqlite3.SQLITE_LOCKED: "busy",
                sqlite3.SQLITE_FULL: "full",
                sqlite3.SQLITE_NOTADB: "not_a_log",
                sqlite3.SQLITE_CORRUPT: "damaged",
            }.get(code, "unavailable")
            raise DecisionLogError(name, f"{self.name} cannot be used: {error}") from error


def _set_up(connection: sqlite3.Connection, path: str) -> None:
    mode = write_ahead(connection, BUSY_SECONDS)
    if mode != "wal":
        raise DecisionLogError(
            "no_wal", f"`{path}` cannot have a write-ahead log (SQLite offers `{mode}`): keep it on a local disk"
        )
    connection.execute("PRAGMA synchronous = FULL")
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'bobcat_log_head'").fetchone() is not None:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        others = connection.execute("SELECT name FROM sqlite_master WHERE name NOT LIKE 'bobcat_log_%'").fetchone()
        if others is not None:
            raise DecisionLogError("not_a_log", f"`{path}` has other tables, such as `{others[0]}`: take another file")
        for statement in _SCHEMA:
            connection.execute(statement)
        if connection.execute("SELECT 1 FROM bobcat_log_head").fetchone() is None:
            connection.execute("INSERT INTO bobcat_log_head VALUES (?, 0, ?)", (VERSION, "0" * 64))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.rollback()
        raise
