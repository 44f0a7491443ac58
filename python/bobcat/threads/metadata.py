"""The document of a thread: its title, its state, and the time of its first message."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from bobcat.errors import ThreadError
from bobcat.stores.protocol import DurableStore, Entry, VersionConflict

KIND = "thread"
LIVE, IMPORTING = "live", "importing"
MAX_TITLE = 200
_TITLE_OF_MESSAGE = 80


async def admit(store: DurableStore, thread: str, text: str) -> None:
    """Create the document of a thread with its first message. Raises `ThreadError` unless the thread is complete."""
    entry = await store.get(KIND, thread)
    if entry is None:
        created = (await store.now()).isoformat()
        body = {"title": title_of(text), "archived": False, "created": created, "state": LIVE}
        with suppress(VersionConflict):
            await store.put(KIND, thread, body, expected=0)
            return
        entry = await store.get(KIND, thread)
    check_state(thread, entry)


async def check(store: DurableStore, thread: str) -> None:
    """Raise `ThreadError` for a thread that is not complete. One without a document has no messages yet."""
    check_state(thread, await store.get(KIND, thread))


def check_state(thread: str, entry: Entry | None) -> None:
    """Raise `ThreadError` for a thread whose import has not ended."""
    if entry is not None and entry.body.get("state") == IMPORTING:
        raise ThreadError("importing", f"the import of thread {thread!r} has not ended; import the same file again")


async def known(store: DurableStore, thread: str) -> Entry:
    """The document of a complete thread. Raises `ThreadError`."""
    entry = await store.get(KIND, thread)
    if entry is None:
        raise ThreadError("unknown", f"the store has no thread {thread!r}")
    check_state(thread, entry)
    return entry


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
