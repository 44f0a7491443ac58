"""Tables in a SQLite file that only its owner can read: a write-ahead log, and a sync per commit."""

from __future__ import annotations

import os
import sqlite3

from bobcat.stores.connected import Connection, TableSet
from bobcat.stores.private_files import create_private
from bobcat.stores.write_ahead import write_ahead

BUSY_SECONDS = 30.0
"""Seconds that a change waits for other writers."""

_TYPES = {"prefix": "bobcat_", "index": "bobcat_", "text": "TEXT", "number": "INTEGER", "real": "REAL", "bytes": "BLOB"}
_CODES = {
    sqlite3.SQLITE_READONLY: "read_only",
    sqlite3.SQLITE_BUSY: "busy",
    sqlite3.SQLITE_LOCKED: "busy",
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_NOTADB: "not_a_store",
    sqlite3.SQLITE_CORRUPT: "damaged",
}


class SQLiteFile:
    """The file at `path`. With `must_exist`, a file without the tables is an error."""

    prefix = "bobcat_"
    begin = "BEGIN IMMEDIATE"
    mark = "?"
    lock_rows = ""
    one_writer = True

    def __init__(self, path: str, tables: TableSet, *, must_exist: bool = False) -> None:
        self._path = os.path.abspath(path)
        self._tables, self._must_exist = tables, must_exist
        if must_exist and not os.path.isfile(self._path):
            raise tables.error("not_there", f"there is no {tables.noun} at `{path}`")

    def connect(self) -> Connection:
        """Open the file; a new one gets the mode 0600."""
        tables = self._tables
        if not self._must_exist:
            create_private(self._path)
        connection = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            table = self.prefix + next(iter(tables.names.values()))
            there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone()
            if self._must_exist and there is None:
                raise tables.error("not_there", f"`{self._path}` has no {tables.noun}")
            if write_ahead(connection, BUSY_SECONDS) != "wal":
                raise tables.error("no_wal", f"`{self._path}` cannot have a write-ahead log: keep it on a local disk")
            for pragma in ("synchronous = FULL", *tables.pragmas):
                connection.execute(f"PRAGMA {pragma}")
            if there is None:
                connection.execute("BEGIN IMMEDIATE")
                for statement in tables.create:
                    connection.execute(statement.format(**_TYPES))
                connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        return connection

    def to_error(self, error: Exception) -> Exception | None:
        """Convert an error of SQLite or of the file system."""
        if not isinstance(error, (sqlite3.Error, OSError)):
            return None
        code = _CODES.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, "unavailable")
        return self._tables.error(code, f"the {self._tables.noun} `{self._path}` cannot be used: {error}")

    def is_broken(self, connection: Connection) -> bool:
        """Return false."""
        return False

    def is_conflict(self, error: BaseException) -> bool:
        """Return false."""
        return False
