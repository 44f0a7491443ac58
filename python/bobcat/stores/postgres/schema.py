"""The tables of a PostgreSQL store, and the migrations from earlier releases.

The version of a schema is the number of migrations it has been through. A migration that was released never changes:
`tests/stores/released` has a dump of every version, and each must open. `bobcat.` is replaced by the schema's name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bobcat.logs import logger
from bobcat.stores.codec import FENCE_JUMP
from bobcat.stores.errors import too_new

if TYPE_CHECKING:
    from bobcat.stores.postgres.pool import Connection

log = logger("stores")

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE bobcat.runs (
            run_id text COLLATE "C" PRIMARY KEY,
            status text NOT NULL DEFAULT 'running',
            detail text NOT NULL DEFAULT '{}',
            fence bigint NOT NULL DEFAULT 0,
            owner text,
            expires timestamptz NOT NULL DEFAULT '-infinity',
            created timestamptz NOT NULL DEFAULT clock_timestamp(),
            updated timestamptz NOT NULL DEFAULT clock_timestamp()
        )""",
        "CREATE INDEX runs_by_change ON bobcat.runs (updated, run_id)",
        """CREATE TABLE bobcat.records (
            run_id text COLLATE "C" NOT NULL,
            seq bigint NOT NULL,
            kind text NOT NULL,
            idempotency_key text NOT NULL,
            body text NOT NULL,
            made text NOT NULL,
            token uuid NOT NULL,
            PRIMARY KEY (run_id, seq)
        )""",
        """CREATE TABLE bobcat.documents (
            kind text COLLATE "C" NOT NULL,
            key text COLLATE "C" NOT NULL,
            version bigint NOT NULL,
            body text NOT NULL,
            token uuid NOT NULL,
            updated timestamptz NOT NULL,
            PRIMARY KEY (kind, key)
        )""",
    ),
    (
        # Updated with each append: the number of records, the highest position, and the hash at it.
        "ALTER TABLE bobcat.runs ADD COLUMN records bigint NOT NULL DEFAULT 0",
        "ALTER TABLE bobcat.runs ADD COLUMN last bigint NOT NULL DEFAULT -1",
        "ALTER TABLE bobcat.runs ADD COLUMN head text",
        "ALTER TABLE bobcat.runs ADD COLUMN epoch bigint NOT NULL DEFAULT 1",
        """UPDATE bobcat.runs SET records = found.records, last = found.last
            FROM (SELECT run_id, count(*) AS records, max(seq) AS last FROM bobcat.records GROUP BY run_id) AS found
            WHERE found.run_id = runs.run_id""",
        # `identity` names the cluster, its timeline, the database and the table; null until a store has identified it.
        """CREATE TABLE bobcat.store (
            epoch bigint NOT NULL,
            identity text,
            restored timestamptz
        )""",
        "INSERT INTO bobcat.store VALUES (1, NULL, NULL)",
    ),
    # The fence with which a run becomes known: greater than those of all erased runs.
    ("ALTER TABLE bobcat.store ADD COLUMN fence bigint NOT NULL DEFAULT 0",),
    (
        # The queue: the entry of a run (an empty kind: none), and the turns in which tenants were served. The indexes
        # have live runs only.
        """ALTER TABLE bobcat.runs
            ADD COLUMN kind text COLLATE "C" NOT NULL DEFAULT '',
            ADD COLUMN version text COLLATE "C" NOT NULL DEFAULT '',
            ADD COLUMN tenant text COLLATE "C" NOT NULL DEFAULT '',
            ADD COLUMN priority integer NOT NULL DEFAULT 0,
            ADD COLUMN run_at timestamptz,
            ADD COLUMN attempts integer NOT NULL DEFAULT 0,
            ADD COLUMN place bigint NOT NULL DEFAULT 0,
            ADD COLUMN look timestamptz""",
        """CREATE INDEX runs_queued ON bobcat.runs (kind, version, tenant, priority, run_at, place)
            WHERE status = 'queued' AND kind <> ''""",
        "CREATE INDEX runs_due ON bobcat.runs (run_at) WHERE status = 'queued' AND kind <> ''",
        "CREATE INDEX runs_running ON bobcat.runs (kind, tenant) WHERE status = 'running' AND kind <> ''",
        "CREATE INDEX runs_look ON bobcat.runs (look, run_id) WHERE status = 'suspended' AND look IS NOT NULL",
        "CREATE INDEX runs_by_status ON bobcat.runs (status, updated, run_id)",
        "CREATE SEQUENCE bobcat.turns",
        'CREATE TABLE bobcat.tenants (tenant text COLLATE "C" PRIMARY KEY, served bigint NOT NULL)',
    ),
)
"""Migrations by version.

A token identifies the call that wrote a row: a call repeated after a broken connection finds its own. Bodies are JSON
as text, because `jsonb` has no NUL character and no lone surrogate.
"""


