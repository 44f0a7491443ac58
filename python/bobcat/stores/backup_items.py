"""The content of a store as a backup has it, the same for every kind of store, and the two methods of a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Protocol, TypeAlias, TypeVar, runtime_checkable

import msgspec

from bobcat.errors import StoreError
from bobcat.stores.codec import FENCE_JUMP, RecordRow
from bobcat.stores.protocol import DurableStore

I = TypeVar("I")  # noqa: E741 - an item


class SavedStore(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="store"):
    """The first item: the epoch, and the fence with which a run becomes known."""

    epoch: int
    fence: int = 0


class SavedRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag="run"):
    """A run beside its records. Times are microseconds since 1970, `detail` is the text of a JSON object.

    `records`, `last` and `head` are those that the store has counted, which a cut journal does not have. Leases are not
    saved. From `kind` on it is the entry in the queue; an empty kind: the run has none.
    """

    run_id: str
    status: str
    created: int
    updated: int
    detail: str
    fence: int
    epoch: int
    records: int | None = None
    last: int = -1
    head: str | None = None
    kind: str = ""
    version: str = ""
    tenant: str = ""
    priority: int = 0
    run_at: int = 0
    attempts: int = 0
    place: int = 0
    look: int | None = None


class SavedRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="record"):
    """A record. `body` is the text of a JSON object, `head` its chain hash or ""."""

    run_id: str
    seq: int
    kind: str
    idempotency_key: str
    body: str
    timestamp: str
    head: str

    @classmethod
    def of(cls, row: RecordRow) -> SavedRecord:
        """The item of a row."""
        return cls(*row)

    @property
    def row(self) -> RecordRow:
        """The row of the item."""
        return RecordRow(*(getattr(self, name) for name in RecordRow._fields))


class SavedDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="document"):
    """A document. `body` is the text of a JSON object."""

    kind: str
    key: str
    version: int
    body: str
    updated: int


SavedItem: TypeAlias = SavedStore | SavedRun | SavedRecord | SavedDocument
"""One item. The store is first, then come all runs, all records by run and position, and all documents."""

RUN_FIELDS = tuple(name for name in SavedRun.__struct_fields__)
RECORD_FIELDS = SavedRecord.__struct_fields__
DOCUMENT_FIELDS = SavedDocument.__struct_fields__


@runtime_checkable
class BackupStore(DurableStore, Protocol):
    """A store whose whole content can be saved and restored."""

    async def save(self, write: Callable[[SavedItem], None]) -> None:
        """Call `write` with each item of one consistent state, in a thread of any kind. Workers go on meanwhile."""

    async def restore(self, items: Iterable[SavedItem]) -> None:
        """Write all items, or none, into this store, which must be empty; it begins its next epoch.

        The epoch is greater than that of the items, and so are all fences: see `restored_run`. Raises `StoreError`
        (`not_empty`).
        """


def next_epoch(own: int, saved: SavedStore) -> int:
    """The epoch of a store that is restored from `saved`: every run of it is older."""
    return max(own, saved.epoch) + 1


def restored_run(run: SavedRun) -> SavedRun:
    """The run with a fence above all that may have been given since it was saved."""
    return msgspec.structs.replace(run, fence=run.fence + FENCE_JUMP)


def counted(run: SavedRun) -> SavedRun:
    """The run with a number of records, -1 where its store kept none: it is counted after they are written."""
    return run if run.records is not None else msgspec.structs.replace(run, records=-1)


def parts(items: Iterable[SavedItem]) -> tuple[SavedStore, Iterator[tuple[type, Iterator[SavedItem]]]]:
    """The first item, and the others by type, each group an iterator to be used up before the next one."""
    rest = iter(items)
    first = next(rest, None)
    if not isinstance(first, SavedStore):
        raise StoreError("damaged", "the backup does not begin with a store")
    return first, ((kind, group) for kind, group in groupby(rest, type))


def not_empty(place: str) -> StoreError:
    """The store has runs or documents."""
    return StoreError("not_empty", f"{place} has runs or documents: a backup is restored into an empty store")
