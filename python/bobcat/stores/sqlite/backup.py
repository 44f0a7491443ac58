"""Backup of a SQLite store: one read transaction, and one write transaction to restore it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable
from urllib.parse import quote

from bobcat.stores.backup_items import (
    DOCUMENT_FIELDS,
    RECORD_FIELDS,
    RUN_FIELDS,
    SavedDocument,
    SavedItem,
    SavedRecord,
    SavedRun,
    SavedStore,
    counted,
    next_epoch,
    not_empty,
    parts,
    restored_run,
)
from bobcat.stores.codec import FENCE_JUMP, RecordRow
from bobcat.stores.sqlite.identity import read_identity

_RUNS, _DOCUMENTS = (", ".join(names) for names in (RUN_FIELDS, DOCUMENT_FIELDS))
_RECORDS = ", ".join(RECORD_FIELDS[:-1])


def save(path: str, write: Callable[[SavedItem], None]) -> None:
    """Write every item of one state of the file, on a connection of its own: writers go on meanwhile."""
    connection = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, isolation_level=None)
    try:
        connection.execute("BEGIN")
        write(SavedStore(*connection.execute("SELECT epoch, fence FROM bobcat_store").fetchone()))
        for row in connection.execute(f"SELECT {_RUNS} FROM bobcat_runs ORDER BY run_id"):
            write(SavedRun(*row))
        # The hash of a record is in its body; the store keeps that of the last one.
        for row in connection.execute(f"SELECT {_RECORDS} FROM bobcat_records ORDER BY run_id, seq"):
            write(SavedRecord.of(RecordRow._make((*row, ""))))
        for row in connection.execute(f"SELECT {_DOCUMENTS} FROM bobcat_documents ORDER BY kind, key"):
            write(SavedDocument(*row))
    finally:
        connection.close()


def restore(connection: sqlite3.Connection, items: Iterable[SavedItem], path: str) -> None:
    """Write all items, or none, in the transaction in progress."""
    for table in ("bobcat_runs", "bobcat_documents"):
        if connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is not None:
            raise not_empty(f"`{path}`")
    connection.execute("SAVEPOINT restoring")
    try:
        _write(connection, items)
    except BaseException:
        connection.execute("ROLLBACK TO restoring")
        raise
    finally:
        connection.execute("RELEASE restoring")


def _write(connection: sqlite3.Connection, items: Iterable[SavedItem]) -> None:
    saved, groups = parts(items)
    for kind, group in groups:
        if kind is SavedRun:
            rows = (restored_run(item) for item in group if isinstance(item, SavedRun))
            connection.executemany(
                f"INSERT INTO bobcat_runs ({_RUNS}, expires) VALUES ({', '.join('?' * len(RUN_FIELDS))}, 0)",
                ([getattr(row, name) for name in RUN_FIELDS] for row in map(counted, rows)),
            )
        elif kind is SavedRecord:
            connection.executemany(
                f"INSERT INTO bobcat_records ({_RECORDS}) VALUES ({', '.join('?' * len(RECORD_FIELDS[:-1]))})",
                ([getattr(item, name) for name in RECORD_FIELDS[:-1]] for item in group),
            )
        else:
            connection.executemany(
                f"INSERT INTO bobcat_documents ({_DOCUMENTS}) VALUES ({', '.join('?' * len(DOCUMENT_FIELDS))})",
                ([getattr(item, name) for name in DOCUMENT_FIELDS] for item in group),
            )
    connection.execute(
        """UPDATE bobcat_runs SET
        records = (SELECT count(*) FROM bobcat_records WHERE run_id = bobcat_runs.run_id),
        last = coalesce((SELECT max(seq) FROM bobcat_records WHERE run_id = bobcat_runs.run_id), -1)
        WHERE records < 0"""
    )
    epoch = next_epoch(read_identity(connection).epoch, saved)
    connection.execute(
        """UPDATE bobcat_store SET epoch = ?, restored = ?, fence = ?,
        turn = (SELECT max(0, coalesce(max(place), 0)) FROM bobcat_runs)""",
        (epoch, time.time_ns() // 1000, saved.fence + FENCE_JUMP),
    )
