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
from bobcat.decision_log.medium import Located, Stored
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
_VERSION = 1
_EXISTS = "SELECT to_regclass('bobcat.decision_log_head') IS NOT NULL"
_COLUMNS = "seq, record_id, kind, at, body, previous, hash"
_HEAD = """SELECT head.version, head.seq, head.hash, entry.hash, (SELECT max(seq) FROM bobcat.decision_log)
    FROM bobcat.decision_log_head AS head LEFT JOIN bobcat.decision_log AS entry ON entry.seq = head.seq"""

_CODES = {"53100": "full", "55P03": "busy", "25006": "read_only", "42501": "read_only"}
"""The codes of SQLSTATEs."""

Connection = psycopg.Connection[tuple[Any, ...]]  # Any: columns


class PostgresLog:
    """The storage of one database. One connection per process, under a lock; reconnects once when it is broken."""

    unit = "entry"

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
                row = make(_head(connection))
                made.append(row)
                _insert(connection, row)
            return row

        return self._repeated(work)

    def prune(self, through: int, make: Callable[[Head], Row]) -> Row:
        """Insert a row and delete those up to `through`."""
        with self._connected() as connection, connection.transaction():
            connection.execute(_LOCK)
            row = make(_head(connection))
            _insert(connection, row)
            connection.execute("DELETE FROM bobcat.decision_log WHERE seq <= %s", (through,))
        return row

    def rows(self, after: int = 0, until: int | None = None) -> Iterator[Row]:
        """Yield rows by position."""
        last = until if until is not None else (1 << 63) - 1
        query = f"SELECT {_COLUMNS} FROM bobcat.decision_log WHERE seq > %s AND seq <= %s ORDER BY seq LIMIT {PAGE}"
        while page := self._read(query, (after, last)):
            yield from page
            after = page[-1].seq

    def last_marker(self) -> Row | None:
        """Find the last row of kind `pruned` by its index."""
        query = f"SELECT {_COLUMNS} FROM bobcat.decision_log WHERE kind = 'pruned' ORDER BY seq DESC LIMIT 1"
        return next(iter(self._read(query, ())), None)

    def of_records(self, record_ids: Collection[str]) -> Iterator[Row]:
        """Yield the rows of some records."""
        query = f"SELECT {_COLUMNS} FROM bobcat.decision_log WHERE record_id = ANY(%s) ORDER BY seq"
        yield from self._read(query, (list(record_ids),))

    def newest_ids(self) -> Iterator[str]:
        """Yield the record ids of the rows from the end."""
        query = f"SELECT seq, record_id FROM bobcat.decision_log WHERE seq < %s ORDER BY seq DESC LIMIT {PAGE}"
        before = (1 << 63) - 1
        while True:
            with self._connected() as connection:
                page = connection.execute(query.encode(), (before,)).fetchall()
            if not page:
                return
            yield from (record_id for _, record_id in page)
            before = page[-1][0]

    def located(self) -> Iterator[Located]:
        """Yield every row with its place, as of one moment."""
        with self._connected() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            with connection.cursor(name="bobcat_verify") as cursor:
                cursor.itersize = PAGE
                for found in cursor.execute(f"SELECT {_COLUMNS} FROM bobcat.decision_log ORDER BY seq"):
                    yield Located(found[0], Row(*found))

    def stored(self) -> Stored:
        """Read the head's table."""
        with self._connected() as connection:
            found = connection.execute("SELECT seq, hash FROM bobcat.decision_log_head").fetchall()
        if len(found) != 1:
            return Stored(None, "the table of the head is damaged", damaged=True)
        return Stored(Head(*found[0]))

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._closed = True
            self._disconnect()

    def _has(self, connection: Connection, row: Row) -> bool:
        query = "SELECT 1 FROM bobcat.decision_log WHERE seq = %s AND hash = %s"
        return connection.execute(query, (row.seq, row.hash)).fetchone() is not None

    def _read(self, query: str, values: tuple[object, ...]) -> list[Row]:
        def work(connection: Connection) -> list[Row]:
            return [Row(*found) for found in connection.execute(query.encode(), values)]

        return self._repeated(work)

    def _repeated(self, work: Callable[[Connection], T]) -> T:
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
                raise DecisionLogError("closed", "the decision log on PostgreSQL was closed")
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


def _head(connection: Connection) -> Head:
    """The head, checked against the last row: nothing is added behind a tail that was removed."""
    found = connection.execute(_HEAD).fetchall()
    if len(found) != 1:
        raise DecisionLogError("damaged", f"the table of the head has {len(found)} rows, not 1")
    version, seq, hash, stored, last = found[0]
    if version != _VERSION:
        raise DecisionLogError("too_new", f"the decision log has version {version}: upgrade bobcat")
    if (last or 0) != seq or (seq and stored != hash):
        raise DecisionLogError("damaged", f"entry {seq}, which was written last, is not the last one")
    return Head(seq, hash)


def _insert(connection: Connection, row: Row) -> None:
    query = f"INSERT INTO bobcat.decision_log ({_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s)"
    connection.execute(query.encode(), row)
    connection.execute("UPDATE bobcat.decision_log_head SET seq = %s, hash = %s", (row.seq, row.hash))


def _one(cursor: psycopg.Cursor[tuple[Any, ...]]) -> object:
    found = cursor.fetchone()
    return None if found is None else found[0]


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        first = str(error).strip().splitlines()
        code = {"53100": "full", "55P03": "busy", "25006": "read_only", "42501": "read_only"}.get(
            error.sqlstate or "", "unavailable"
        )
        raise DecisionLogError(code, f"PostgreSQL: {first[0] if first else type(error).__name__}") from error
