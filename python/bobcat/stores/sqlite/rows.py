"""Statements that requests and transactions share, and the values their rows become."""

from __future__ import annotations

import sqlite3
from typing import Any

from bobcat.stores.durable import Entry, Lease, RunSummary
from bobcat.stores.lease_clock import Reading
from bobcat.stores.refusals import Gap, lost, taken
from bobcat.stores.written import Row, body_of, moment_of, reading

RECORD = "run_id, seq, kind, idempotency_key, body, timestamp"
SUMMARY = """SELECT run_id, status, (SELECT count(*) FROM bobcat_records WHERE run_id = bobcat_runs.run_id),
    fence, created, updated, detail, records, head, owner, expires, boot, until,
    epoch < (SELECT epoch FROM bobcat_store) FROM bobcat_runs"""

_ALIVE = "CASE WHEN boot = :boot THEN until > :tick ELSE expires > :date END"


def insert(connection: sqlite3.Connection, row: Row) -> None:
    """Keep a record of a known run, and count it; or raise `DuplicateRecord`. The database's primary key decides."""
    try:
        connection.execute(f"INSERT INTO bobcat_records ({RECORD}) VALUES (?, ?, ?, ?, ?, ?)", row[:6])
    except sqlite3.IntegrityError:
        raise taken(row.run_id, row.seq) from None
    connection.execute(
        """UPDATE bobcat_runs SET records = records + 1, last = max(last, :seq),
        head = CASE WHEN :seq > last THEN :head ELSE head END WHERE run_id = :run_id""",
        row._asdict(),
    )


def make_known(connection: sqlite3.Connection, run_id: str, moment: int) -> None:
    """List a run that nobody leased."""
    connection.execute(
        """INSERT OR IGNORE INTO bobcat_runs (run_id, status, detail, fence, owner, expires, created, updated, epoch)
        VALUES (:run_id, 'running', '{}', 0, NULL, 0, :moment, :moment, (SELECT epoch FROM bobcat_store))""",
        {"run_id": run_id, "moment": moment},
    )


def check_held(connection: sqlite3.Connection, lease: Lease, run_id: str, reading: Reading) -> int:
    """The run's highest position; `LeaseLost` unless the lease is alive. INVARIANT: in the transaction of what it
    allows."""
    held = (
        lease.run_id == run_id
        and connection.execute(
            f"SELECT last FROM bobcat_runs WHERE run_id = :run_id AND fence = :fence AND owner = :owner AND {_ALIVE}",
            {"run_id": run_id, "fence": lease.fence, "owner": lease.owner, **reading._asdict()},
        ).fetchone()
    )
    if not held:
        raise lost(lease, run_id)
    return int(held[0])


def check_follows(row: Row, last: int) -> None:
    """Raise `Gap` when the record does not follow what the journal has: then the journal is an older one."""
    if row.seq > last + 1:
        raise Gap(row.run_id, row.seq, last)


def summary_of(row: tuple[Any, ...], now: Reading) -> RunSummary:  # Any: columns
    """A line of a listing, at a moment."""
    run_id, status, records, fence, created, updated, detail, appended, head, owner, expires, boot, until, old = row
    with reading(f"where run `{run_id}` stands"):
        held = owner is not None and now.alive(expires, boot, until)
        times = moment_of(created), moment_of(updated)
        return RunSummary(
            run_id, status, records, fence, *times, body_of(detail), appended, head, held, bool(old)
        )  # fmt: skip


def entry_of(row: tuple[Any, ...]) -> Entry:  # Any: columns
    """A document."""
    kind, key, version, body, updated = row
    with reading(f"document `{key}` of kind `{kind}`"):
        return Entry(kind, key, version, body_of(body), moment_of(updated))
