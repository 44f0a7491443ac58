"""The refusals that every shipped store words alike."""

from __future__ import annotations

from bobcat.errors import StoreError
from bobcat.journal import DuplicateRecord
from bobcat.logs import logger
from bobcat.stores.durable import Lease, LeaseLost, VersionConflict

log = logger("stores")
ENDED = "the tool ended the transaction that it was given, so its result cannot be kept with what it wrote"


def taken(run_id: str, seq: int) -> DuplicateRecord:
    """The position has a record."""
    return DuplicateRecord(f"run {run_id!r} already has a record {seq}")


def lost(lease: Lease, run_id: str) -> LeaseLost:
    """The run is not held under the lease."""
    if lease.run_id != run_id:
        return LeaseLost(f"a lease on run {lease.run_id!r} is none on run {run_id!r}")
    return LeaseLost(f"run {run_id!r} is not held under fence {lease.fence} any more")


class Gap(Exception):
    """A record is to be appended, under a live lease, behind a position that the journal lost."""

    def __init__(self, run_id: str, seq: int, last: int) -> None:
        super().__init__(
            f"record {seq} of run {run_id!r} is to follow, and the journal ends at {last}: the store lost records"
        )


def moved(path: str) -> StoreError:
    """The file or the directory is not where it was opened."""
    return StoreError(
        "moved",
        f"`{path}` is no longer the storage that was opened: it was moved, removed or replaced; start again",
    )


def read_only(path: str, why: object) -> StoreError:
    """Something is to be written where nothing can be."""
    return StoreError("read_only", f"`{path}` is read-only ({why}): it can be listed and traced, and not written")


def changed(kind: str, key: str, expected: int) -> VersionConflict:
    """The document has another version."""
    return VersionConflict(f"{kind} {key!r} is not at version {expected} any more")


def too_new(what: str, found: int, known: int) -> StoreError:
    """A later release of Bobcat wrote it."""
    return StoreError(
        "too_new", f"{what} has schema {found}, and this release of bobcat knows schemas up to {known}: upgrade bobcat"
    )


def unavailable(message: str) -> StoreError:
    """The store cannot be reached or written. It is logged, because whoever tries again may not show the error."""
    log.info("%s", message, extra={"code": "unavailable"})
    return StoreError("unavailable", message)


def closed(what: str) -> StoreError:
    """`aclose` was called."""
    return StoreError("closed", f"{what} was closed; make another store")


def elsewhere(what: str) -> StoreError:
    """Its connections belong to another event loop."""
    return StoreError("other_loop", f"{what} serves one event loop at a time: make one for each")


def without_driver(store: str, package: str, extra: str) -> ImportError:
    """The package that talks to the server is not installed."""
    return ImportError(f"{store} requires the '{package}' package. Install with: pip install 'bobcat[{extra}]'")
