"""The statements of a PostgreSQL store. Each is complete: one round trip, one transaction.

`bobcat.` is replaced by the schema's name. All times are those of the database.
"""

from __future__ import annotations

from bobcat.stores.group_commit import MAX_ROWS
from bobcat.stores.postgres.queue_statements import OVERDUE, QUEUE_STATEMENTS, status_change, wake_if

_SUMMARY = """run_id, status, (SELECT count(*) FROM bobcat.records AS record WHERE record.run_id = run.run_id),
    fence, created, updated, detail, records, head, owner IS NOT NULL AND expires > clock_timestamp(),
    epoch < (SELECT epoch FROM bobcat.store), kind, run_at, tenant, priority, attempts, version"""

_RUN = f"SELECT {_SUMMARY} FROM bobcat.runs AS run"

_RECORD = "run_id, seq, kind, idempotency_key, body, made"

_LATER = "clock_timestamp() + make_interval(secs => %(seconds)s)"

_HELD = "run_id = %(run_id)s AND fence = %(fence)s AND owner = %(owner)s AND expires > clock_timestamp()"

_EPOCH = "(SELECT epoch FROM bobcat.store)"

_FENCE = "(SELECT fence FROM bobcat.store)"

_EXPECTED = "(%(expected)s::text[] IS NULL OR run.status = ANY (%(expected)s::text[]))"

_COUNTED = """records = run.records + 1, last = greatest(run.last, %(seq)s),
        head = CASE WHEN %(seq)s > run.last THEN %(head)s ELSE run.head END"""

_ACQUIRE = f"""INSERT INTO bobcat.runs AS run (run_id, fence, owner, expires, epoch)
        VALUES (%(run_id)s, {_FENCE} + 1, %(owner)s, {_LATER}, {_EPOCH}) ON CONFLICT (run_id) DO UPDATE
        SET fence = run.fence + 1, owner = %(owner)s, expires = {_LATER}, updated = clock_timestamp()
        WHERE run.owner IS NULL OR run.owner = %(owner)s OR run.expires <= clock_timestamp()"""

_CHANGED = f"""status = %(status)s, detail = %(detail)s, updated = clock_timestamp(),
        {status_change("%(status)s", "run")}"""

_WAKE = wake_if("%(status)s = 'queued'")

