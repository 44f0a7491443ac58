"""The tables of a PostgreSQL store, and how those of an earlier release become those of this release.

The version of a schema is the number of migrations it has been through. A migration that was released never changes:
`tests/stores/released` has a dump of every version, and each must open. `bobcat.` stands for the schema's name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bobcat.stores.refusals import too_new

if TYPE_CHECKING:
    from bobcat.stores.postgres.pool import Connection

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
)
"""By version. A token names the call that wrote a row: a call that is repeated after a broken connection finds its own.
Bodies are JSON as text, for `jsonb` has no NUL character and no lone surrogate."""


async def migrate(connection: Connection, schema: str) -> None:
    """Give the database the tables of this release. Many may try at once."""
    name = f'"{schema}".'

    async def version() -> int:
        # Not `to_regclass`: that may answer from before the lock.
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
