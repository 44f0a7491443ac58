"""Counts of live runs in a SQLite store, over its indexes."""

from __future__ import annotations

import sqlite3

from bobcat.stores.codec import moment_of
from bobcat.stores.counts import StoreCounts
from bobcat.stores.protocol import LIVE

_LIVE = ", ".join(f"'{status}'" for status in LIVE)
_BY_STATUS = f"SELECT status, count(*) FROM bobcat_runs WHERE status IN ({_LIVE}) GROUP BY status"
_QUEUED = "SELECT kind, count(*) FROM bobcat_runs WHERE status = 'queued' GROUP BY kind"
_DUE = """SELECT count(*), min(at) FROM (SELECT CASE WHEN kind = '' THEN updated ELSE run_at END AS at FROM bobcat_runs
    WHERE status = 'queued') WHERE at <= ?"""
_SUSPENDED = """SELECT coalesce(sum(number), 0), min(CASE WHEN number > 0 THEN updated END),
    coalesce(sum(number > 0 AND detail LIKE '%"uncertain":true%'), 0)
    FROM (SELECT updated, detail, coalesce(json_array_length(detail, '$.approvals'), 0) AS number FROM bobcat_runs
    WHERE status = 'suspended')"""


def live_counts(connection: sqlite3.Connection, now: int) -> StoreCounts:
    """Count the live runs at a time in microseconds since 1970."""
    by_status = dict.fromkeys(LIVE, 0) | dict(connection.execute(_BY_STATUS))
    queued = dict(connection.execute(_QUEUED))
    due, oldest_due = connection.execute(_DUE, (now,)).fetchone()
    approvals, oldest_approval, uncertain = connection.execute(_SUSPENDED).fetchone()
    return StoreCounts(
        moment_of(now), by_status, queued, due, None if oldest_due is None else moment_of(oldest_due),
        approvals, None if oldest_approval is None else moment_of(oldest_approval), uncertain,
    )  # fmt: skip
