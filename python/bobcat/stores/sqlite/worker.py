"""The thread that owns a store's connection: it executes requests in order, many to a transaction.

One `fsync` serves every waiting request, so concurrent runs share its cost. A request is answered after the commit,
never before. Any event loop may send requests; a cancelled request is dropped while it waits, and is executed whole
once it was started.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from bobcat.errors import StoreError
from bobcat.stores.errors import read_only, storage_moved, store_closed, unavailable
from bobcat.stores.file_identity import file_identity
from bobcat.stores.sqlite.identity import count_write, write_mark
from bobcat.stores.sqlite.schema import Connected, connect
from bobcat.stores.traffic import Traffic

T = TypeVar("T")

MAX_BATCH = 256
"""Maximum number of requests in one transaction, which bounds the wait of each."""


class WorkItem(NamedTuple):
    """A request and its future. Any: the result has the type that `work` returns."""

    work: Callable[[sqlite3.Connection], Any]
    writes: bool
    answer: asyncio.Future[Any]


class Worker:
    """The thread of one store. It starts with the first request and ends with `close`."""

    def __init__(self, path: str, busy_seconds: float, traffic: Traffic) -> None:
        self._path, self._busy_seconds, self._traffic = path, busy_seconds, traffic
        self._requests: queue.SimpleQueue[WorkItem | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._closed = False

    def ask(self, work: Callable[[sqlite3.Connection], T], *, writes: bool) -> asyncio.Future[T]:
        """Execute `work` in the thread.

        INVARIANT: it raises before it writes, or writes in one statement: it has no transaction of its own that could
        be rolled back.
        """
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        with self._starting:
            if self._closed:
                raise store_closed(f"the store in `{self._path}`")
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=f"bobcat {self._path}", daemon=True)
                self._thread.start()
            self._requests.put(WorkItem(work, writes, answer))
        return answer

    def close(self) -> threading.Thread | None:
        """Accept no more requests; pending ones are executed. Returns the thread, for callers that wait for it."""
        with self._starting:
            if not self._closed:
                self._closed = True
                self._requests.put(None)
            return self._thread

    def _run(self) -> None:
        connected: Connected | None = None
        going = True
        while going:
            batch: list[WorkItem] = []
            waiting = self._requests.get()
            while True:
                if waiting is None:
                    going = False
                    break
                if not waiting.answer.cancelled():
                    batch.append(waiting)
                if len(batch) == MAX_BATCH:
                    break
                try:
                    waiting = self._requests.get_nowait()
                except queue.Empty:
                    break
            try:
                if connected is None and batch:
                    connected = connect(self._path, busy_seconds=self._busy_seconds)
            except Exception as error:
                _deliver([(request, to_store_error(self._path, error)) for request in batch])
                continue
            if connected is not None and batch:
                if _is_current(self._path, connected):
                    self._do(connected, batch)
                else:  # no other process would ever see a write now
                    _deliver([(request, storage_moved(self._path)) for request in batch])
        if connected is not None:
            connected.connection.close()

    def _do(self, connected: Connected, batch: list[WorkItem]) -> None:
        connection = connected.connection
        answers: list[tuple[WorkItem, object]] = []
        writes = any(request.writes for request in batch)
        if writes and connected.read_only is not None:
            refusal = read_only(self._path, connected.read_only)
            _deliver([(request, refusal) for request in batch if request.writes])
            batch, writes = [request for request in batch if not request.writes], False
        try:
            if writes:
                try:
                    connection.execute("BEGIN IMMEDIATE")
                except sqlite3.OperationalError as error:
                    if _code(error) not in _BUSY:
                        raise
                    # All have waited; each alone would wait as long again. Read-only ones need not.
                    _deliver([(request, to_store_error(self._path, error)) for request in batch if request.writes])
                    batch = [request for request in batch if not request.writes]
            for request in batch:
                try:
                    answers.append((request, request.work(connection)))
                except sqlite3.Error:
                    raise
                except Exception as refusal:
                    answers.append((request, refusal))
            commits = int(connection.in_transaction)
            if connection.in_transaction:
                mark = count_write(connection)
                connection.execute("COMMIT")
                write_mark(self._path, mark)
            self._traffic.add(statements=len(answers), commits=commits)
        except Exception as error:
            if connection.in_transaction:
                connection.rollback()
            if len(batch) > 1:  # one of them may have caused it: let it fail alone
                for request in batch:
                    self._do(connected, [request])
                return
            answers = [(request, to_store_error(self._path, error)) for request in batch]
        _deliver(answers)


def _is_current(path: str, connected: Connected) -> bool:
    """Return true while the path names the opened file."""
    try:
        return connected.read_only is not None or file_identity(path) == connected.identity.inode
    except OSError:
        return False


_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)


def _code(error: Exception) -> int:
    """SQLite's primary result code; 0 for an error that SQLite did not raise."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def to_store_error(path: str, error: Exception) -> Exception:
    """Convert a SQLite error to an error of the store."""
    if not isinstance(error, (sqlite3.Error, OSError)):
        return error
    text, code = str(error), _code(error)
    coded: StoreError
    if code == sqlite3.SQLITE_READONLY:
        coded = read_only(path, text)
    elif code in _BUSY:
        coded = StoreError("busy", f"`{path}` is locked by another writer for too long ({text})")
    elif code in _DAMAGED:
        coded = StoreError("damaged", f"`{path}` is not a usable SQLite file ({text})")
    else:
        coded = unavailable(f"`{path}` cannot be used: {text}")
    coded.__cause__ = error
    return coded


def _deliver(answers: list[tuple[WorkItem, object]]) -> None:
    """Deliver the answers to their event loops, waking each loop once."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], object]]] = defaultdict(list)
    for request, answer in answers:
        by_loop[request.answer.get_loop()].append((request.answer, answer))
    for loop, settled in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle, settled)
        except RuntimeError:  # the loop is closed: no waiter is left
            continue


def _settle(settled: list[tuple[asyncio.Future[Any], object]]) -> None:
    for future, answer in settled:
        if future.done():
            continue
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
