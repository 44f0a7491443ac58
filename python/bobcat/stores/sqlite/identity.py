"""The identity of a SQLite file, and detection of a file that was restored from a backup.

Three facts are compared when a file is opened. The file records its own identity (`bobcat.stores.file_identity`), which
differs in a copy. It counts its writes; a second file beside it, `PATH-epoch`, has the count of the last acknowledged
write, and may be behind but never ahead: a database with a smaller count lacks writes. And both files contain the same
database id. On a mismatch the next epoch begins: leases are lost, fences grow past all earlier ones, and runs of
earlier epochs are `restored`.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from typing import NamedTuple

from bobcat.errors import StoreError
from bobcat.logs import logger
from bobcat.stores.codec import FENCE_JUMP
from bobcat.stores.file_identity import file_identity
from bobcat.stores.private_files import open_private

log = logger("stores")

_TABLE = "SELECT id, epoch, writes, inode FROM bobcat_store"


class Mark(NamedTuple):
    """The content of the file beside the database."""

    id: str
    epoch: int
    writes: int


class SQLiteIdentity(NamedTuple):
    """The row of `bobcat_store`."""

    id: str
    epoch: int
    writes: int
    inode: int | None


def mark_path(path: str) -> str:
    """The file beside the database."""
    return f"{path}-epoch"


def read_mark(path: str) -> Mark | None:
    """The mark of a database; None without a readable one."""
    try:
        with open(mark_path(path), "rb") as file:
            _, id, epoch, writes = file.read(200).decode().split()
        return Mark(id, int(epoch), int(writes))
    except (OSError, ValueError):
        return None


def write_mark(path: str, mark: Mark) -> None:
    """Save the database's write count.

    Written after the commit, without a sync: a mark may be behind, never ahead. A mark that cannot be written stays
    behind and reports no false loss; the commit stands.
    """
    with suppress(OSError, StoreError):
        descriptor = open_private(mark_path(path), os.O_WRONLY)
        try:
            # One write of the same length every time: a concurrent reader finds the old line or the new one.
            os.write(descriptor, f"bobcat {mark.id} {mark.epoch:010d} {mark.writes:020d}\n".encode())
        finally:
            os.close(descriptor)


def read_identity(connection: sqlite3.Connection) -> SQLiteIdentity:
    """Read the database's own identity."""
    return SQLiteIdentity(*connection.execute(_TABLE).fetchone())


def count_write(connection: sqlite3.Connection) -> Mark:
    """Count the transaction in progress. INVARIANT: its last statement; the mark is written after the commit."""
    connection.execute("UPDATE bobcat_store SET writes = writes + 1")
    return Mark(*connection.execute("SELECT id, epoch, writes FROM bobcat_store").fetchone())


def identify(connection: sqlite3.Connection, path: str) -> SQLiteIdentity:
    """The identity of the opened file, after the next epoch began if it was restored."""
    inode, mark = file_identity(path), read_mark(path)  # the mark first: the database can only be ahead of it
    found = read_identity(connection)
    if _lost(found, mark, inode) is None and found.inode is not None:
        return found
    connection.execute("BEGIN IMMEDIATE")
    with connection:  # commits, or rolls back
        mark, found = read_mark(path), read_identity(connection)
        loss = _lost(found, mark, inode)
        if loss is not None:
            log.warning(
                "%s was restored from a copy (%s): unsafe actions of its open runs will wait for approvals", path, loss
            )
            _next_epoch(connection, max(found.epoch, mark.epoch if mark is not None else 0) + 1)
        elif found.inode is None and mark is not None:  # another database was here
            connection.execute("UPDATE bobcat_store SET epoch = ?", (max(found.epoch, mark.epoch + 1),))
        writes = max(found.writes, 0 if mark is None else mark.writes)
        connection.execute("UPDATE bobcat_store SET inode = ?, writes = ?", (inode, writes))
        updated = count_write(connection)
    write_mark(path, updated)
    return read_identity(connection)


def begin_epoch(connection: sqlite3.Connection) -> int:
    """Begin the next epoch in the transaction in progress, and return its number."""
    epoch = read_identity(connection).epoch + 1
    _next_epoch(connection, epoch)
    return epoch


def _next_epoch(connection: sqlite3.Connection, epoch: int) -> None:
    connection.execute("UPDATE bobcat_store SET epoch = ?, restored = ?", (epoch, time.time_ns() // 1000))
    connection.execute("UPDATE bobcat_runs SET fence = fence + ?, owner = NULL", (FENCE_JUMP,))


def _lost(found: SQLiteIdentity, mark: Mark | None, inode: int) -> str | None:
    """Reason why writes may be missing in the file; None when all exist, or when it was just created."""
    if found.inode is None:
        return None
    if found.inode != inode:
        return "the file is a copy"
    if mark is None:
        return "the file beside it, which counts its writes, is missing"
    if mark.id != found.id:
        return "another database was here"
    if mark.writes > found.writes or mark.epoch > found.epoch:
        return f"it had {mark.writes} writes, but {found.writes} exist"
    return None
