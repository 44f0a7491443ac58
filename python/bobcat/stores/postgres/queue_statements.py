"""The statements of the queue in PostgreSQL: see `bobcat.stores.queue`. Each is complete, as those in `statements`.

CHANNEL is replaced by the name of the channel on which queued runs are announced. Times that select rows by an index
are those of the statement, which are constant during it.
"""

from __future__ import annotations

from bobcat.stores.queue import ENDED_WELL, FIRST_LOOK_SECONDS, RELEASED_SECONDS

_QUEUED = "run.status = 'queued' AND run.kind <> ''"
_RUNNING = "run.status = 'running' AND run.kind <> ''"
_LOOKED_AT = "run.status = 'suspended' AND run.look IS NOT NULL"
_GROUP = "kind, version, tenant, priority"
_FREE = "run.run_at <= statement_timestamp() AND (run.owner IS NULL OR run.expires <= clock_timestamp())"
_LEASE_END = f"""CASE WHEN run.owner IS NULL THEN run.updated + interval '{RELEASED_SECONDS} s' ELSE run.expires END"""
_ACCEPTED = """EXISTS (SELECT 1 FROM unnest(%(kinds)s::text[], %(versions)s::text[]) AS given (kind, version)
    WHERE given.kind = {0}.kind AND (given.version IS NULL OR given.version = {0}.version))"""
_EXPIRES = "clock_timestamp() + make_interval(secs => %(seconds)s)"


def status_change(status: str, run: str) -> str:
    """Assignments of what depends on the status in the entry of a run; `run` is the row before."""
    ended_well = ", ".join(f"'{each}'" for each in ENDED_WELL)
    return f"""attempts = CASE WHEN {run}.status = 'running' AND {status} IN ({ended_well})
            THEN greatest(0, {run}.attempts - 1) ELSE {run}.attempts END,
        look = CASE WHEN {status} = 'suspended' AND {run}.kind <> ''
            THEN clock_timestamp() + interval '{FIRST_LOOK_SECONDS} s' END"""


def wake_if(condition: str) -> str:
    """Expression that announces a queued run when the transaction commits."""
    return f"CASE WHEN {condition} THEN pg_notify('CHANNEL', '')::text END"


def _room(row: str) -> str:
    """Condition of a row whose tenant and kind are below their limits."""
    running = f"(SELECT count(*) FROM bobcat.runs AS run WHERE {_RUNNING} AND "
    return f"""AND ({row}.tenant = '' OR coalesce({running} run.tenant = {row}.tenant) < coalesce(
            (SELECT given.most FROM unnest(%(tenants)s::text[], %(tenant_limits)s::bigint[]) AS given (tenant, most)
                WHERE given.tenant = {row}.tenant), %(tenant_limit)s::bigint), true))
        AND coalesce({running} run.kind = {row}.kind) < (SELECT given.most
            FROM unnest(%(limited_kinds)s::text[], %(kind_limits)s::bigint[]) AS given (kind, most)
            WHERE given.kind = {row}.kind), true)"""


def _claim(*, limited: bool, named: bool) -> str:
    """The statement of a claim.

    `waiting` has the first run of each group, found by probes of the index: the cost grows with the groups, not with
    the runs. Then the groups are tried in order until a run is found that no other claim is taking at this moment. The
    turn of the tenant is recorded while others wait: with one tenant, its row would be contended for nothing.
    """
    only = "AND run.run_id = %(run_id)s" if named else ""
    in_group = f"""{_QUEUED} AND run.kind = {{0}}.kind AND run.version = {{0}}.version AND run.tenant = {{0}}.tenant
            AND run.priority = {{0}}.priority AND {_FREE} {only} ORDER BY run.run_at, run.place LIMIT 1"""
    first_group = f"(SELECT {_GROUP} FROM bobcat.runs AS run WHERE {_QUEUED} {only} ORDER BY {_GROUP} LIMIT 1)"
    return f"""WITH RECURSIVE groups AS ({first_group} UNION ALL
            SELECT following.* FROM groups CROSS JOIN LATERAL (SELECT {_GROUP} FROM bobcat.runs AS run WHERE {_QUEUED}
                AND (run.kind, run.version, run.tenant, run.priority)
                    > (groups.kind, groups.version, groups.tenant, groups.priority) {only}
                ORDER BY {_GROUP} LIMIT 1) AS following),
        dead AS (SELECT run.run_id FROM bobcat.runs AS run
            WHERE {_RUNNING} AND {_LEASE_END} <= clock_timestamp() {only} AND {_ACCEPTED.format("run")}
            ORDER BY run.updated, run.run_id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED),
        waiting AS (SELECT groups.*, head.run_at, head.place, tenants.served
            FROM groups CROSS JOIN LATERAL (SELECT run.run_at, run.place FROM bobcat.runs AS run
                WHERE {in_group.format("groups")}) AS head
            LEFT JOIN bobcat.tenants ON tenants.tenant = groups.tenant
            WHERE NOT EXISTS (SELECT 1 FROM dead) AND {_ACCEPTED.format("groups")}
            {_room("groups") if limited else ""}),
        picked AS (SELECT head.run_id
            FROM (SELECT * FROM waiting ORDER BY served NULLS FIRST, tenant, priority DESC, run_at, place) AS sorted
            CROSS JOIN LATERAL (SELECT run.run_id FROM bobcat.runs AS run
                WHERE {in_group.format("sorted")} FOR NO KEY UPDATE SKIP LOCKED) AS head LIMIT 1),
        taken AS (UPDATE bobcat.runs AS run SET status = 'running', owner = %(owner)s, fence = run.fence + 1,
                expires = {_EXPIRES}, attempts = run.attempts + 1, look = NULL, updated = clock_timestamp(),
                version = CASE WHEN run.version = '' THEN %(version)s ELSE run.version END
            FROM (SELECT run_id, true AS taken_over FROM dead UNION ALL SELECT run_id, false FROM picked LIMIT 1)
                AS each
            WHERE run.run_id = each.run_id
            RETURNING run.run_id, run.fence, run.expires, each.taken_over, run.kind, run.run_at, run.tenant,
                run.priority, run.attempts, run.version),
        served AS (INSERT INTO bobcat.tenants SELECT tenant, nextval('bobcat.turns') FROM taken
            WHERE NOT taken_over AND (SELECT count(DISTINCT tenant) FROM waiting) > 1
            ON CONFLICT (tenant) DO UPDATE SET served = excluded.served)
        SELECT * FROM taken"""


