"""Management of the threads of a store: list, rename, archive, delete, restore, purge, export, import."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bobcat.aio.closing import Closing
from bobcat.errors import ThreadError
from bobcat.stores.protocol import DurableStore, Entry
from bobcat.threads.erasing import PurgeReport, purge_threads
from bobcat.threads.exporting import export_thread
from bobcat.threads.importing import import_thread
from bobcat.threads.journal import TURN, ThreadJournal
from bobcat.threads.metadata import (
    DELETED,
    KIND,
    LIVE,
    change,
    checked_title,
    delete,
    deleted_at,
    kept_until,
    known,
    restore,
)
from bobcat.threads.opening import checked_id, opened

MAX_LIMIT = 10_000
KEEP_DAYS = 30
"""Days for which a deleted thread can be restored."""
MAX_KEEP_DAYS = 36_500


@dataclass(frozen=True, slots=True)
class ThreadInfo:
    """One thread of a store: `turns` that have begun, the time of its first message, and that of its last change.

    For a deleted thread, `deleted` is the time of that, and `kept_until` the end of its retention.
    """

    id: str
    title: str
    archived: bool
    turns: int
    created: datetime
    updated: datetime
    deleted: datetime | None = None
    kept_until: datetime | None = None

    def to_json(self) -> dict[str, Any]:
        """The fields; times are ISO 8601 text."""
        fields = asdict(self).items()
        return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in fields}


class Threads(Closing):
    """The threads of a store: `list`, `get`, `rename`, `archive`, `delete`, `restore`, `purge`, `export`, `import_`.

    `store` is a `DurableStore`, or a URL or path as `Thread` takes. A thread exists from its first message on. Methods
    raise `ThreadError`: `unknown` for a thread that the store does not have, `deleted` for one that was deleted.
    """

    def __init__(self, store: DurableStore | str | Path) -> None:
        self._own_store = isinstance(store, str | Path)
        self._store = opened(store)

    async def aclose(self) -> None:
        """Close a store that was opened from a URL."""
        if self._own_store:
            await self._store.aclose()

    async def get(self, id: str) -> ThreadInfo:
        """One thread, also a deleted one until it is purged."""
        return await self._info(await known(self._store, _id(id), deleted=True))

    async def list(
        self, *, archived: bool | None = False, deleted: bool = False, limit: int = 100, after: str = ""
    ) -> list[ThreadInfo]:
        """Threads by id, at most `limit`, with ids greater than `after`.

        `archived=None` lists archived ones, too; `deleted=True` the deleted ones instead, archived or not.
        """
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
            raise ThreadError("bad_limit", f"limit must be from 1 to {MAX_LIMIT:,}, got {limit!r}")
        found: list[ThreadInfo] = []
        while len(found) < limit and (page := await self._store.scan(KIND, after=after, limit=limit)):
            after = page[-1].key
            chosen = [each for each in page if _is_listed(each, archived, deleted)]
            found += [await self._info(each) for each in chosen[: limit - len(found)]]
        return found

    async def rename(self, id: str, title: str) -> ThreadInfo:
        """Give a thread another title; the first one is the beginning of its first message."""
        values = {"title": checked_title(title)}
        return await self._info(await change(self._store, _id(id), values))

    async def archive(self, id: str) -> ThreadInfo:
        """Leave a thread out of the list. It still takes messages."""
        return await self._info(await change(self._store, _id(id), {"archived": True}))

    async def unarchive(self, id: str) -> ThreadInfo:
        """Put an archived thread into the list again."""
        return await self._info(await change(self._store, _id(id), {"archived": False}))

    async def delete(self, id: str, *, keep_days: float = KEEP_DAYS) -> ThreadInfo:
        """Delete a thread: it takes no messages, is not listed, and can be restored for `keep_days` days.

        `purge` erases it afterwards. A turn in progress comes to its end; messages behind it do not run. For a thread
        that was deleted before, the days count from then. Raises `ThreadError`: `bad_keep_days`.
        """
        return await self._info(await delete(self._store, _id(id), _days(keep_days)))

    async def restore(self, id: str) -> ThreadInfo:
        """Take a deletion back. Raises `ThreadError`: `expired` after the retention."""
        return await self._info(await restore(self._store, _id(id)))

    async def purge(self, *, now: datetime | None = None, dry_run: bool = False) -> PurgeReport:
        """Erase the deleted threads whose retention has ended at `now`, by default the store's time.

        Nothing of them is left in the store, except for attachments that other threads have. A thread with a turn in
        progress waits for a later purge; a purge that was killed is completed by the next one. With `dry_run`, nothing
        changes. Raises `StoreError` (`not_erasable`), and `ThreadError`: `bad_time`.
        """
        if now is not None and (not isinstance(now, datetime) or now.tzinfo is None):
            raise ThreadError("bad_time", f"now must be a time with its zone, got {now!r}")
        return await purge_threads(self._store, now or await self._store.now(), dry_run=dry_run)

    async def export(self, id: str, path: str | Path) -> None:
        """Write a thread to a new file: its journals, its documents, its attachments, and a hash of them.

        Raises `ThreadError`: `busy` while a turn is in progress, `file_exists`.
        """
        await export_thread(self._store, await known(self._store, _id(id)), Path(path))

    async def import_(self, path: str | Path) -> ThreadInfo:
        """Read a thread from a file of `export`. The whole file is checked before anything is written.

        An import that was killed is completed by importing the same file again; until then the thread is neither
        listed nor usable. Raises `ThreadError`: `exists` for a thread that the store has, `damaged`.
        """
        return await self._info(await import_thread(self._store, Path(path)))

    async def _info(self, entry: Entry) -> ThreadInfo:
        created = datetime.fromisoformat(entry.body["created"])
        turns, updated = 0, created
        async for record in ThreadJournal(self._store, entry.key).backwards():
            updated = max(updated, record.timestamp)
            if record.kind == TURN:
                turns = record.body["turn"]
                break
        texts = entry.key, entry.body["title"], entry.body["archived"]
        return ThreadInfo(*texts, turns, created, updated, deleted_at(entry), kept_until(entry))


def _is_listed(entry: Entry, archived: bool | None, deleted: bool) -> bool:
    if deleted:
        return entry.body.get("state") == DELETED
    return entry.body.get("state") == LIVE and archived in (None, entry.body.get("archived"))


def _days(days: object) -> timedelta:
    if isinstance(days, bool) or not isinstance(days, int | float) or not 0 <= days <= MAX_KEEP_DAYS:
        raise ThreadError("bad_keep_days", f"keep_days must be a number from 0 to {MAX_KEEP_DAYS:,}, got {days!r}")
    return timedelta(days=days)


def _id(id: object) -> str:
    try:
        return checked_id(id)
    except (TypeError, ValueError) as error:
        raise ThreadError("bad_id", str(error)) from error
