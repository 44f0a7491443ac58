"""A decision log in a PostgreSQL database: two tables in the schema `bobcat`, one log per database.

Every append takes an advisory lock in the transaction that inserts the entry and changes the head. psycopg is the extra
`bobcat[postgres]`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import psycopg

from bobcat.decision_log.entry import Head, Row
from bobcat.decision_log.medium import Located
from bobcat.decision_log.tables import COLUMNS, LogTables
from bobcat.errors import DecisionLogError

T = TypeVar("T")

PAGE = 1000
"""Rows that are fetched at once."""
BUSY_SECONDS = 30.0
"""Seconds that an append waits for other writers."""
CONNECT_SECONDS = 30
"""Seconds that a connection has to be made."""

_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('bobcat decision log', 0))"
_STORE_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('bobcat bobcat', 0))"
"""The lock of `PostgresStore` while it creates the schema, which both share."""
_SCHEMA = (
    "CREATE SCHEMA IF NOT EXISTS bobcat",
    """CREATE TABLE IF NOT EXISTS bobcat.decision_log (
        seq bigint PRIMARY KEY,
        record_id text COLLATE "C" NOT NULL,
        kind text NOT NULL,
        at text NOT NULL,
        body text NOT NULL,
        previous text NOT NULL,
        hash text NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS decision_log_by_record ON bobcat.decision_log (record_id, seq)",
    "CREATE INDEX IF NOT EXISTS decision_log_marks ON bobcat.decision_log (seq) WHERE kind = 'pruned'",
    """CREATE TABLE IF NOT EXISTS bobcat.decision_log_head (
        version int NOT NULL,
        seq bigint NOT NULL,
        hash text NOT NULL
    )""",
    """INSERT INTO bobcat.decision_log_head
        SELECT 1, 0, repeat('0', 64) WHERE NOT EXISTS (SELECT 1 FROM bobcat.decision_log_head)""",
)
_EXISTS = "SELECT to_regclass('bobcat.decision_log_head') IS NOT NULL"

_CODES = {"53100": "full", "55P03": "busy", "25006": "read_only", "42501": "read_only"}
"""The codes of SQLSTATEs."""

Connection = psycopg.Connection[tuple[Any, ...]]  # Any: columns


class PostgresLog(LogTables):
    """The storage of one database. One connection per process, under a lock; reconnects once when it is broken."""

    name = "the decision log on PostgreSQL"
    entries, head, mark, page = "bobcat.decision_log", "bobcat.decision_log_head", "%s", PAGE

    def __init__(self, url: str, *, must_exist: bool = False, read_only: bool = False) -> None:
        self._url, self._must_exist = url, must_exist or read_only
        self._lock = threading.RLock()
        self._process = 0
        self._connection: Connection | None = None
        self._closed = False
        with self._connected():
            pass

    def append(self, make: Callable[[Head], Row]) -> Row:
        """Insert the row that follows the head. After a broken commit, looks for the row before it inserts again."""
        made: list[Row] = []

        def work(connection: Connection) -> Row:
            with connection.transaction():
                connection.execute(_LOCK)
                if made and self._has(connection, made[-1]):
                    return made[-1]
                made.append(self.add(connection, make))
            return made[-1]

        return self.repeated(work)

    def prune(self, through: int, make: Callable[[Head], Row]) -> Row:
        """Insert a row and delete those up to `through`."""
        with self._connected() as connection, connection.transaction():
            connection.execute(_LOCK)
            return self.replace(connection, through, make)

    def of_records(self, record_ids: Collection[str]) -> Iterator[Row]:
        """Yield the rows of some records."""
        yield from self.read("WHERE record_id = ANY(%s) ORDER BY seq", (list(record_ids),))

    def located(self) -> Iterator[Located]:
        """Yield every row with its place, as of one moment."""
        with self._connected() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            with connection.cursor(name="bobcat_verify") as cursor:
                cursor.itersize = PAGE
                for found in cursor.execute(f"SELECT {COLUMNS} FROM bobcat.decision_log ORDER BY seq"):
                    yield Located(found[0], Row(*found))

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._closed = True
            self._disconnect()

    def _has(self, connection: Connection, row: Row) -> bool:
        query = "SELECT 1 FROM bobcat.decision_log WHERE seq = %s AND hash = %s"
        return connection.execute(query, (row.seq, row.hash)).fetchone() is not None

    def repeated(self, work: Callable[[Connection], T]) -> T:
        """Call `work`, and once more on a new connection if the first one is broken."""
        self._adopt()
        with self._lock:
            try:
                with self._connected() as connection:
                    return work(connection)
            except DecisionLogError as error:
                if error.code != "unavailable" or self._connection is None or not self._connection.broken:
                    raise
            self._disconnect()
            with self._connected() as connection:
                return work(connection)

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """The connection of this process, held by this thread."""
        self._adopt()
        with self._lock, _translated():
            if self._closed:
                raise DecisionLogError("closed", f"{self.name} was closed")
            if self._connection is None:
                self._process = os.getpid()
                self._connection = self._connect()
            yield self._connection

    def _adopt(self) -> None:
        """Forget the connection in a fork: the parent owns it, and one of its threads may have held the lock."""
        if self._process not in (0, os.getpid()):
            self._lock, self._connection, self._process = threading.RLock(), None, 0

    def _connect(self) -> Connection:
        connection = psycopg.connect(self._url, autocommit=True, connect_timeout=CONNECT_SECONDS)
        try:
            connection.execute("SET synchronous_commit = on")
            connection.execute(f"SET lock_timeout = '{BUSY_SECONDS:.0f}s'".encode())
            if not _one(connection.execute(_EXISTS)):
                if self._must_exist:
                    raise DecisionLogError("not_there", "there is no decision log in the database")
                with connection.transaction():
                    connection.execute(_STORE_LOCK)
                    connection.execute(_LOCK)
                    for statement in _SCHEMA:
                        connection.execute(statement.encode())
        except BaseException:
            connection.close()
            raise
        return connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and self._process == os.getpid():
            with suppress(psycopg.Error):
                connection.close()


def _one(cursor: psycopg.Cursor[tuple[Any, ...]]) -> object:
    found = cursor.fetchone()
    return None if found is None else found[0]


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        first = str(error).strip().splitlines()
        code = _CODES.get(error.sqlstate or "", "unavailable")
        raise DecisionLogError(code, f"PostgreSQL: {first[0] if first else type(error).__name__}") from error
