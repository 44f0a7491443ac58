"""The ledger's tables that a path, a URL or an open run store names."""

from __future__ import annotations

import os

from bobcat.errors import LedgerError
from bobcat.ledger.sqlite_store import SQLiteLedgerStore
from bobcat.ledger.store import LedgerStore
from bobcat.stores.urls import shown_url


def open_ledger_store(place: object, *, must_exist: bool = False) -> LedgerStore:
    """Open the tables of a path, a URL (`sqlite:///PATH`, `postgres://...`), a SQLiteStore or a PostgresStore.

    Raises `LedgerError`, and `TypeError` for anything else.
    """
    if isinstance(place, str | os.PathLike):
        return _named(os.fspath(place), must_exist=must_exist)
    name = type(place).__name__
    if name == "SQLiteStore":
        return SQLiteLedgerStore(place._path, must_exist=must_exist)  # type: ignore[attr-defined]
    if name == "PostgresStore":
        connections = place._connections  # type: ignore[attr-defined]
        return _postgres(connections._conninfo, connections._schema, must_exist=must_exist)
    raise TypeError(f"store must be a path, a URL, a SQLiteStore or a PostgresStore, got {name}")


def _named(text: str, *, must_exist: bool) -> LedgerStore:
    scheme, found, rest = text.partition("://")
    if not text:
        raise LedgerError("bad_store", "the path of the ledger is empty")
    if not found:
        return SQLiteLedgerStore(text, must_exist=must_exist)
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        return SQLiteLedgerStore(rest[1:], must_exist=must_exist)
    if scheme in ("postgres", "postgresql"):
        return _postgres(text, "bobcat", must_exist=must_exist)
    shown = shown_url(text)
    raise LedgerError("bad_store", f"`{shown}` names no ledger: write a path, `sqlite:///runs.db` or `postgres://...`")


def _postgres(url: str, schema: str, *, must_exist: bool) -> LedgerStore:
    try:
        from bobcat.ledger.postgres_store import PostgresLedgerStore
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "a ledger in PostgreSQL needs psycopg: pip install 'bobcat[postgres]'", name="psycopg"
        ) from error
    return PostgresLedgerStore(url, schema=schema, must_exist=must_exist)
