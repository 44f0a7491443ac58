"""Undo entries in a PostgreSQL database, in the schema of the store. psycopg is the extra `bobcat[postgres]`."""

from __future__ import annotations

from typing import Any, cast

import psycopg

from bobcat.errors import UndoError
from bobcat.stores.connected import Connection
from bobcat.undo.store import TABLES, UndoStore

BUSY_SECONDS = 30
"""Seconds that a change waits for other writers."""
CONNECT_SECONDS = 30

_TYPES = {"index": "", "text": 'text COLLATE "C"', "number": "bigint", "real": "double precision", "bytes": "bytea"}
_CODES = {"53100": "full", "55P03": "busy", "25006": "read_only", "42501": "read_only"}
"""The codes of SQLSTATEs."""


class PostgresUndoStore(UndoStore):
    """The entries in the schema `schema` of the database `url`."""

    mark = "%s"

    def __init__(self, url: str, *, schema: str = "bobcat", must_exist: bool = False) -> None:
        super().__init__(f'"{schema}".undo_entries')
        self._url, self._schema, self._must_exist = url, schema, must_exist
        self.read(lambda: None)

    def connect(self) -> Connection:
        """Open a connection, and create the table where it is missing."""
        connection = psycopg.connect(self._url, autocommit=True, connect_timeout=CONNECT_SECONDS)
        try:
            connection.execute("SET synchronous_commit = on")
            connection.execute(f"SET lock_timeout = '{BUSY_SECONDS}s'".encode())
            found = connection.execute(
                "SELECT to_regclass(%s) IS NOT NULL", (f'"{self._schema}".undo_entries',)
            ).fetchone()
            if found is None or not found[0]:
                if self._must_exist:
                    raise UndoError("not_there", "there is no undo store in the database")
                self._create(connection)
        except BaseException:
            connection.close()
            raise
        return cast("Connection", connection)

    def _create(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:  # Any: columns
        with connection.transaction():
            # The lock of `PostgresStore` while it creates the schema, which both share.
            connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"bobcat {self._schema}",))
            connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{self._schema}"'.encode())
            for statement in TABLES:
                connection.execute(statement.format(prefix=f'"{self._schema}".', **_TYPES).encode())

    def to_error(self, error: Exception) -> UndoError | None:
        """Convert an error of PostgreSQL."""
        if not isinstance(error, psycopg.Error):
            return None
        first = str(error).strip().splitlines()
        code = _CODES.get(error.sqlstate or "", "unavailable")
        return UndoError(code, f"PostgreSQL: {first[0] if first else type(error).__name__}")

    def is_broken(self, connection: Connection) -> bool:
        """Return true after the server has gone away."""
        return bool(getattr(connection, "closed", False))
