"""Counts of live runs in a PostgreSQL store: one statement over its indexes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bobcat.stores.counts import StoreCounts
from bobcat.stores.protocol import LIVE

if TYPE_CHECKING:
    from bobcat.stores.postgres.pool import Connection

# The text of a detail has its keys in order, without spaces, and quotes inside of strings are escaped: ids of approvals
# are hexadecimal digits. It is not cast to `json`, which cannot have every text that a store keeps.
_STATEMENT = """WITH live AS MATERIALIZED (SELECT status, kind, updated,
        CASE WHEN kind = '' THEN updated ELSE run_at END AS at,
        CASE WHEN status = 'suspended' AND detail LIKE '{{"approvals":["%%'
            THEN array_length(string_to_array(split_part(detail, ']', 1), ','), 1) ELSE 0 END AS approvals,
        status = 'suspended' AND detail LIKE '%%"uncertain":true%%' AS uncertain
        FROM "{schema}".runs WHERE status = ANY (%(live)s))
    SELECT clock_timestamp(), status, kind, count(*), count(*) FILTER (WHERE at <= clock_timestamp()), min(at),
        sum(approvals)::bigint, min(updated) FILTER (WHERE approvals > 0), count(*) FILTER (WHERE uncertain)
    FROM live GROUP BY status, kind"""


async def live_counts(connection: Connection, schema: str) -> StoreCounts:
    """Count the live runs."""
    statement = _STATEMENT.format(schema=schema).encode()
    rows = await (await connection.execute(statement, {"live": list(LIVE)})).fetchall()
    by_status, queued = dict[str, int](dict.fromkeys(LIVE, 0)), dict[str, int]()
    now, due, approvals, uncertain = datetime.now(UTC), 0, 0, 0
    first_times, waiting_since = list[datetime](), list[datetime]()
    for moment, status, kind, number, ready, first, asked, since, doubtful in rows:
        now = moment
        by_status[status] += number
        approvals, uncertain = approvals + asked, uncertain + doubtful
        if status == "queued":
            queued[kind] = number
            due += ready
            first_times += [first] if ready else []
        waiting_since += [since] if since is not None else []
    return StoreCounts(
        now.astimezone(UTC), by_status, queued, due, min(first_times, default=None), approvals,
        min(waiting_since, default=None), uncertain,
    )  # fmt: skip
