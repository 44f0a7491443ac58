"""Errors with the same wording in every shipped store."""

from __future__ import annotations

from bobcat.errors import StoreError
from bobcat.journal.records import DuplicateRecord
from bobcat.logs import logger
from bobcat.stores.protocol import Lease, LeaseLost, VersionConflict

log = logger("stores")
ENDED = "the tool ended its transaction, so its result cannot be committed with its writes"


def duplicate_record(run_id: str, seq: int) -> DuplicateRecord:
    """The position already has a record."""
    return DuplicateRecord(f"run {run_id!r} already has a record {seq}")


def lease_lost(lease: Lease, run_id: str) -> LeaseLost:
    """The lease does not hold the run."""
    if lease.run_id != run_id:
        return LeaseLost(f"a lease on run {lease.run_id!r} is not valid for run {run_id!r}")
    return LeaseLost(f"run {run_id!r} is no longer held under fence {lease.fence}")


class JournalGap(Exception):
    """An append under a live lease beyond the end of the journal: the journal lost records."""

    def __init__(self, run_id: str, seq: int, last: int) -> None:
        super().__init__(
            f"record {seq} of run {run_id!r} is to follow, and the journal ends at {last}: the store lost records"
        )


def storage_moved(path: str) -> StoreError:
    """The file or the directory was replaced since it was opened."""
    return StoreError(
        "moved",
        f"`{path}` is no longer the storage that was opened: it was moved, removed or replaced; start again",
    )


def read_only(path: str, reason: object) -> StoreError:
    """A write to read-only storage."""
    return StoreError("read_only", f"`{path}` is read-only ({reason}): it can be listed and traced, but not written")


def version_conflict(kind: str, key: str, expected: int) -> VersionConflict:
    """The document has another version."""
    return VersionConflict(f"{kind} {key!r} is no longer at version {expected}")


def too_new(label: str, found: int, known: int) -> StoreError:
    """The content was written by a later release of Bobcat."""
    return StoreError(
        "too_new", f"{label} has schema {found}, and this release of bobcat knows schemas up to {known}: upgrade bobcat"
    )


def unavailable(message: str) -> StoreError:
    """The store cannot be reached or written. Logged here, because a caller that retries may not show the error."""
    log.info("%s", message, extra={"code": "unavailable"})
    return StoreError("unavailable", message)


def store_closed(label: str) -> StoreError:
    """The store was closed by `aclose`."""
    return StoreError("closed", f"{label} was closed; create another store")


def wrong_event_loop(label: str) -> StoreError:
    """The store's connections belong to another event loop."""
    return StoreError("other_loop", f"{label} serves one event loop at a time: create one for each")


def without_driver(store: str, package: str, extra: str) -> ImportError:
    """The driver package of the server is not installed."""
    return ImportError(f"{store} requires the '{package}' package. Install with: pip install 'bobcat[{extra}]'")
