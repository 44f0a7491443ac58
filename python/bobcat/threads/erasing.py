"""Purge of deleted threads: their turns, messages, documents, approvals, and attachments that no other thread has.

A purge marks a thread as `erasing`, which hides it, then removes its parts, and its own document last: the next purge
completes one that was killed. A run is erased at the fence that it had while the thread's document was still that of
the purge, so that a slow purge never touches a new thread with the same id.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from bobcat.approvals.record import KIND as APPROVALS
from bobcat.approvals.record import STEP_KIND
from bobcat.approvals.waking import WAITING
from bobcat.runtime.scopes import TALLY, scope_id
from bobcat.stores.protocol import DurableStore, Entry, RunBusy, VersionConflict, erasable
from bobcat.threads.exporting import DOCUMENTS
from bobcat.threads.journal import TURN, ThreadJournal, journal_id, turn_id
from bobcat.threads.metadata import ERASING, KIND, kept_until
from bobcat.threads.sweeping import every, same, sweep


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """Ids of the threads that were erased, and of those that wait because a turn of theirs is in progress.

    `attachments` is the number of attachments that were removed.
    """

    erased: tuple[str, ...]
    busy: tuple[str, ...]
    attachments: int

    def to_json(self) -> dict[str, Any]:
        """The fields."""
        return asdict(self)


class _Overtaken(Exception):
    """Another purge has erased the thread."""


async def purge_threads(store: DurableStore, now: datetime, *, dry_run: bool = False) -> PurgeReport:
    """Erase the deleted threads whose retention has ended at `now`. Raises `StoreError` (`not_erasable`)."""
    erasable(store)
    due = [entry async for entry in every(store, KIND) if _is_due(entry, now)]
    busy = [entry.key for entry in due if await _is_held(store, entry.key)]
    free = [entry for entry in due if entry.key not in busy]
    if dry_run:
        chosen = {entry.key: entry for entry in free}
        return PurgeReport(tuple(chosen), tuple(busy), await sweep(store, chosen, dry_run=True))
    erased: dict[str, Entry] = {}
    for entry in free:
        try:
            erased[entry.key] = await _erase_thread(store, entry)
        except RunBusy:
            busy.append(entry.key)
        except (VersionConflict, _Overtaken):  # restored meanwhile, or erased by another purge
            continue
    await _erase_approvals(store, erased)
    attachments = await sweep(store, erased)
    for entry in erased.values():
        with suppress(VersionConflict):
            await erasable(store).discard(entry)
    return PurgeReport(tuple(erased), tuple(busy), attachments)


def _is_due(entry: Entry, now: datetime) -> bool:
    until = kept_until(entry)
    return entry.body.get("state") == ERASING or (until is not None and until <= now)


async def _is_held(store: DurableStore, thread: str) -> bool:
    """True while a process executes a turn of the thread."""
    last = await ThreadJournal(store, thread).last_turn()
    runs = [journal_id(thread)] if last is None else [journal_id(thread), turn_id(thread, last.number)]
    return any([(run := await store.run(each)) is not None and bool(run.held) for each in runs])


async def _erase_thread(store: DurableStore, entry: Entry) -> Entry:
    """Hide a thread, and remove its runs and documents except its own, which is returned. Raises `RunBusy`.

    INVARIANT: a worker reads the thread's document after it acquired the thread, so it is seen here, or stops there.
    """
    thread = entry.key
    if entry.body.get("state") != ERASING:
        body = {"created": entry.body["created"], "state": ERASING}
        entry = await store.put(KIND, thread, body, expected=entry.version)
    journal = ThreadJournal(store, thread)
    run = await store.run(journal.run_id)
    if run is not None and run.held:
        raise RunBusy(journal.run_id, "a worker", await store.now())
    async for record in journal.forwards():
        if record.kind == TURN:
            await _erase_run(store, entry, turn_id(thread, record.body["turn"]))
    for kind in (*DOCUMENTS, WAITING):
        async for document in every(store, kind, f"{journal.run_id}#"):
            await _discard(store, entry, document)
    counts = scope_id("session", thread)
    async for document in every(store, TALLY, f"{counts}#"):
        await _discard(store, entry, document)
    await _erase_run(store, entry, counts)
    await _erase_run(store, entry, journal.run_id)
    return entry


async def _erase_run(store: DurableStore, entry: Entry, run_id: str) -> None:
    run = await store.run(run_id)
    await _check_present(store, entry)
    await erasable(store).erase(run_id, fence=0 if run is None else run.fence)


async def _erase_approvals(store: DurableStore, erased: Mapping[str, Entry]) -> None:
    """Remove the approvals of turns: they have arguments of calls."""
    for kind in (APPROVALS, STEP_KIND) if erased else ():
        async for document in every(store, kind):
            prefix, found, number = str(document.body.get("run_id", "")).rpartition("#")
            entry = erased.get(prefix.removeprefix("thread:"))
            if entry is not None and found and prefix.startswith("thread:") and number.isdigit():
                with suppress(_Overtaken):
                    await _discard(store, entry, document)


async def _discard(store: DurableStore, entry: Entry, document: Entry) -> None:
    """Remove a document of a thread, also when it is changed meanwhile."""
    present: Entry | None = document
    while present is not None:
        await _check_present(store, entry)
        try:
            await erasable(store).discard(present)
            return
        except VersionConflict:
            present = await store.get(document.kind, document.key)


async def _check_present(store: DurableStore, entry: Entry) -> None:
    """Raise `_Overtaken` unless the thread's document is the one that this purge read or wrote."""
    present = await store.get(KIND, entry.key)
    if present is None or not same(present, entry):
        raise _Overtaken
