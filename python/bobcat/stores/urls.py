"""A store named by a URL: for the command line, and for programs that read one from their configuration.

    sqlite:///runs.db             a file, relative to where the program runs; with four slashes, an absolute path
    file:journals                 a directory of journals, relative; `file:///srv/journals` is an absolute path
    journals/                     the same without a scheme, when it is there or ends with a slash
postgres://user@host/name     a PostgreSQL database (`postgresql://` too)
redis://host:6379/0           a Redis server (`rediss://` over TLS)
"""

from __future__ import annotations

import difflib
import os
import re
from importlib import import_module
from pathlib import Path
from typing import cast
from urllib.parse import unquote

from bobcat.errors import StoreError
from bobcat.stores.protocol import DurableStore

SCHEMES = ("sqlite", "file", "postgres", "postgresql", "redis", "rediss")

_SCHEME_SYNONYMS = {"sqlite3": "sqlite", "pg": "postgres", "psql": "postgres", "psycopg": "postgres", "dir": "file"}
"""Common names of stores in other programs."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


def open_store(url: str, *, must_exist: bool = False, pool_size: int | None = None) -> DurableStore:
    """Open the store that `url` names. Raises `StoreError` (`bad_url`) for an invalid URL.

    With `must_exist`, a missing file or directory is refused (`not_there`), not created: a mistyped path would be an
    empty store. `pool_size` is the number of connections to a server; `bad_url` for a store without a server.
    """
    found = _SCHEME.match(url)
    scheme = found[1] if found else ""
    rest = url[len(scheme) + 1 :] if found else url
    if pool_size is not None and scheme in ("file", "sqlite", ""):
        raise StoreError("bad_url", f"`{shown_url(url)}` has no connections: only servers have a pool of them")
    if scheme == "file":
        return _file(url, rest, must_exist=must_exist)
    if not scheme and (url.endswith(("/", os.sep)) or Path(url).is_dir()) and url:
        return _directory(url, must_exist=must_exist)
    if scheme not in SCHEMES or not rest.startswith("//"):
        raise StoreError("bad_url", f"`{shown_url(url)}` does not name a store: {_help(url, scheme, rest)}")
    if scheme == "sqlite":
        return _sqlite(url, rest[2:], must_exist=must_exist)
    name, extra = ("PostgresStore", "postgres") if scheme.startswith("postgres") else ("RedisStore", "redis")
    try:
        options = {} if pool_size is None else {"pool_size": pool_size}
        return cast("DurableStore", getattr(import_module("bobcat.stores"), name)(url, **options))
    except ImportError as error:  # the store imports its driver when it is created
        raise StoreError("missing_extra", f"`{scheme}://` needs `pip install 'bobcat[{extra}]'`") from error


def _sqlite(url: str, rest: str, *, must_exist: bool) -> DurableStore:
    if not rest.startswith("/") or rest == "/":
        raise StoreError("bad_url", f"`{url}` has no file: write `sqlite:///runs.db`, with three slashes")
    path = rest[1:]
    if must_exist and not Path(path).is_file():
        raise StoreError("not_there", f"there is no store at `{path}`")
    if Path(path).is_dir():
        raise StoreError("bad_url", f"`{path}` is a directory: write `{_file_url(path)}` for a store of files")
    from bobcat.stores.sqlite import SQLiteStore

    return SQLiteStore(path)


def _file(url: str, rest: str, *, must_exist: bool) -> DurableStore:
    """`file:PATH`, `file:///PATH` and `file://localhost/PATH`; percent signs are decoded."""
    path = rest
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        path = slash + path
        if host not in ("", "localhost"):
            raise StoreError("bad_url", f"`{url}` names a directory on `{host}`: write `file:{rest[2:]}` for one here")
    if not path.strip("/"):
        raise StoreError("bad_url", f"`{url}` has no directory: write `file:journals`, or `file:///srv/journals`")
    return _directory(unquote(path), must_exist=must_exist)


def _directory(path: str, *, must_exist: bool) -> DurableStore:
    if Path(path).is_file():
        raise StoreError("bad_url", f"`{path}` is a file: a store of files is a directory; `{_sqlite_url(path)}`?")
    if must_exist and not (Path(path) / "format").is_file():
        raise StoreError("not_there", f"there is no store at `{path}`")
    from bobcat.stores.file import FileStore

    return FileStore(path)


def _help(url: str, scheme: str, rest: str) -> str:
    """A suggestion for an invalid URL."""
    name = scheme.lower().partition("+")[0]
    near = _SCHEME_SYNONYMS.get(name) or next(iter(difflib.get_close_matches(name, SCHEMES, n=1, cutoff=0.7)), None)
    if near is not None:
        return f"did you mean `{_EXAMPLES[near]}`?"
    known = ", ".join(f"`{name}:`" if name == "file" else f"`{name}://`" for name in SCHEMES if name in _LISTED)
    text = f"a store's URL begins with {known}"
    if scheme and (rest.startswith("//") or not Path(url).exists()):
        return text
    return f"{text}; write `{_sqlite_url(url)}` for a file" if url else text


_LISTED = ("sqlite", "file", "postgres", "redis")
_EXAMPLES = {
    "sqlite": "sqlite:///runs.db",
    "file": "file:journals",
    "postgres": "postgres://user@host/name",
    "postgresql": "postgresql://user@host/name",
    "redis": "redis://host:6379/0",
    "rediss": "rediss://host:6379/0",
}


def _sqlite_url(path: str) -> str:
    return f"sqlite:///{path}"


def _file_url(path: str) -> str:
    return f"file://{path}" if path.startswith("/") else f"file:{path}"


def shown_url(url: str) -> str:
    """The URL for messages: without a possible password."""
    return f"{url.partition('://')[0]}://…" if "@" in url else url
