"""The tables of a SQLite store, and how a file of an earlier release becomes one of this release.

The version of a file is the number of migrations it has been through. A migration that was released never changes:
`tests/stores/released` has a file of every version, and each must open.
"""

from __future__ import annotations

import sqlite3
import time

from bobcat.errors import StoreError
from bobcat.stores.refusals import too_new

OLDEST_SQLITE = (3, 35)
"""The first with `RETURNING`."""

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
)
"""By version; times are microseconds since 1970."""


def connect(path: str, *, busy_seconds: float) -> sqlite3.Connection:
    """A connection to the file, which has the tables of this release. For one thread at a time."""
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        wanted = ".".join(map(str, OLDEST_SQLITE))
        raise StoreError("old_sqlite", f"SQLite {sqlite3.sqlite_version} is too old; {wanted} or newer is needed")
    connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
    try:
        _set_up(connection, path, busy_seconds)
    except BaseException:
        connection.close()
        raise
    return connection


def _set_up(connection: sqlite3.Connection, path: str, busy_seconds: float) -> None:
    mode = _write_ahead(connection, busy_seconds)
    if mode != "wal":
        raise StoreError(
            "no_wal", f"`{path}` cannot have a write-ahead log (SQLite offers `{mode}`): keep it on a local disk"
        )
    connection.execute("PRAGMA synchronous = FULL")
    if _version(connection) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute("CREATE TABLE IF NOT EXISTS bobcat_schema (version INTEGER NOT NULL)")
        version = _version(connection)
        if version > len(MIGRATIONS):
            raise too_new(f"`{path}`", version, len(MIGRATIONS))
        for migration in MIGRATIONS[version:]:
            for statement in migration:
                connection.execute(statement)
        connection.execute("DELETE FROM bobcat_schema")
        connection.execute("INSERT INTO bobcat_schema VALUES (?)", (len(MIGRATIONS),))
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def _write_ahead(connection: sqlite3.Connection, busy_seconds: float) -> str:
    """Sets the mode. SQLite does not wait by itself for others who set it at the same moment."""
    until = time.monotonic() + busy_seconds
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            return str(mode)
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _version(connection: sqlite3.Connection) -> int:
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'bobcat_schema'").fetchone() is None:
        return 0
    row = connection.execute("SELECT version FROM bobcat_schema").fetchone()
    return 0 if row is None else int(row[0])
