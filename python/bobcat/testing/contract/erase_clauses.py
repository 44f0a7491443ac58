"""Clauses of an `ErasableStore`: what was removed is gone, and nothing is removed that is in use or was changed."""

from __future__ import annotations

import asyncio

from bobcat.stores.protocol import Entry, ErasableStore, LeaseLost, RunBusy, VersionConflict
from bobcat.testing.contract.subject import (
    NotApplicable,
    StoreUnderTest,
    append_all,
    demand,
    demand_accepted,
    demand_refused,
    demand_same,
    present,
    record,
    refusal,
)

LONG = 120.0
"""Seconds of a lease that does not expire within a clause."""

ROUNDS = 10
"""Rounds of a race."""


async def _erasable(subject: StoreUnderTest) -> ErasableStore:
    store = await subject.durable()
    if not isinstance(store, ErasableStore):
        raise NotApplicable("the store removes nothing: it has no erase and discard")
    return store


async def an_erased_run_is_gone(subject: StoreUnderTest) -> None:
    """`erase` removes the records, the status and the listing of one run, and of no other; the second time it returns
    false. The run can begin again."""
    store, run_id, other = await _erasable(subject), subject.run_id(), subject.run_id("other")
    second = await subject.other()
    demand(not await store.erase(run_id), "an unknown run was erased")
    await append_all(store, [record(each, seq) for each in (run_id, other) for seq in range(3)])
    await store.set_status(run_id, "succeeded", detail={"answer": "done"})
    demand_same(await second.load(run_id), [record(run_id, seq) for seq in range(3)], "another store object, before")
    demand(await store.erase(run_id), "`erase` of a known run returned false")
    for each, what in ((store, "the store"), (second, "another store object")):
        demand_same(await each.load(run_id), [], f"{what}, after the erase")
    demand(await store.run(run_id) is None, "the erased run is known")
    listed = {each.run_id for each in await store.runs(limit=1_000_000)}
    demand(run_id not in listed and other in listed, "the listing has the erased run, or lacks another one")
    demand(not await store.erase(run_id), "the second `erase` returned true")
    demand_same(await store.load(other), [record(other, seq) for seq in range(3)], "another run")
    again = [record(run_id, seq, {"again": seq}) for seq in range(2)]
    await append_all(second, again)
    demand_same(await store.load(run_id), again, "the run that began again")
    known = present(await store.run(run_id), "the run that began again")
    demand((known.status, known.records, known.appended) in (("running", 2, 2), ("running", 2, None)), f"it is {known}")


async def a_held_run_is_not_erased(subject: StoreUnderTest) -> None:
    """While a lease is alive, `erase` raises `RunBusy` with its owner and changes nothing."""
    store, run_id = await _erasable(subject), subject.run_id()
    lease = await store.acquire(run_id, owner="holder", seconds=LONG)
    await store.append_fenced(record(run_id, 0), lease)
    busy = await demand_refused(store.erase(run_id), RunBusy, "`erase` of a held run")
    demand(getattr(busy, "owner", None) == "holder", f"the owner is given as {getattr(busy, 'owner', None)!a}")
    demand_same(await store.load(run_id), [record(run_id, 0)], "the held run")
    await demand_accepted(store.append_fenced(record(run_id, 1), lease), "an append of the holder after the refusal")
    await store.release(lease)
    demand(await store.erase(run_id), "`erase` of a released run returned false")


async def a_lease_does_not_outlive_an_erased_run(subject: StoreUnderTest) -> None:
    """A run that begins again has a greater fence, so leases from before the erase are lost, for the same owner too;
    `erase` with an earlier fence does nothing."""
    store, run_id = await _erasable(subject), subject.run_id()
    for number, known_by in enumerate(("acquire", "append", "status")):
        old = await store.acquire(run_id, owner="a", seconds=LONG)
        await store.release(old)
        await store.erase(run_id, fence=old.fence)
        demand(await store.run(run_id) is None, "`erase` with the present fence did nothing")
        if known_by == "append":
            await store.append(record(run_id, 0))
        elif known_by == "status":
            await store.set_status(run_id, "queued")
        demand(not await store.erase(run_id, fence=old.fence), f"round {number}: an earlier fence erased the run")
        new = await store.acquire(run_id, owner="a", seconds=LONG)
        demand(new.fence > old.fence, f"known by {known_by}: fence {new.fence} after {old.fence}")
        await demand_refused(store.append_fenced(record(run_id, 1), old), LeaseLost, "an append under the old lease")
        await demand_refused(store.renew(old, seconds=LONG), LeaseLost, "a renewal of the old lease")
        await store.release(new)
        await store.erase(run_id)


