"""Tables in a PostgreSQL database, in the schema of the store. psycopg is the extra `bobcat[postgres]`."""

from __future__ import annotations

from typing import Any, cast

import psycopg

from bobcat.stores.connected import Connection, TableSet

BUSY_SECONDS = 30
"""Seconds that a change waits for other writers."""
CONNECT_SECONDS = 30

_TYPES = {"index": "", "text": 'text COLLATE "C"', "number": "bigint", "real": "double precision", "bytes": "bytea"}
_CODES = {"53100": "full", "55P03": "busy", "25006": "read_only", "42501": "read_only"}
"""The codes of SQLSTATEs."""
_CONFLICTS = ("40001", "40P01")
"""The SQLSTATEs of a serialization failure and of a deadlock."""


class PostgresSchema:
    """The schema `schema` of the database `url`. With `must_exist`, a schema without the tables is an error."""

    begin = "BEGIN"
    mark = "%s"
    lock_rows = " FOR UPDATE"
    one_writer = False

    def __init__(self, url: str, tables: TableSet, *, schema: str = "bobcat", must_exist: bool = False) -> None:
        self.prefix = f'"{schema}".'
        self._url, self._schema, self._tables, self._must_exist = url, schema, tables, must_exist

    def connect(self) -> Connection:
        """Open a connection, and create the tables where they are missing."""
        connection = psycopg.connect(self._url, autocommit=True, connect_timeout=CONNECT_SECONDS)
        try:
            connection.execute("SET synchronous_commit = on")
            connection.execute("SET default_transaction_isolation = 'read committed'")
            connection.execute(f"SET lock_timeout = '{BUSY_SECONDS}s'".encode())
            table = self.prefix + next(iter(self._tables.names.values()))
            found = connection.execute("SELECT to_regclass(%s) IS NOT NULL", (table,)).fetchone()
            if found is None or not found[0]:
                if self._must_exist:
                    raise self._tables.error("not_there", f"there is no {self._tables.noun} in the database")
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
            for statement in self._tables.create:
                connection.execute(statement.format(prefix=self.prefix, **_TYPES).encode())

    def to_error(self, error: Exception) -> Exception | None:
        """Convert an error of PostgreSQL."""
        if not isinstance(error, psycopg.Error):
            return None
        first = str(error).strip().splitlines()
        code = _CODES.get(error.sqlstate or "", "unavailable")
        return self._tables.error(code, f"PostgreSQL: {first[0] if first else type(error).__name__}")

    def is_broken(self, connection: Connection) -> bool:
        """Return true after the server has gone away."""
        return bool(getattr(connection, "closed", False))

    def is_conflict(self, error: BaseException) -> bool:
        """Return true for a deadlock and for a serialization failure."""
        return isinstance(error, psycopg.Error) and error.sqlstate in _CONFLICTS
