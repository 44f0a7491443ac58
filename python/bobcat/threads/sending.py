"""The way of a message into a thread: the thread's document, the attachments, then the journal.

INVARIANT: the document is written before a note that the thread has an attachment (`USES`), that before the
attachment, and that before the message; each of them anew for every message. See `bobcat.threads.sweeping`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from bobcat.attachments import AttachmentStore
from bobcat.errors import ThreadError
from bobcat.model.attachment import Attachment
from bobcat.stores.protocol import DurableStore, Entry, VersionConflict
from bobcat.threads.files import files_to_body
from bobcat.threads.journal import ThreadJournal, journal_id
from bobcat.threads.metadata import ERASING, KIND, LIVE, check_state, title_of

USES = "thread.attachment"
"""Kind of the documents of the threads that have an attachment. A key is `thread:ID#DIGEST`."""


async def send_message(
    journal: ThreadJournal, text: str, *, key: str | None = None, attachments: Sequence[Attachment] = (),
    files: AttachmentStore | None = None, bound: Mapping[str, str] | None = None,
) -> int:  # fmt: skip
    """Append a message with its attachments, and return its position. Raises `ThreadError` unless the thread is live.

    A message that meets the deletion of its thread is kept with it, and erased with it.
    """
    admitted = await _admit(journal, text)
    await _note_uses(journal, attachments)
    if attachments:
        await (files or AttachmentStore(journal.store)).save(attachments)
    try:
        position = await journal.add_message(text, key, files_to_body(attachments), bound)
    except (ThreadError, VersionConflict):  # maybe because the journal was erased meanwhile
        if not await is_erased(journal, admitted):
            raise
    else:
        if not await is_erased(journal, admitted):
            return position
    await _note_uses(journal, attachments)  # the sweep of the purge may have been too early for them
    raise _erased(journal)


async def _note_uses(journal: ThreadJournal, attachments: Sequence[Attachment]) -> None:
    for digest in {each.digest for each in attachments}:
        await note_use(journal.store, journal.thread, digest)


async def note_use(store: DurableStore, thread: str, digest: str) -> None:
    """Note that a thread has an attachment. The note changes each time, so that no sweep removes an earlier one."""
    key = f"{journal_id(thread)}#{digest}"
    while True:
        entry = await store.get(USES, key)
        with suppress(VersionConflict):
            await store.put(USES, key, {}, expected=0 if entry is None else entry.version)
            return


async def _admit(journal: ThreadJournal, text: str) -> Entry:
    """The document of a live thread, created with its first message. Raises `ThreadError`."""
    store, thread = journal.store, journal.thread
    entry = await store.get(KIND, thread)
    if entry is None:
        if await store.load_from(journal.run_id, limit=1):  # a message that was sent while the thread was erased
            await leave_to_purge(journal)
        created = (await store.now()).isoformat()
        body = {"title": title_of(text), "archived": False, "created": created, "state": LIVE}
        with suppress(VersionConflict):
            await store.put(KIND, thread, body, expected=0)
        entry = await store.get(KIND, thread)
    check_state(thread, entry)
    if entry is None:
        raise _erased(journal)
    return entry


async def is_erased(journal: ThreadJournal, admitted: Entry) -> bool:
    """True when the thread is no longer the one that admitted the message."""
    present = await journal.store.get(KIND, journal.thread)
    if present is None:
        await leave_to_purge(journal)
        return True
    return present.body.get("state") == ERASING or present.body.get("created") != admitted.body.get("created")


async def check_same(journal: ThreadJournal, known: Entry | None) -> None:
    """Raise `ThreadError` when the thread was erased since its document was read."""
    if known is not None and await is_erased(journal, known):
        raise _erased(journal)


def _erased(journal: ThreadJournal) -> ThreadError:
    return ThreadError("deleted", f"thread {journal.thread!r} was erased meanwhile")


async def leave_to_purge(journal: ThreadJournal) -> None:
    """Hide parts of an erased thread that were written too late, so that the next purge removes them."""
    body = {"created": (await journal.store.now()).isoformat(), "state": ERASING}
    with suppress(VersionConflict):
        await journal.store.put(KIND, journal.thread, body, expected=0)
