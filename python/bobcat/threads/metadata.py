"""The document of a thread: its title, its state, and the time of its first message.

A thread is `live`, or `deleted` until its retention ends, then `erasing` until nothing of it is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from bobcat.errors import ThreadError
from bobcat.stores.protocol import DurableStore, Entry, VersionConflict

KIND = "thread"
LIVE, IMPORTING, DELETED, ERASING = "live", "importing", "deleted", "erasing"
MAX_TITLE = 200
_TITLE_OF_MESSAGE = 80


async def check(store: DurableStore, thread: str) -> Entry | None:
    """Raise `ThreadError` for a thread that is not live, and return its document. One without has no messages yet."""
    entry = await store.get(KIND, thread)
    check_state(thread, entry)
    return entry


def check_state(thread: str, entry: Entry | None) -> None:
    """Raise `ThreadError` for a thread whose import has not ended, and for a deleted one."""
    state = LIVE if entry is None else entry.body.get("state")
    if state == IMPORTING:
        raise ThreadError("importing", f"the import of thread {thread!r} has not ended; import the same file again")
    if state == DELETED:
        raise ThreadError("deleted", f"thread {thread!r} is deleted; it can be restored until it is purged")
    if state != LIVE:
        raise ThreadError("deleted", f"thread {thread!r} is being erased; `purge` completes that")


async def known(store: DurableStore, thread: str, *, deleted: bool = False) -> Entry:
    """The document of a live thread; with `deleted`, also that of a deleted one. Raises `ThreadError`."""
    entry = await store.get(KIND, thread)
    if entry is None:
        raise ThreadError("unknown", f"the store has no thread {thread!r}")
    if not (deleted and entry.body.get("state") == DELETED):
        check_state(thread, entry)
    return entry


async def delete(store: DurableStore, thread: str, keep: timedelta) -> Entry:
    """Mark a thread as deleted; it is kept for so long. One that was deleted before is kept so long from then."""
    while True:
        entry = await known(store, thread, deleted=True)
        deleted = deleted_at(entry) or await store.now()
        values = {"state": DELETED, "deleted": deleted.isoformat(), "kept_until": (deleted + keep).isoformat()}
        with suppress(VersionConflict):
            return await store.put(KIND, thread, {**entry.body, **values}, expected=entry.version)


async def restore(store: DurableStore, thread: str) -> Entry:
    """Make a deleted thread live again. Raises `ThreadError` (`expired`) after its retention."""
    while True:
        entry = await known(store, thread, deleted=True)
        until = kept_until(entry)
        if until is None:
            return entry
        if await store.now() >= until:
            raise ThreadError("expired", f"thread {thread!r} was kept until {until.isoformat()}, and waits for a purge")
        body = {name: value for name, value in entry.body.items() if name not in ("deleted", "kept_until")}
        with suppress(VersionConflict):
            return await store.put(KIND, thread, {**body, "state": LIVE}, expected=entry.version)


def deleted_at(entry: Entry) -> datetime | None:
    """The time when a thread was deleted; None for another one."""
    return _time(entry, "deleted")


def kept_until(entry: Entry) -> datetime | None:
    """The end of a deleted thread's retention; None for another one."""
    return _time(entry, "kept_until")


def _time(entry: Entry, name: str) -> datetime | None:
    return datetime.fromisoformat(entry.body[name]) if entry.body.get("state") == DELETED else None


async def change(store: DurableStore, thread: str, values: Mapping[str, Any]) -> Entry:  # Any: JSON
    """Change fields of the document of a thread."""
    while True:
        entry = await known(store, thread)
        if all(entry.body.get(name) == value for name, value in values.items()):
            return entry
        with suppress(VersionConflict):
            return await store.put(KIND, thread, {**entry.body, **values}, expected=entry.version)


def title_of(text: str) -> str:
    """The title of a thread whose first message is `text`: its beginning, in one line."""
    words = "".join(each if each.isprintable() else " " for each in text).split()
    title = " ".join(words)
    return title if len(title) <= _TITLE_OF_MESSAGE else title[: _TITLE_OF_MESSAGE - 1].rstrip() + "…"


def checked_title(title: object) -> str:
    """A title. Raises `ThreadError` (`bad_title`)."""
    if not isinstance(title, str) or not 0 < len(title) <= MAX_TITLE or not title.isprintable() or not title.strip():
        raise ThreadError("bad_title", f"a title has 1 to {MAX_TITLE} printable characters, got {title!r}")
    return title
