"""Statements that requests and transactions share, and the conversion of their rows."""

from __future__ import annotations

import sqlite3
from typing import Any

from bobcat.stores.codec import RecordRow, body_of, damaged_unless_readable, moment_of
from bobcat.stores.errors import JournalGap, duplicate_record, lease_lost
from bobcat.stores.lease_clock import ClockSample
from bobcat.stores.local import RunState
from bobcat.stores.protocol import Entry, Lease, QueueEntry, RunSummary

RECORD = "run_id, seq, kind, idempotency_key, body, timestamp"
SUMMARY = """SELECT run_id, status, (SELECT count(*) FROM bobcat_records WHERE run_id = bobcat_runs.run_id),
    fence, created, updated, detail, records, head, owner, expires, boot, until,
    epoch < (SELECT epoch FROM bobcat_store), kind, run_at, tenant, priority, attempts, version FROM bobcat_runs"""

RUN_TABLES = ("bobcat_records", "bobcat_runs")
DISCARD = "DELETE FROM bobcat_documents WHERE kind = :kind AND key = :key"
OVERWRITE = "PRAGMA secure_delete = ON"
"""Deleted content is overwritten with zeros: by default it stays in free pages of the file."""

STATE = ", ".join(RunState.__slots__)
SAVE_STATE = f"""INSERT INTO bobcat_runs ({STATE}) VALUES ({", ".join("?" * len(RunState.__slots__))})
    ON CONFLICT (run_id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in RunState.__slots__[1:])}"""

ALIVE = "CASE WHEN boot = :boot THEN until > :tick ELSE expires > :date END"


def insert(connection: sqlite3.Connection, row: RecordRow) -> None:
    """Insert a record of a known run, and count it; or raise `DuplicateRecord`. The database's primary key decides."""
    try:
        connection.execute(f"INSERT INTO bobcat_records ({RECORD}) VALUES (?, ?, ?, ?, ?, ?)", row[:6])
    except sqlite3.IntegrityError:
        raise duplicate_record(row.run_id, row.seq) from None
    connection.execute(
        """UPDATE bobcat_runs SET records = records + 1, last = max(last, :seq),
        head = CASE WHEN :seq > last THEN :head ELSE head END WHERE run_id = :run_id""",
        row._asdict(),
    )


def check_held(connection: sqlite3.Connection, lease: Lease, reading: ClockSample) -> int:
    """The run's highest position. Raises `LeaseLost` unless the lease is alive.

    INVARIANT: in the same transaction as the write that it permits.
    """
    held = connection.execute(
        f"SELECT last FROM bobcat_runs WHERE run_id = :run_id AND fence = :fence AND owner = :owner AND {ALIVE}",
        {"run_id": lease.run_id, "fence": lease.fence, "owner": lease.owner, **reading._asdict()},
    ).fetchone()
    if not held:
        raise lease_lost(lease, lease.run_id)
    return int(held[0])


def check_follows(row: RecordRow, last: int) -> None:
    """Raise `JournalGap` when the record does not follow the last one: the journal is then an older one."""
    if row.seq > last + 1:
        raise JournalGap(row.run_id, row.seq, last)


def summary_of(row: tuple[Any, ...], now: ClockSample) -> RunSummary:  # Any: columns
    """The listing entry of a run, at a given time."""
    run_id, status, records, fence, created, updated, detail, appended, head, *more = row
    owner, expires, boot, until, old, kind, run_at, *queued = more
    with damaged_unless_readable(f"the status of run `{run_id}`"):
        held = owner is not None and now.alive(expires, boot, until)
        times = moment_of(created), moment_of(updated)
        queue = QueueEntry(kind, moment_of(run_at), *queued) if kind else None
        return RunSummary(
            run_id, status, records, fence, *times, body_of(detail), appended, head, held, bool(old), queue
        )  # fmt: skip


def entry_of(row: tuple[Any, ...]) -> Entry:  # Any: columns
    """The document of a row."""
    kind, key, version, body, updated = row
    with damaged_unless_readable(f"document `{key}` of kind `{kind}`"):
        return Entry(kind, key, version, body_of(body), moment_of(updated))
