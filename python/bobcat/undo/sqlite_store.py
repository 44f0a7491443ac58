"""Undo entries in a SQLite file that only its owner can read: a write-ahead log, and a sync per commit."""

from __future__ import annotations

import os
import sqlite3

from bobcat.errors import UndoError
from bobcat.stores.connected import Connection
from bobcat.stores.private_files import create_private
from bobcat.undo.store import TABLES, UndoStore

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


class SQLiteUndoStore(UndoStore):
    """The entries in the file at `path`. With `must_exist`, a missing file is an error: a mistyped path holds none."""

    begin = "BEGIN IMMEDIATE"

    def __init__(self, path: str | os.PathLike[str], *, must_exist: bool = False) -> None:
        super().__init__("bobcat_undo_entries")
        self._path = os.path.abspath(os.fspath(path))
        if must_exist and not os.path.isfile(self._path):
            raise UndoError("not_there", f"there is no undo store at `{os.fspath(path)}`")
        self.read(lambda: None)

    def connect(self) -> Connection:
        """Open the file; a new one gets the mode 0600."""
        create_private(self._path)
        connection = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            if mode != "wal":
                raise UndoError("no_wal", f"`{self._path}` cannot have a write-ahead log: keep it on a local disk")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = ON")
            for statement in TABLES:
                connection.execute(statement.format(**_TYPES))
        except BaseException:
            connection.close()
            raise
        return connection

    def to_error(self, error: Exception) -> UndoError | None:
        """Convert an error of SQLite or of the file system."""
        if not isinstance(error, (sqlite3.Error, OSError)):
            return None
        code = _CODES.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, "unavailable")
        return UndoError(code, f"the undo store `{self._path}` cannot be used: {error}")
