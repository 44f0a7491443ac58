"""The tables of a SQLite store, and the migrations from earlier releases.

The version of a file is the number of migrations it has been through. A migration that was released never changes:
`tests/stores/released` has a file of every version, and each must open.
"""

from __future__ import annotations

import os
import sqlite3
from typing import NamedTuple
from urllib.parse import quote

from bobcat.errors import StoreError
from bobcat.stores.errors import too_new
from bobcat.stores.private_files import create_private
from bobcat.stores.sqlite.identity import SQLiteIdentity, identify, read_identity
from bobcat.stores.write_ahead import write_ahead

OLDEST_SQLITE = (3, 35)
"""The first SQLite version with `RETURNING`."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE bobcat_runs (
            run_id TEXT NOT NULL PRIMARY KEY,
            status TEXT NOT NULL,
            detail TEXT NOT NULL,
            fence INTEGER NOT NULL,
            owner TEXT,
            expires INTEGER NOT NULL,
            created INTEGER NOT NULL,
            updated INTEGER NOT NULL
        )""",
        "CREATE INDEX bobcat_runs_by_change ON bobcat_runs (updated, run_id)",
        """CREATE TABLE bobcat_records (
            run_id TEXT NOT NULL,
            seq INTEGER NOT NULL,
            kind TEXT NOT NULL,
            idempotency_key TEXT NOT NULL,
            body TEXT NOT NULL,
            timestamp TEXT NOT NULL,
            PRIMARY KEY (run_id, seq)
        )""",
        """CREATE TABLE bobcat_documents (
            kind TEXT NOT NULL,
            key TEXT NOT NULL,
            version INTEGER NOT NULL,
            body TEXT NOT NULL,
            updated INTEGER NOT NULL,
            PRIMARY KEY (kind, key)
        ) WITHOUT ROWID""",
    ),
    (
        # A lease by the machine's clock: it ends at the tick `until` of the boot `boot`; without one, at `expires`.
        "ALTER TABLE bobcat_runs ADD COLUMN boot TEXT",
        "ALTER TABLE bobcat_runs ADD COLUMN until INTEGER NOT NULL DEFAULT 0",
        # Updated with each append: the number of records, the highest position, and the hash at it.
        "ALTER TABLE bobcat_runs ADD COLUMN records INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE bobcat_runs ADD COLUMN last INTEGER NOT NULL DEFAULT -1",
        "ALTER TABLE bobcat_runs ADD COLUMN head TEXT",
        "ALTER TABLE bobcat_runs ADD COLUMN epoch INTEGER NOT NULL DEFAULT 1",
        """UPDATE bobcat_runs SET
            records = (SELECT count(*) FROM bobcat_records WHERE run_id = bobcat_runs.run_id),
            last = coalesce((SELECT max(seq) FROM bobcat_records WHERE run_id = bobcat_runs.run_id), -1)""",
        """CREATE TABLE bobcat_store (
            id TEXT NOT NULL,
            epoch INTEGER NOT NULL,
            writes INTEGER NOT NULL,
            inode INTEGER,
            restored INTEGER
        )""",
        "INSERT INTO bobcat_store VALUES (lower(hex(randomblob(16))), 1, 0, NULL, NULL)",
    ),
    # The fence with which a run becomes known: greater than those of all erased runs.
    ("ALTER TABLE bobcat_store ADD COLUMN fence INTEGER NOT NULL DEFAULT 0",),
    (
        # The queue: the entry of a run (an empty kind: none), and the turns in which tenants were served. The indexes
        # have live runs only.
        "ALTER TABLE bobcat_runs ADD COLUMN kind TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE bobcat_runs ADD COLUMN version TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE bobcat_runs ADD COLUMN tenant TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE bobcat_runs ADD COLUMN priority INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE bobcat_runs ADD COLUMN run_at INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE bobcat_runs ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE bobcat_runs ADD COLUMN place INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE bobcat_runs ADD COLUMN look INTEGER",
        """CREATE INDEX bobcat_runs_queued ON bobcat_runs (kind, version, tenant, priority, run_at, place)
            WHERE status = 'queued' AND kind <> ''""",
        "CREATE INDEX bobcat_runs_due ON bobcat_runs (run_at) WHERE status = 'queued' AND kind <> ''",
        "CREATE INDEX bobcat_runs_look ON bobcat_runs (look, run_id) WHERE status = 'suspended' AND look IS NOT NULL",
        "CREATE INDEX bobcat_runs_by_status ON bobcat_runs (status, updated, run_id)",
        "ALTER TABLE bobcat_store ADD COLUMN turn INTEGER NOT NULL DEFAULT 0",
        "CREATE TABLE bobcat_tenants (tenant TEXT NOT NULL PRIMARY KEY, served INTEGER NOT NULL) WITHOUT ROWID",
    ),
)
"""Migrations by version; times are microseconds since 1970."""


