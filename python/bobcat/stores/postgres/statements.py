"""The statements of a PostgreSQL store. Each is whole in itself: one round trip, one transaction.

`bobcat.` stands for the schema's name. All times are those of the database.
"""

from __future__ import annotations

_RUN = """SELECT run_id, status, (SELECT count(*) FROM bobcat.records WHERE records.run_id = runs.run_id),
    fence, created, updated, detail FROM bobcat.runs"""

_RECORD = "run_id, seq, kind, idempotency_key, body, made"

_LATER = "clock_timestamp() + make_interval(secs => %(seconds)s)"

_HELD = "run_id = %(run_id)s AND fence = %(fence)s AND owner = %(owner)s AND expires > clock_timestamp()"

STATEMENTS = {
    "append": f"""WITH known AS (INSERT INTO bobcat.runs (run_id) VALUES (%(run_id)s) ON CONFLICT DO NOTHING)
        INSERT INTO bobcat.records ({_RECORD}, token)
        VALUES (%(run_id)s, %(seq)s, %(kind)s, %(key)s, %(body)s, %(made)s, %(token)s)
        ON CONFLICT DO NOTHING RETURNING 1""",
    # The row of the run is locked until the commit: a concurrent `acquire` comes before, and is seen, or after.
    "append_fenced": f"""WITH held AS (SELECT 1 FROM bobcat.runs WHERE {_HELD} FOR NO KEY UPDATE),
        kept AS (INSERT INTO bobcat.records ({_RECORD}, token)
            SELECT %(run_id)s, %(seq)s, %(kind)s, %(key)s, %(body)s, %(made)s, %(token)s FROM held
            ON CONFLICT DO NOTHING RETURNING 1)
        SELECT (SELECT count(*) FROM held), (SELECT count(*) FROM kept)""",
    "own_record": "SELECT 1 FROM bobcat.records WHERE run_id = %(run_id)s AND seq = %(seq)s AND token = %(token)s",
    "hold": f"SELECT 1 FROM bobcat.runs WHERE {_HELD} FOR NO KEY UPDATE",
    "held": f"SELECT 1 FROM bobcat.runs WHERE {_HELD}",
    "load": f"""SELECT {_RECORD} FROM bobcat.records WHERE run_id = %(run_id)s AND seq >= %(seq)s
        ORDER BY seq LIMIT %(limit)s""",
    "acquire": f"""INSERT INTO bobcat.runs AS run (run_id, fence, owner, expires)
        VALUES (%(run_id)s, 1, %(owner)s, {_LATER}) ON CONFLICT (run_id) DO UPDATE
        SET fence = run.fence + 1, owner = %(owner)s, expires = {_LATER}, updated = clock_timestamp()
        WHERE run.owner IS NULL OR run.owner = %(owner)s OR run.expires <= clock_timestamp()
        RETURNING fence, expires""",
    "holder": """SELECT owner, expires FROM bobcat.runs
        WHERE run_id = %(run_id)s AND owner <> %(owner)s AND expires > clock_timestamp()""",
    "renew": f"""UPDATE bobcat.runs SET expires = {_LATER}, updated = clock_timestamp()
        WHERE run_id = %(run_id)s AND fence = %(fence)s AND owner = %(owner)s RETURNING expires""",
    "release": """UPDATE bobcat.runs SET owner = NULL, updated = clock_timestamp()
        WHERE run_id = %(run_id)s AND fence = %(fence)s AND owner = %(owner)s""",
    "set_status": """INSERT INTO bobcat.runs (run_id, status, detail) VALUES (%(run_id)s, %(status)s, %(detail)s)
        ON CONFLICT (run_id) DO UPDATE
        SET status = %(status)s, detail = %(detail)s, updated = clock_timestamp() RETURNING 1""",
    "set_status_held": f"""UPDATE bobcat.runs
        SET status = %(status)s, detail = %(detail)s, updated = clock_timestamp() WHERE {_HELD} RETURNING 1""",
    "runs": f"""{_RUN} WHERE (%(status)s::text IS NULL OR status = %(status)s)
        AND (%(updated)s::timestamptz IS NULL OR (updated, run_id) < (%(updated)s, %(run_id)s::text))
        ORDER BY updated DESC, run_id DESC LIMIT %(limit)s""",
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
    "now": "SELECT clock_timestamp()",
}


def statements_for(schema: str) -> dict[str, bytes]:
    """The statements, for tables in a schema."""
    return {name: text.replace("bobcat.", f'"{schema}".').encode() for name, text in STATEMENTS.items()}
