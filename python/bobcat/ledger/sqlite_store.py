"""The ledger in a SQLite file, alone or beside the journals of a `SQLiteStore`: a sync per commit."""

from __future__ import annotations

import os
import sqlite3

from bobcat.errors import LedgerError
from bobcat.ledger.store import TABLES, LedgerStore
from bobcat.stores.connected import Connection
from bobcat.stores.private_files import create_private

BUSY_SECONDS = 30.0
"""Seconds that a change waits for other writers."""

_TYPES = {"prefix": "bobcat_", "index": "bobcat_", "text": "TEXT", "number": "INTEGER", "real": "REAL"}
_CODES = {
    sqlite3.SQLITE_READONLY: "read_only",
    sqlite3.SQLITE_BUSY: "busy",
    sqlite3.SQLITE_LOCKED: "busy",
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_NOTADB: "not_a_store",
    sqlite3.SQLITE_CORRUPT: "damaged",
}


class SQLiteLedgerStore(LedgerStore):
    """The tables in the file at `path`. With `must_exist`, a file without them is an error."""

    begin = "BEGIN IMMEDIATE"

    def __init__(self, path: str | os.PathLike[str], *, must_exist: bool = False) -> None:
        super().__init__("bobcat_")
        self._path = os.path.abspath(os.fspath(path))
        self._must_exist = must_exist
        if must_exist and not os.path.isfile(self._path):
            raise LedgerError("not_there", f"there is no ledger at `{os.fspath(path)}`")
        self.read(lambda: None)

    def connect(self) -> Connection:
        """Open the file; a new one gets the mode 0600."""
        if not self._must_exist:
            create_private(self._path)
        connection = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'bobcat_ledger_dimensions'").fetchone()
            if self._must_exist and there is None:
                raise LedgerError("not_there", f"`{self._path}` has no ledger")
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            if mode != "wal":
                raise LedgerError("no_wal", f"`{self._path}` cannot have a write-ahead log: keep it on a local disk")
            connection.execute("PRAGMA synchronous = FULL")
            if there is None:
                connection.execute("BEGIN IMMEDIATE")
                for statement in TABLES:
                    connection.execute(statement.format(**_TYPES))
                connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        return connection

    def lock_dimensions(self, *, exclusive: bool) -> None:
        """Do nothing: a file has one writer at a time."""

    def to_error(self, error: Exception) -> LedgerError | None:
        """Convert an error of SQLite or of the file system."""
        if not isinstance(error, (sqlite3.Error, OSError)):
            return None
        code = _CODES.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, "unavailable")
        return LedgerError(code, f"the ledger `{self._path}` cannot be used: {error}")
