"""The store and the id of a thread, checked."""

from __future__ import annotations

from pathlib import Path

from bobcat.stores.protocol import DurableStore, has_leases
from bobcat.stores.urls import open_store

MAX_ID = 200


def opened(store: object) -> DurableStore:
    """The store, or the one that a URL or path names."""
    if isinstance(store, str) and ":" not in store and not store.endswith(("/", "\\")):
        store = Path(store)
    if isinstance(store, Path):
        store = f"sqlite:///{store}" if store.suffix else f"{store}/"
    found = open_store(store) if isinstance(store, str) else store
    if not has_leases(found):  # type: ignore[arg-type]  # any object
        raise TypeError(f"store must be a DurableStore, a path or a URL, got {type(store).__name__}")
    return found


def checked_id(name: object) -> str:
    """The id of a thread. Raises `TypeError` and `ValueError`."""
    if not isinstance(name, str):
        raise TypeError(f"a thread's id must be a string, got {type(name).__name__}")
    if not 0 < len(name) <= MAX_ID or "#" in name or not name.isprintable() or name != name.strip():
        raise ValueError(f"a thread's id has 1 to {MAX_ID} printable characters without `#`, got {name!r}")
    return name
