"""The undo store that a path, a URL or an open run store names."""

from __future__ import annotations

import os

from bobcat.errors import UndoError
from bobcat.stores.urls import shown_url
from bobcat.undo.sqlite_store import SQLiteUndoStore
from bobcat.undo.store import UndoStore

BESIDE = "-undo"
"""Suffix of the file beside that of a `SQLiteStore`: a write to either does not wait for the other."""


def open_undo_store(place: object, *, must_exist: bool = False) -> UndoStore:
    """Open the undo store of a path, a URL (`sqlite:///PATH`, `postgres://...`), a SQLiteStore or a PostgresStore.

    Raises `UndoError`, and `TypeError` for anything else.
    """
    if isinstance(place, UndoStore):
        return place
    if isinstance(place, str | os.PathLike):
        return _named(os.fspath(place), must_exist=must_exist)
    name = type(place).__name__
    if name == "SQLiteStore":
        return SQLiteUndoStore(f"{place._path}{BESIDE}", must_exist=must_exist)  # type: ignore[attr-defined]
    if name == "PostgresStore":
        connections = place._connections  # type: ignore[attr-defined]
        return _postgres(connections._conninfo, connections._schema, must_exist=must_exist)
    raise TypeError(f"store must be a path, a URL, a SQLiteStore or a PostgresStore, got {name}")


def _named(text: str, *, must_exist: bool) -> UndoStore:
    scheme, found, rest = text.partition("://")
    if not text:
        raise UndoError("bad_store", "the path of the undo store is empty")
    if not found:
        return SQLiteUndoStore(text, must_exist=must_exist)
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        return SQLiteUndoStore(rest[1:], must_exist=must_exist)
    if scheme in ("postgres", "postgresql"):
        return _postgres(text, "bobcat", must_exist=must_exist)
    raise UndoError(
        "bad_store", f"`{shown_url(text)}` names no undo store: write a path, `sqlite:///undo.db` or `postgres://...`"
    )


def _postgres(url: str, schema: str, *, must_exist: bool) -> UndoStore:
    try:
        from bobcat.undo.postgres_store import PostgresUndoStore
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "an undo store in PostgreSQL needs psycopg: pip install 'bobcat[postgres]'", name="psycopg"
        ) from error
    return PostgresUndoStore(url, schema=schema, must_exist=must_exist)