_TURN = "given AS (SELECT nextval('bobcat.turns') AS turn)"
_KNOWN = "known AS (INSERT INTO bobcat.tenants SELECT %(tenant)s, turn FROM given ON CONFLICT DO NOTHING)"

QUEUE_STATEMENTS = {
    "queue": f"""WITH {_TURN}, {_KNOWN},
        changed AS (INSERT INTO bobcat.runs AS run
                (run_id, status, detail, epoch, fence, {_GROUP}, run_at, attempts, place)
            SELECT %(run_id)s, 'queued', %(detail)s, store.epoch, store.fence, %(kind)s, %(version)s, %(tenant)s,
                %(priority)s, %(run_at)s, %(attempts)s, turn FROM given, bobcat.store
            ON CONFLICT (run_id) DO UPDATE SET status = 'queued', detail = excluded.detail, kind = excluded.kind,
                version = excluded.version, tenant = excluded.tenant, priority = excluded.priority,
                run_at = excluded.run_at, attempts = excluded.attempts, place = excluded.place, look = NULL,
                updated = clock_timestamp(), owner = nullif(run.owner, %(owner)s)
            WHERE run.status = ANY (%(expected)s::text[]) AND (run.status <> 'running' OR run.owner IS NULL
                OR run.owner = %(owner)s OR run.expires <= clock_timestamp())
            RETURNING 1)
        SELECT {wake_if("true")} FROM changed""",
    "queued": f"""SELECT 1 FROM bobcat.runs AS run WHERE run_id = %(run_id)s AND {_QUEUED} AND detail = %(detail)s
        AND kind = %(kind)s AND run_at = %(run_at)s AND attempts = %(attempts)s AND priority = %(priority)s""",
    "adopt": f"""WITH {_TURN}, {_KNOWN},
        changed AS (UPDATE bobcat.runs SET kind = %(kind)s, version = %(version)s, tenant = %(tenant)s,
                priority = %(priority)s, run_at = %(run_at)s, attempts = %(attempts)s, place = given.turn,
                look = CASE WHEN status = 'suspended' THEN clock_timestamp() END
            FROM given WHERE run_id = %(run_id)s AND kind = '' RETURNING 1)
        SELECT {wake_if("true")} FROM changed""",
    "claim": _claim(limited=False, named=False),
    "claim_limited": _claim(limited=True, named=False),
    "claim_named": _claim(limited=True, named=True),
    "claim_lock": "SELECT pg_advisory_xact_lock(hashtextextended('CHANNEL', 0))",
    "claimed": f"""SELECT run_id, fence, expires, attempts > 1, kind, run_at, tenant, priority, attempts, version
        FROM bobcat.runs AS run WHERE {_RUNNING} AND owner = %(owner)s AND expires > clock_timestamp()""",
    "look_at": "UPDATE bobcat.runs AS run SET look = %(moment)s WHERE run_id = %(run_id)s AND status = 'suspended'"
    " AND kind <> '' RETURNING 1",
    "next_due": f"""SELECT least(
        (SELECT min(run_at) FROM bobcat.runs AS run WHERE {_QUEUED} AND run_at > statement_timestamp()),
        (SELECT min(look) FROM bobcat.runs AS run WHERE {_LOOKED_AT} AND look > statement_timestamp()),
        (SELECT min(moment) FROM (SELECT {_LEASE_END} AS moment FROM bobcat.runs AS run WHERE {_RUNNING}) AS ends
            WHERE moment > clock_timestamp()))""",
}
"""The statements by name."""

OVERDUE = """WHERE status = 'suspended' AND look IS NOT NULL AND look <= statement_timestamp()
    ORDER BY look, run_id LIMIT %(limit)s"""
"""The end of a listing of suspended runs that are due for a look."""
