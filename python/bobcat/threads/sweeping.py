"""Removal of the attachments that no thread has any more.

No clock decides: a sender notes the use, then writes or renews the attachment, then the message (`sending`). A sweep
reads the attachment, then the notes, and removes the attachment only as it was read. So it finds the note, or the
attachment was renewed in between. Bytes that an `AttachmentStore` got from elsewhere have no note, and stay.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import suppress

from bobcat.attachments import AttachmentStore
from bobcat.stores.protocol import DurableStore, Entry, VersionConflict, erasable
from bobcat.threads.metadata import KIND
from bobcat.threads.sending import USES


async def sweep(store: DurableStore, erased: Mapping[str, Entry], *, dry_run: bool = False) -> int:
    """Remove the attachments that only the threads of these documents have; return how many there are."""
    ended = [use async for use in _uses(store) if not await _is_alive(store, use, erased)]
    files = AttachmentStore(store)
    found = {digest: await files.documents(digest) for digest in {_digest(use) for use in ended}}
    used = {_digest(use) async for use in _uses(store) if await _is_alive(store, use, erased)} if found else set()
    unused = [documents for digest, documents in found.items() if digest not in used and documents]
    if dry_run:
        return len(unused)
    removed = sum([await files.remove(documents) for documents in unused])
    for use in ended:
        with suppress(VersionConflict):
            await erasable(store).discard(use)
    return removed


async def every(store: DurableStore, kind: str, prefix: str = "") -> AsyncIterator[Entry]:
    """The documents of a kind whose keys begin with `prefix`, by key, a page at a time."""
    after = prefix
    while page := await store.scan(kind, after=after):
        for entry in page:
            if not entry.key.startswith(prefix):
                return
            yield entry
        after = page[-1].key


def _uses(store: DurableStore) -> AsyncIterator[Entry]:
    return every(store, USES)


def _digest(use: Entry) -> str:
    return use.key.rpartition("#")[2]


async def _is_alive(store: DurableStore, use: Entry, erased: Mapping[str, Entry]) -> bool:
    """True when the thread of a note exists. A later one with the id of an erased one does."""
    thread = use.key.removeprefix("thread:").rpartition("#")[0]
    present, entry = await store.get(KIND, thread), erased.get(thread)
    return present is not None and (entry is None or not same(present, entry))


def same(one: Entry, other: Entry) -> bool:
    """True for one state of one document."""
    return (one.kind, one.key, one.version, one.updated) == (other.kind, other.key, other.version, other.updated)