STATEMENTS = {
    "append": f"""WITH kept AS (INSERT INTO bobcat.records ({_RECORD}, token)
            VALUES (%(run_id)s, %(seq)s, %(kind)s, %(idempotency_key)s, %(body)s, %(timestamp)s, %(token)s)
            ON CONFLICT DO NOTHING RETURNING run_id)
        INSERT INTO bobcat.runs AS run (run_id, records, last, head, epoch, fence)
        SELECT run_id, 1, %(seq)s, %(head)s::text, {_EPOCH}, {_FENCE} FROM kept
        ON CONFLICT (run_id) DO UPDATE SET {_COUNTED} RETURNING 1""",
    # The row of the run is locked until the commit: a concurrent `acquire` comes before, and is seen, or after.
    "append_fenced": f"""WITH held AS (SELECT last FROM bobcat.runs WHERE {_HELD} FOR NO KEY UPDATE),
        kept AS (INSERT INTO bobcat.records ({_RECORD}, token)
            SELECT %(run_id)s, %(seq)s, %(kind)s, %(idempotency_key)s, %(body)s, %(timestamp)s, %(token)s FROM held
            WHERE %(seq)s <= last + 1
            ON CONFLICT DO NOTHING RETURNING 1),
        counted AS (UPDATE bobcat.runs AS run SET {_COUNTED} FROM kept WHERE run.run_id = %(run_id)s)
        SELECT (SELECT count(*) FROM held), (SELECT count(*) FROM kept), (SELECT last FROM held),
            pg_current_wal_flush_lsn()::text""",
    "own_record": "SELECT 1 FROM bobcat.records WHERE run_id = %(run_id)s AND seq = %(seq)s AND token = %(token)s",
    "hold": f"SELECT 1 FROM bobcat.runs WHERE {_HELD} FOR NO KEY UPDATE",
    "held": f"SELECT 1 FROM bobcat.runs WHERE {_HELD}",
    "load": f"""SELECT {_RECORD} FROM bobcat.records WHERE run_id = %(run_id)s AND seq >= %(seq)s
        ORDER BY seq LIMIT %(limit)s""",
    "acquire": f"{_ACQUIRE} RETURNING fence, expires",
    # PERF: this commit does not wait for the disk: a fifth of the waits of a run of three steps. Nothing depends on
    # it. The first record under the lease is durable only together with all commits before it, and a lease that a crash
    # of the server undoes permits nothing any more. No record of the run can appear while its row is locked, except
    # those that no lease protects.
    "begin": f"""{_ACQUIRE} RETURNING fence, expires, {_SUMMARY}, set_config('synchronous_commit', 'off', true)""",
    "holder": """SELECT owner, expires FROM bobcat.runs
        WHERE run_id = %(run_id)s AND owner <> %(owner)s AND expires > clock_timestamp()""",
    "renew": f"""UPDATE bobcat.runs SET expires = {_LATER}, updated = clock_timestamp()
        WHERE run_id = %(run_id)s AND fence = %(fence)s AND owner = %(owner)s RETURNING expires""",
    # A run that is locked is passed over: the others do not wait for it.
    "renew_all": f"""WITH held AS (SELECT run.run_id FROM bobcat.runs AS run JOIN unnest(%(runs)s::text[],
                %(fences)s::bigint[], %(owners)s::text[]) AS lease (run_id, fence, owner)
            ON run.run_id = lease.run_id AND run.fence = lease.fence AND run.owner = lease.owner
            FOR NO KEY UPDATE OF run SKIP LOCKED)
        UPDATE bobcat.runs AS run SET expires = {_LATER}, updated = clock_timestamp() FROM held
        WHERE run.run_id = held.run_id RETURNING run.run_id, run.expires""",
    "leased": """SELECT run.run_id FROM bobcat.runs AS run JOIN unnest(%(runs)s::text[],
            %(fences)s::bigint[], %(owners)s::text[]) AS lease (run_id, fence, owner)
        ON run.run_id = lease.run_id AND run.fence = lease.fence AND run.owner = lease.owner""",
    # A run that was queued while it was held can be claimed from now on.
    "release": f"""WITH changed AS (UPDATE bobcat.runs SET owner = NULL, updated = clock_timestamp()
            WHERE run_id = %(run_id)s AND fence = %(fence)s AND owner = %(owner)s RETURNING status)
        SELECT {wake_if("status = 'queued'")} FROM changed""",
    "set_status": f"""WITH changed AS (INSERT INTO bobcat.runs AS run (run_id, status, detail, epoch, fence)
            VALUES (%(run_id)s, %(status)s, %(detail)s, {_EPOCH}, {_FENCE}) ON CONFLICT (run_id) DO UPDATE
            SET {_CHANGED} WHERE {_EXPECTED} RETURNING 1)
        SELECT {_WAKE} FROM changed""",
    "set_status_held": f"""WITH changed AS (UPDATE bobcat.runs AS run SET {_CHANGED}
            WHERE {_HELD} AND {_EXPECTED} RETURNING 1)
        SELECT {_WAKE} FROM changed""",
    "finish": f"UPDATE bobcat.runs AS run SET {_CHANGED}, owner = NULL WHERE {_HELD} RETURNING 1",
    "finished": """SELECT 1 FROM bobcat.runs WHERE run_id = %(run_id)s AND fence = %(fence)s AND owner IS NULL
        AND status = %(status)s AND detail = %(detail)s""",
    "standing": "SELECT status, detail FROM bobcat.runs WHERE run_id = %(run_id)s",
    "last_restore": "SELECT epoch, restored FROM bobcat.store",
    "mark_uncertain": f"""INSERT INTO bobcat.runs (run_id, epoch, fence) VALUES (%(run_id)s, 0, {_FENCE})
        ON CONFLICT (run_id) DO UPDATE SET epoch = 0 RETURNING 1""",
    "runs": f"""{_RUN} WHERE (%(status)s::text IS NULL OR status = %(status)s)
        AND (%(updated)s::timestamptz IS NULL OR (updated, run_id) < (%(updated)s, %(run_id)s::text))
        ORDER BY updated DESC, run_id DESC LIMIT %(limit)s""",
    "overdue": f"{_RUN} {OVERDUE}",
    "run": f"{_RUN} WHERE run_id = %(run_id)s",
    "get": "SELECT kind, key, version, body, updated FROM bobcat.documents WHERE kind = %(kind)s AND key = %(key)s",
    "create": """INSERT INTO bobcat.documents (kind, key, version, body, token, updated)
        VALUES (%(kind)s, %(key)s, 1, %(body)s, %(token)s, clock_timestamp())
        ON CONFLICT DO NOTHING RETURNING updated""",
    "change": """UPDATE bobcat.documents
        SET version = version + 1, body = %(body)s, token = %(token)s, updated = clock_timestamp()
        WHERE kind = %(kind)s AND key = %(key)s AND version = %(expected)s RETURNING updated""",
    "own_document": """SELECT updated FROM bobcat.documents
        WHERE kind = %(kind)s AND key = %(key)s AND version = %(expected)s + 1 AND token = %(token)s""",
    "scan": """SELECT kind, key, version, body, updated FROM bobcat.documents WHERE kind = %(kind)s AND key > %(after)s
        ORDER BY key LIMIT %(limit)s""",
    "erase": """DELETE FROM bobcat.runs WHERE run_id = %(run_id)s AND (owner IS NULL OR expires <= clock_timestamp())
        AND (%(fence)s::bigint IS NULL OR fence = %(fence)s) RETURNING fence""",
    "erase_records": "DELETE FROM bobcat.records WHERE run_id = %(run_id)s",
    "raise_fence": "UPDATE bobcat.store SET fence = %(fence)s WHERE fence < %(fence)s",
    "held_by": """SELECT owner, expires FROM bobcat.runs
        WHERE run_id = %(run_id)s AND owner IS NOT NULL AND expires > clock_timestamp()""",
    "discard": """DELETE FROM bobcat.documents WHERE kind = %(kind)s AND key = %(key)s AND version = %(version)s
        AND updated = %(updated)s RETURNING 1""",
    "now": "SELECT clock_timestamp()",
}


