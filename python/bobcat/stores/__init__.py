"""Stores: where the journals of runs are kept. A store is loaded, with the driver it needs, when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bobcat.stores.memory import MemoryStore

if TYPE_CHECKING:
    from bobcat.stores.file import FileStore
    from bobcat.stores.postgres import PostgresStore
    from bobcat.stores.redis import RedisStore
    from bobcat.stores.sqlite import SQLiteStore

__all__ = ["FileStore", "MemoryStore", "PostgresStore", "RedisStore", "SQLiteStore"]

_HOMES = {
    "FileStore": "bobcat.stores.file",
    "PostgresStore": "bobcat.stores.postgres",
    "RedisStore": "bobcat.stores.redis",
    "SQLiteStore": "bobcat.stores.sqlite",
}


def __getattr__(name: str) -> Any:  # Any: type checkers see the imports above
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
