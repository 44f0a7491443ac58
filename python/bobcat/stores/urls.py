"""A store named by a URL: for the command line, and for programs that read one from their configuration.

    sqlite:///runs.db             a file, relative to where the program runs; with four slashes, an absolute path
postgres://user@host/name     a PostgreSQL database (`postgresql://` too)
redis://host:6379/0           a Redis server (`rediss://` over TLS)
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import cast

from bobcat.errors import StoreError
from bobcat.stores.durable import DurableStore

SCHEMES = ("sqlite", "postgres", "postgresql", "redis", "rediss")


def open_store(url: str, *, must_exist: bool = False) -> DurableStore:
    """The store that `url` names. Raises `StoreError` (`bad_url`) for what names none.

    With `must_exist`, an SQLite file that is not there is refused, not made: a mistyped path would be an empty store.
    """
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in SCHEMES:
        known = ", ".join(f"`{name}://`" for name in ("sqlite", "postgres", "redis"))
        raise StoreError("bad_url", f"`{_shown(url)}` names no store: a store's URL begins with {known}")
    if scheme == "sqlite":
        return _sqlite(url, rest, must_exist=must_exist)
    name, extra = ("PostgresStore", "postgres") if scheme.startswith("postgres") else ("RedisStore", "redis")
    try:
        return cast("DurableStore", getattr(import_module("bobcat.stores"), name)(url))
    except ImportError as error:  # the store looks for its driver when it is made
        raise StoreError("missing_extra", f"`{scheme}://` needs `pip install bobcat[{extra}]`") from error


def _sqlite(url: str, rest: str, *, must_exist: bool) -> DurableStore:
    if not rest.startswith("/") or rest == "/":
        raise StoreError("bad_url", f"`{url}` names no file: write `sqlite:///runs.db`, with three slashes")
    path = rest[1:]
    if must_exist and not Path(path).is_file():
        raise StoreError("not_there", f"there is no store at `{path}`")
    from bobcat.stores.sqlite import SQLiteStore

    return SQLiteStore(path)


def _shown(url: str) -> str:
    """The URL without what may be a password."""
    return f"{url.partition('://')[0]}://…" if "@" in url else url