async def migrate(connection: Connection, schema: str) -> None:
    """Create or migrate the tables of this release. Safe for concurrent callers."""
    name = f'"{schema}".'

    async def version() -> int:
        # Not `to_regclass`: its result may predate the lock.
        found = await connection.execute(
            """SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
            WHERE nspname = %s AND relname = 'schema_version'""",
            (schema,),
        )
        if await found.fetchone() is None:
            return 0
        row = await (await connection.execute(f"SELECT version FROM {name}schema_version".encode())).fetchone()
        return 0 if row is None else int(row[0])

    if await version() == len(MIGRATIONS):
        return
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"bobcat {schema}",))
        found = await version()
        if found > len(MIGRATIONS):
            raise too_new(f"the schema `{schema}`", found, len(MIGRATIONS))
        known = await connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,))
        if await known.fetchone() is None:
            await connection.execute(f'CREATE SCHEMA "{schema}"'.encode())
        await connection.execute(f"CREATE TABLE IF NOT EXISTS {name}schema_version (version integer NOT NULL)".encode())
        for migration in MIGRATIONS[found:]:
            for statement in migration:
                await connection.execute(statement.replace("bobcat.", name).encode())
        await connection.execute(f"DELETE FROM {name}schema_version".encode())
        await connection.execute(f"INSERT INTO {name}schema_version VALUES (%s)".encode(), (len(MIGRATIONS),))


_IDENTITY = """SELECT concat_ws('/', (SELECT system_identifier FROM pg_control_system()),
        CASE WHEN pg_is_in_recovery() THEN NULL ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END,
        (SELECT oid FROM pg_database WHERE datname = current_database()), to_regclass(%s)::oid),
    CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_current_wal_flush_lsn() END::text"""
"""The identity of the tables, and the position in the log, which only grows.

The identity changes after a dump was restored (cluster, database or table), and after a point-in-time recovery or a
failover (timeline).
"""


def log_position(text: str) -> int:
    """Convert a position in the log to a number."""
    high, low = (int(part, 16) for part in text.split("/"))
    return (high << 32) + low


async def identify(connection: Connection, schema: str, seen: int) -> int:
    """Begin the next epoch if the tables were restored since they were identified; return the log position.

    `seen` is the greatest position that this process knows: a smaller one means a restored server, whatever its
    identity.
    """
    name, at = await (await connection.execute(_IDENTITY, (f'"{schema}".runs',))).fetchone() or ("", None)
    if at is None:  # a standby: it is read-only, which every write reports
        return seen
    position = log_position(at)
    table = f'"{schema}".store'.encode()
    known = await (await connection.execute(b"SELECT identity FROM " + table)).fetchone()
    if known is not None and known[0] == name and position >= seen:
        return position
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"bobcat {schema}",))
        known = await (await connection.execute(b"SELECT identity FROM " + table)).fetchone()
        if known is not None and known[0] is not None and (known[0] != name or position < seen):
            log.warning(
                "the PostgreSQL schema %s was restored (%s, was %s): unsafe actions of its open runs will wait for "
                "approvals", schema, name, known[0],
            )  # fmt: skip
            await begin_epoch(connection, schema)
        await connection.execute(b"UPDATE " + table + b" SET identity = %s", (name,))
    return position


async def begin_epoch(connection: Connection, schema: str) -> int:
    """Begin the next epoch in the transaction in progress, and return its number."""
    changed = await connection.execute(
        f'UPDATE "{schema}".store SET epoch = epoch + 1, restored = clock_timestamp() RETURNING epoch'.encode()
    )
    row = await changed.fetchone()
    await connection.execute(f'UPDATE "{schema}".runs SET fence = fence + %s, owner = NULL'.encode(), (FENCE_JUMP,))
    return 0 if row is None else int(row[0])