class Connected(NamedTuple):
    """A connection, and the identity of its file. `read_only`: the reason why it is read-only."""

    connection: sqlite3.Connection
    identity: SQLiteIdentity
    read_only: str | None = None


def connect(path: str, *, busy_seconds: float) -> Connected:
    """Connect to the file and migrate it to the tables of this release. For one thread at a time.

    A new file is readable by its owner only, and SQLite gives its log the same mode. A file that cannot be written is
    opened read-only, if it has the tables of this release.
    """
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        wanted = ".".join(map(str, OLDEST_SQLITE))
        raise StoreError("old_sqlite", f"SQLite {sqlite3.sqlite_version} is too old; {wanted} or newer is needed")
    try:
        create_private(path)
    except OSError as error:
        if not os.path.exists(path):
            raise sqlite3.OperationalError("unable to open database file") from error
    connection = _opened(path, busy_seconds)
    try:
        _set_up(connection, path, busy_seconds)
        return Connected(connection, identify(connection, path))
    except sqlite3.OperationalError as error:
        connection.close()
        if not _cannot_write(error) or not os.path.exists(path):
            raise
        return _connect_to_read(path, busy_seconds, error)
    except BaseException:
        connection.close()
        raise


def _opened(name: str, busy_seconds: float) -> sqlite3.Connection:
    return sqlite3.connect(
        name, timeout=busy_seconds, isolation_level=None, check_same_thread=False, uri=name.startswith("file:")
    )


def _cannot_write(error: sqlite3.OperationalError) -> bool:
    return any(text in str(error) for text in ("readonly", "read-only", "unable to open database file"))


def _connect_to_read(path: str, busy_seconds: float, cause: sqlite3.OperationalError) -> Connected:
    """Connect read-only.

    SQLite reads a log only where it can share its index; a file without a log is opened as immutable.
    """
    modes = ["mode=ro"]
    if not os.path.exists(f"{path}-wal") or not os.path.getsize(f"{path}-wal"):
        modes.append("mode=ro&immutable=1")
    for mode in modes:
        connection = _opened(f"file:{quote(path)}?{mode}", busy_seconds)
        try:
            version = _version(connection)
            if version == len(MIGRATIONS):
                return Connected(connection, read_identity(connection), str(cause))
        except sqlite3.OperationalError:
            connection.close()
            continue
        except BaseException:
            connection.close()
            raise
        connection.close()
        if version > len(MIGRATIONS):
            raise too_new(f"`{path}`", version, len(MIGRATIONS))
        raise StoreError(
            "read_only",
            f"`{path}` has schema {version}, and this release reads schema {len(MIGRATIONS)}: open it once where it "
            f"can be written ({cause})",
        )
    raise cause


def _set_up(connection: sqlite3.Connection, path: str, busy_seconds: float) -> None:
    mode = write_ahead(connection, busy_seconds)
    if mode != "wal":
        raise StoreError(
            "no_wal", f"`{path}` cannot have a write-ahead log (SQLite offers `{mode}`): keep it on a local disk"
        )
    connection.execute("PRAGMA synchronous = FULL")
    if _version(connection) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    with connection:  # commits, or rolls back
        connection.execute("CREATE TABLE IF NOT EXISTS bobcat_schema (version INTEGER NOT NULL)")
        version = _version(connection)
        if version > len(MIGRATIONS):
            raise too_new(f"`{path}`", version, len(MIGRATIONS))
        for migration in MIGRATIONS[version:]:
            for statement in migration:
                connection.execute(statement)
        connection.execute("DELETE FROM bobcat_schema")
        connection.execute("INSERT INTO bobcat_schema VALUES (?)", (len(MIGRATIONS),))


def _version(connection: sqlite3.Connection) -> int:
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'bobcat_schema'").fetchone() is None:
        return 0
    row = connection.execute("SELECT version FROM bobcat_schema").fetchone()
    return 0 if row is None else int(row[0])
