"""Statements that requests and transactions share, and the values their rows become."""

from __future__ import annotations

import sqlite3
from typing import Any

from bobcat.stores.durable import Entry, Lease, RunSummary
from bobcat.stores.refusals import lost, taken
from bobcat.stores.written import Row, body_of, moment_of, reading


def insert(connection: sqlite3.Connection, row: Row) -> None:
    """Keep a record, or raise `DuplicateRecord`. The database's own primary key decides."""
    try:
        connection.execute("INSERT INTO bobcat_records VALUES (?, ?, ?, ?, ?, ?)", row)
    except sqlite3.IntegrityError:
        raise taken(row.run_id, row.seq) from None


def make_known(connection: sqlite3.Connection, run_id: str, moment: int) -> None:
    """List a run that nobody leased."""
    connection.execute(
        "INSERT OR IGNORE INTO bobcat_runs VALUES (?, 'running', '{}', 0, NULL, 0, ?, ?)", (run_id, moment, moment)
    )


def check_held(connection: sqlite3.Connection, lease: Lease, run_id: str, moment: int) -> None:
    """Raise `LeaseLost` unless the lease is alive at this moment. INVARIANT: in the transaction of what it allows."""
    held = (
        lease.run_id == run_id
        and connection.execute(
            "SELECT 1 FROM bobcat_runs WHERE run_id = ? AND fence = ? AND owner = ? AND expires > ?",
            (run_id, lease.fence, lease.owner, moment),
        ).fetchone()
    )
    if not held:
        raise lost(lease, run_id)


def summary_of(row: tuple[Any, ...]) -> RunSummary:  # Any: columns
    """A line of a listing."""
    run_id, status, records, fence, created, updated, detail = row
    with reading(f"where run `{run_id}` stands"):
        return RunSummary(run_id, status, records, fence, moment_of(created), moment_of(updated), body_of(detail))


def entry_of(row: tuple[Any, ...]) -> Entry:  # Any: columns
    """A document."""
    kind, key, version, body, updated = row
    with reading(f"document `{key}` of kind `{kind}`"):
        return Entry(kind, key, version, body_of(body), moment_of(updated))
