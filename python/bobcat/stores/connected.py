"""One connection per process, under a lock, and transactions on it. A broken connection is replaced.

Ledgers and undo stores have their tables through it: their methods block, and callers use threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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


class Connected:
    """A database with tables of its own: `tables` has their names by the words that stand for them in statements."""

    begin = "BEGIN"
    mark = "?"
    """The placeholder of the driver."""

    def __init__(self, tables: Mapping[str, str]) -> None:
        self._tables = tables
        self._texts: dict[str, str] = {}
        self._lock = threading.RLock()
        self._process = 0
        self._connection: Connection | None = None
        self._abandoned: list[Connection] = []
        self._closed = False

    def run(self, statement: str, values: Sequence[object]) -> Any:  # Any: a cursor
        """Execute one statement on the connection of a `read` or a `write`."""
        assert self._connection is not None
        text = self._texts.get(statement)
        if text is None:
            text = statement.replace("?", self.mark)
            for name, table in self._tables.items():
                text = text.replace(name, table)
            self._texts[statement] = text
        return self._connection.execute(text, tuple(values))

    def read(self, work: Callable[[], T]) -> T:
        """Call `work` with a connection, again if it is broken. Raises those of `to_error`."""
        with self._connected():
            try:
                return work()
            except Exception:
                if not self._replace_broken():
                    raise
                return work()

    def write(self, work: Callable[[], T]) -> T:
        """Call `work` in a transaction, and commit it. Raises those of `to_error`."""
        with self._connected():
            for attempt in range(ATTEMPTS):
                self._begin()
                try:
                    value = work()
                    self.run("COMMIT", ())
                except BaseException as error:
                    self._roll_back()
                    if attempt + 1 == ATTEMPTS or not self.is_conflict(error):
                        raise
                else:
                    return value
            raise AssertionError("unreachable: the last attempt returns or raises")

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._closed = True
            self._disconnect()

    def connect(self) -> Connection:
        """Open a connection, and create the tables where they are missing."""
        raise NotImplementedError

    def to_error(self, error: Exception) -> Exception | None:
        """Convert an error of the driver; None for another one."""
        raise NotImplementedError

    def closed_error(self) -> Exception:
        """The error of a use after `close`."""
        raise NotImplementedError

    def is_broken(self, connection: Connection) -> bool:
        """Return true if the connection cannot be used any more. A file does not disconnect."""
        return False

    def is_conflict(self, error: BaseException) -> bool:
        """Return true if the database has undone the transaction in favour of another one. In a file, writers wait."""
        return False

    def _begin(self) -> None:
        """Begin a transaction; on a new connection when the server has gone away since the last one."""
        try:
            self.run(self.begin, ())
        except Exception:
            if not self._replace_broken():
                raise
            self.run(self.begin, ())

    def _replace_broken(self) -> bool:
        """Replace the connection if it is broken; false if it is not."""
        if self._connection is None or not self.is_broken(self._connection):
            return False
        self._disconnect()
        self._connection = self.connect()
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
                raise self.closed_error()
            try:
                if self._connection is not None and self.is_broken(self._connection):
                    self._disconnect()
                if self._connection is None:
                    self._process = os.getpid()
                    self._connection = self.connect()
                yield
            except Exception as error:
                known = self.to_error(error)
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
