"""The database that a path, a URL or an open run store names, for tables beside those of the store."""

from __future__ import annotations

import os

from bobcat.stores.connected import Database, TableSet
from bobcat.stores.connected_sqlite import SQLiteFile
from bobcat.stores.urls import shown_url


def database_at(place: object, tables: TableSet, *, must_exist: bool = False) -> Database:
    """Return the database of a path, a URL (`sqlite:///PATH`, `postgres://...`), a SQLiteStore or a PostgresStore.

    Raises the errors of `tables`, and `TypeError` for anything else.
    """
    if isinstance(place, str | os.PathLike):
        return _named(os.fspath(place), tables, must_exist)
    name = type(place).__name__
    if name == "SQLiteStore":
        return SQLiteFile(f"{place._path}{tables.beside}", tables, must_exist=must_exist)  # type: ignore[attr-defined]
    if name == "PostgresStore":
        connections = place._connections  # type: ignore[attr-defined]
        return _postgres(connections._conninfo, connections._schema, tables, must_exist)
    raise TypeError(f"store must be a path, a URL, a SQLiteStore or a PostgresStore, got {name}")


def _named(text: str, tables: TableSet, must_exist: bool) -> Database:
    scheme, found, rest = text.partition("://")
    if not text:
        raise tables.error("bad_store", f"the path of the {tables.noun} is empty")
    if not found:
        return SQLiteFile(text, tables, must_exist=must_exist)
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        return SQLiteFile(rest[1:], tables, must_exist=must_exist)
    if scheme in ("postgres", "postgresql"):
        return _postgres(text, "bobcat", tables, must_exist)
    places = f"write a path, `sqlite:///{tables.example}` or `postgres://...`"
    raise tables.error("bad_store", f"`{shown_url(text)}` names no {tables.noun}: {places}")


def _postgres(url: str, schema: str, tables: TableSet, must_exist: bool) -> Database:
    try:
        from bobcat.stores.connected_postgres import PostgresSchema
    except ModuleNotFoundError as error:
        message = f"the {tables.noun} in PostgreSQL needs psycopg: pip install 'bobcat[postgres]'"
        raise ModuleNotFoundError(message, name="psycopg") from error
    return PostgresSchema(url, tables, schema=schema, must_exist=must_exist)