_ROW = "(%(seq{0})s::bigint, %(kind{0})s, %(idempotency_key{0})s, %(body{0})s, %(timestamp{0})s, %(token{0})s::uuid)"


def append_statement(rows: int) -> str:
    """The statement that appends consecutive records of a run; with a status, it ends the run too.

    It has no effect unless the lease is held and the records follow the last one. PERF: a third of the server's time
    for `append_fenced`, which also finds out why a record does not fit.
    """
    values = ", ".join(_ROW.format(number) for number in range(rows))
    return f"""WITH held AS (UPDATE bobcat.runs AS run
            SET records = records + {rows}, last = last + {rows}, head = %(head)s, {status_change("%(status)s", "run")},
            status = coalesce(%(status)s, status), detail = coalesce(%(detail)s, detail),
            owner = CASE WHEN %(status)s::text IS NULL THEN owner END,
            updated = CASE WHEN %(status)s::text IS NULL THEN updated ELSE clock_timestamp() END
            WHERE {_HELD} AND last = %(seq0)s::bigint - 1 RETURNING run_id),
        kept AS (INSERT INTO bobcat.records ({_RECORD}, token)
            SELECT held.run_id, row.* FROM held, (VALUES {values}) AS row)
        SELECT (SELECT count(*) FROM held), pg_current_wal_flush_lsn()::text"""


def channel_of(schema: str) -> str:
    """The channel of announcements, within PostgreSQL's limit of names."""
    return f"bobcat.{schema}"[:63]


def statements_for(schema: str) -> dict[str, bytes]:
    """The statements, for tables in a schema."""
    every = STATEMENTS | QUEUE_STATEMENTS
    every |= {append_name(rows): append_statement(rows) for rows in range(1, MAX_ROWS + 1)}
    qualified = {name: text.replace("bobcat.", f'"{schema}".') for name, text in every.items()}
    return {name: text.replace("CHANNEL", channel_of(schema)).encode() for name, text in qualified.items()}


def append_name(rows: int) -> str:
    """The name of `append_statement(rows)`."""
    return f"append_{rows}"