async def an_erase_and_an_append_do_not_mix(subject: StoreUnderTest) -> None:
    """Of a record that is appended during an `erase`, both the journal and the listing remain, or neither."""
    store, second = await _erasable(subject), (await subject.pair())[1]
    for number in range(ROUNDS):
        run_id = subject.run_id(str(number))
        await append_all(store, [record(run_id, seq) for seq in range(3)])
        await asyncio.gather(store.erase(run_id), second.append(record(run_id, 3)))
        found, known = await store.load(run_id), await store.run(run_id)
        demand([each.seq for each in found] in ([], [3]), f"positions {[each.seq for each in found]} remain")
        demand((known is not None) == bool(found), f"the run is {known}, and has {len(found)} records")


async def a_discarded_document_is_gone(subject: StoreUnderTest) -> None:
    """`discard` removes a document, and no other; the second time it returns false."""
    store, kind = await _erasable(subject), subject.run_id("kind")
    entries = [await store.put(kind, key, {"key": key}, expected=0) for key in ("a", "b", "c")]
    demand(await store.discard(entries[1]), "`discard` of a document returned false")
    demand(await store.get(kind, "b") is None, "the discarded document exists")
    demand([each.key for each in await store.scan(kind)] == ["a", "c"], "the scan has other documents than a and c")
    demand(not await store.discard(entries[1]), "the second `discard` returned true")
    demand((await store.put(kind, "b", {}, expected=0)).version == 1, "the document does not begin again at version 1")
    demand([each.key for each in await store.scan(kind)] == ["a", "b", "c"], "the scan lacks the new document")


async def a_changed_document_is_not_discarded(subject: StoreUnderTest) -> None:
    """`discard` of a document that was changed, or removed and written again, raises `VersionConflict`."""
    store, kind = await _erasable(subject), subject.run_id("kind")
    first = await store.put(kind, "k", {"n": 1}, expected=0)
    second = await store.put(kind, "k", {"n": 2}, expected=1)
    await demand_refused(store.discard(first), VersionConflict, "`discard` of an earlier version")
    demand(await store.get(kind, "k") is not None, "the changed document is gone")
    demand(await store.discard(second), "`discard` of the present version returned false")
    await asyncio.sleep(0.01)
    await store.put(kind, "k", {"n": 1}, expected=0)
    await demand_refused(store.discard(first), VersionConflict, "`discard` of a document that was written again")


async def a_discard_and_a_change_exclude_each_other(subject: StoreUnderTest) -> None:
    """Of a `discard` and a change from the same version, one succeeds; of many discards, one returns true."""
    store, second = await _erasable(subject), (await subject.pair())[1]
    assert isinstance(second, ErasableStore)
    for number in range(ROUNDS):
        kind, key = subject.run_id("kind"), str(number)
        entry = await store.put(kind, key, {"n": 1}, expected=0)

        async def removed(at: int, entry: Entry = entry) -> bool:
            return await (store if at % 2 else second).discard(entry)

        change = refusal(second.put(kind, key, {"n": 2}, expected=1))
        first, refused, *others = await asyncio.gather(
            removed(0), change, removed(1), removed(2), return_exceptions=True
        )
        removals = [first, *others]
        winners = [each for each in removals if each is True]
        demand(len(winners) == (refused is not None), f"{len(winners)} discards won, and the change had {refused!r}")
        found = await store.get(kind, key)
        demand((found is None) == bool(winners), f"the document is {found}")
