"""Slots for the runs of one tenant: the limit of concurrent runs over all workers of a store.

A slot belongs to a run, not to a worker: a worker that dies leaves the slot to the worker that resumes the run.
"""

from __future__ import annotations

from hashlib import sha256

from bobcat.stores.protocol import DurableStore, VersionConflict

KIND = "tenant"


async def acquire(store: DurableStore, tenant: str, run_id: str, limit: int) -> bool:
    """Acquire a slot for a run; false when its tenant has no free one."""
    key = _key(tenant)
    while True:
        entry = await store.get(KIND, key)
        held: list[str] = [] if entry is None else list(entry.body["runs"])
        if run_id in held:
            return True
        if len(held) >= limit:
            held = [other for other in held if await _in_use(store, other)]
        if len(held) >= limit:
            return False
        body = {"tenant": tenant, "runs": [*held, run_id]}
        try:
            await store.put(KIND, key, body, expected=0 if entry is None else entry.version)
        except VersionConflict:
            continue
        return True


async def release(store: DurableStore, tenant: str, run_id: str) -> None:
    """Free the slot of a run that ended or waits."""
    key = _key(tenant)
    while True:
        entry = await store.get(KIND, key)
        if entry is None or run_id not in entry.body["runs"]:
            return
        body = {**entry.body, "runs": [other for other in entry.body["runs"] if other != run_id]}
        try:
            await store.put(KIND, key, body, expected=entry.version)
        except VersionConflict:
            continue
        return


async def _in_use(store: DurableStore, run_id: str) -> bool:
    """Return true if a run still needs its slot: it executes, is about to, or did when its worker died."""
    run = await store.run(run_id)
    return run is not None and run.status in ("running", "queued")


def _key(tenant: str) -> str:
    return sha256(tenant.encode("utf-8", "surrogatepass")).hexdigest()
