"""One connection per process, under a lock, and transactions on it. A broken connection is replaced.

Ledgers and undo stores have their tables through it: their methods block, and callers use threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
ATTEMPTS = 5
"""How often a transaction is begun that the database has undone in favour of another one."""


class Connection(Protocol):
    """What both drivers' connections have."""

    def execute(self, statement: Any, values: Any = ..., /) -> Any:  # Any: the drivers' own types
        """Execute one statement."""

    def close(self) -> None:
        """Close the connection."""


@dataclass(frozen=True, slots=True)
class TableSet:
    """Tables that one database has: `names` by their words in statements, the first is looked for.

    `noun` names the whole in messages, and `error` makes an error of a code and a message. `example` is a file name for
    messages. `beside` is the suffix of the file beside that of a `SQLiteStore`: empty for the same file.
    """

    noun: str
    names: Mapping[str, str]
    create: Sequence[str]
    error: Callable[[str, str], Exception]
    example: str
    beside: str = ""
    pragmas: tuple[str, ...] = ()


class Database(Protocol):
    """The place of the tables: a SQLite file, or a schema of a PostgreSQL database."""

    prefix: str
    begin: str
    mark: str
    """The placeholder of the driver."""
    lock_rows: str
    """Suffix of a query whose rows are to be locked until the end of the transaction."""
    one_writer: bool
    """True if a transaction excludes all other writers."""

    def connect(self) -> Connection:
        """Open a connection, and create the tables where they are missing."""

    def to_error(self, error: Exception) -> Exception | None:
        """Convert an error of the driver; None for another one."""

    def is_broken(self, connection: Connection) -> bool:
        """Return true if the connection cannot be used any more. A file does not disconnect."""

    def is_conflict(self, error: BaseException) -> bool:
        """Return true if the database has undone the transaction in favour of another one. In a file, writers wait."""


class Connected:
    """Tables in a database, which is opened at once."""

    def __init__(self, database: Database, tables: TableSet) -> None:
        self._database, self._set = database, tables
        self._tables = {name: database.prefix + table for name, table in tables.names.items()}
        self._texts: dict[str, str] = {}
        self._lock = threading.RLock()
        self._process = 0
        self._connection: Connection | None = None
        self._abandoned: list[Connection] = []
        self._closed = False
        self.read(lambda: None)

    def run(self, statement: str, values: Sequence[object]) -> Any:  # Any: a cursor
        """Execute one statement on the connection of a `read` or a `write`."""
        assert self._connection is not None
        text = self._texts.get(statement)
        if text is None:
            text = statement.replace("?", self._database.mark)
            for name, table in self._tables.items():
                text = text.replace(name, table)
            self._texts[statement] = text
        return self._connection.execute(text, tuple(values))

    def read(self, work: Callable[[], T]) -> T:
        """Call `work` with a connection, again if it is broken. Raises the errors of the `TableSet`."""
        with self._connected():
            try:
                return work()
            except Exception:
                if not self._replace_broken():
                    raise
                return work()

    def write(self, work: Callable[[], T]) -> T:
        """Call `work` in a transaction, and commit it. Raises the errors of the `TableSet`."""
        with self._connected():
            for attempt in range(ATTEMPTS):
                self._begin()
                try:
                    value = work()
                    self.run("COMMIT", ())
                except BaseException as error:
                    self._roll_back()
                    if attempt + 1 == ATTEMPTS or not self._database.is_conflict(error):
                        raise
                else:
                    return value
            raise AssertionError("unreachable: the last attempt returns or raises")

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._closed = True
            self._disconnect()

    def _begin(self) -> None:
        """Begin a transaction; on a new connection when the server has gone away since the last one."""
        try:
            self.run(self._database.begin, ())
        except Exception:
            if not self._replace_broken():
                raise
            self.run(self._database.begin, ())

    def _replace_broken(self) -> bool:
        """Replace the connection if it is broken; false if it is not."""
        if self._connection is None or not self._database.is_broken(self._connection):
            return False
        self._disconnect()
        self._connection = self._database.connect()
        return True

    def _roll_back(self) -> None:
        try:
            self.run("ROLLBACK", ())
        except Exception:
            self._disconnect()

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """The connection of this process, held by this thread."""
        if self._process not in (0, os.getpid()):  # a fork: a thread of the parent may have held the lock
            self._lock = threading.RLock()
            if self._connection is not None:  # the parent owns it
                self._abandoned.append(self._connection)
            self._connection = None
        with self._lock:
            if self._closed:
                raise self._set.error("closed", f"the {self._set.noun} was closed")
            try:
                if self._connection is not None and self._database.is_broken(self._connection):
                    self._disconnect()
                if self._connection is None:
                    self._process = os.getpid()
                    self._connection = self._database.connect()
                yield
            except Exception as error:
                known = self._database.to_error(error)
                if known is None:
                    raise
                raise known from error

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and self._process == os.getpid():
            try:
                connection.close()
            except Exception:  # it is broken
                return
