"""The ledger in a PostgreSQL database, in the schema of the store. psycopg is the extra `bobcat[postgres]`."""

from __future__ import annotations

from typing import Any, cast

import psycopg

from bobcat.errors import LedgerError
from bobcat.ledger.store import TABLES, LedgerStore
from bobcat.stores.connected import Connection

BUSY_SECONDS = 30
"""Seconds that a change waits for other writers."""
CONNECT_SECONDS = 30

_TYPES = {"index": "", "text": 'text COLLATE "C"', "number": "bigint", "real": "double precision"}
_CODES = {"53100": "full", "55P03": "busy", "25006": "read_only", "42501": "read_only"}
"""The codes of SQLSTATEs."""
_CONFLICTS = ("40001", "40P01")
"""The SQLSTATEs of a serialization failure and of a deadlock."""


class PostgresLedgerStore(LedgerStore):
    """The tables in the schema `schema` of the database `url`. With `must_exist`, a schema without them is an error."""

    mark = "%s"
    lock_rows = " FOR UPDATE"

    def __init__(self, url: str, *, schema: str = "bobcat", must_exist: bool = False) -> None:
        super().__init__(f'"{schema}".')
        self._url, self._schema, self._must_exist = url, schema, must_exist
        self.read(lambda: None)

    def connect(self) -> Connection:
        """Open a connection, and create the tables where they are missing."""
        connection = psycopg.connect(self._url, autocommit=True, connect_timeout=CONNECT_SECONDS)
        try:
            connection.execute("SET synchronous_commit = on")
            connection.execute("SET default_transaction_isolation = 'read committed'")
            connection.execute(f"SET lock_timeout = '{BUSY_SECONDS}s'".encode())
            table = f'"{self._schema}".ledger_dimensions'
            found = connection.execute("SELECT to_regclass(%s) IS NOT NULL", (table,)).fetchone()
            if found is None or not found[0]:
                if self._must_exist:
                    raise LedgerError("not_there", "there is no ledger in the database")
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

    def lock_dimensions(self, *, exclusive: bool) -> None:
        """Hold the lock of the table until the end of the transaction: shared by writers of entries."""
        kind = "EXCLUSIVE" if exclusive else "ROW SHARE"
        self.run(f"LOCK TABLE DIMENSIONS IN {kind} MODE", ())

    def to_error(self, error: Exception) -> LedgerError | None:
        """Convert an error of PostgreSQL."""
        if not isinstance(error, psycopg.Error):
            return None
        first = str(error).strip().splitlines()
        code = _CODES.get(error.sqlstate or "", "unavailable")
        return LedgerError(code, f"PostgreSQL: {first[0] if first else type(error).__name__}")

    def is_broken(self, connection: Connection) -> bool:
        """Return true after the server has gone away."""
        return bool(getattr(connection, "closed", False))

    def is_conflict(self, error: BaseException) -> bool:
        """Return true for a deadlock and for a serialization failure."""
        return isinstance(error, psycopg.Error) and error.sqlstate in _CONFLICTS
