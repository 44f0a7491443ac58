"""Clauses of a `GroupingStore` and a `BatchingStore`: several writes of a run are made together, or none of them is."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from bobcat.journal.records import DuplicateRecord
from bobcat.stores.protocol import (
    BatchingStore,
    DurableStore,
    GroupingStore,
    LeaseLost,
    RestorableStore,
    RunBusy,
    batching,
    grouping,
)
from bobcat.testing.contract.subject import (
    NotApplicable,
    StoreUnderTest,
    demand,
    demand_refused,
    demand_same,
    present,
    record,
    refusal,
)

LONG = 120.0
"""Seconds of a lease that does not expire within a clause."""
BRIEF = 0.2
"""Seconds of a lease that expires within a clause."""
MANY = 40
"""Records of one group."""
ROUNDS = 5
"""Groups of each concurrent run."""


async def _grouping(subject: StoreUnderTest) -> GroupingStore:
    store = grouping(await subject.durable())
    if store is None:
        raise NotApplicable("the store writes each record by itself: it has no append_group and finish")
    return store


async def _batching(subject: StoreUnderTest) -> BatchingStore:
    store = batching(await _grouping(subject))
    if store is None:
        raise NotApplicable("the store takes no batches: it has no begin and conclude")
    return store


async def _other(subject: StoreUnderTest) -> DurableStore:
    return (await subject.pair())[1]


async def a_group_is_appended_whole(subject: StoreUnderTest) -> None:
    """`append_group` appends consecutive records of any number, and an empty group changes nothing. Another store
    object sees all of them."""
    store, run_id = await _grouping(subject), subject.run_id()
    lease = await store.acquire(run_id, owner="a", seconds=LONG)
    records = [record(run_id, seq, {"text": "\ud800 é" * seq}) for seq in range(MANY + 1)]
    await store.append_group([], lease)
    await store.append_group(records[:1], lease)
    await store.append_group(records[1:], lease)
    demand_same(await (await _other(subject)).load(run_id), records, "the journal")
    run = present(await store.run(run_id), "the run")
    demand(run.appended in (None, MANY + 1), f"the store has counted {run.appended} of {MANY + 1} records")


async def a_group_that_does_not_fit_appends_nothing(subject: StoreUnderTest) -> None:
    """A group with a taken position, or with one position twice, raises `DuplicateRecord`, and one with a record of
    another run `LeaseLost`. None of its records is appended."""
    store, run_id = await _grouping(subject), subject.run_id()
    lease = await store.acquire(run_id, owner="a", seconds=LONG)
    kept = [record(run_id, seq) for seq in range(2)]
    await store.append_group(kept, lease)
    for seqs in ((1, 2), (2, 2), (0, 1)):
        call = store.append_group([record(run_id, seq, {"late": True}) for seq in seqs], lease)
        await demand_refused(call, DuplicateRecord, f"a group of {seqs}")
        demand_same(await store.load(run_id), kept, f"after a group of {seqs}")
    other = subject.run_id("other")
    call = store.append_group([record(run_id, 2), record(other, 0)], lease)
    await demand_refused(call, LeaseLost, "a group of two runs")
    demand_same(await store.load(run_id), kept, "after a group of two runs")
    demand_same(await store.load(other), [], "the other run")
    await store.append_group([record(run_id, 2)], lease)


async def a_group_beyond_the_end_is_the_proof_of_a_loss(subject: StoreUnderTest) -> None:
    """A group that leaves a gap raises `LeaseLost` and appends nothing: the store is an older copy of itself. A store
    with epochs begins the next one."""
    store, run_id = await _grouping(subject), subject.run_id()
    before = await store.epoch() if isinstance(store, RestorableStore) else 0
    lease = await store.acquire(run_id, owner="a", seconds=LONG)
    await store.append_group([record(run_id, 0)], lease)
    call = store.append_group([record(run_id, 1), record(run_id, 3)], lease)
    await demand_refused(call, LeaseLost, "a group with a gap")
    demand_same(await store.load(run_id), [record(run_id, 0)], "after the group with a gap")
    if isinstance(store, RestorableStore):
        demand(await store.epoch() > before, "the epoch is that of before")


async def a_group_needs_the_lease(subject: StoreUnderTest) -> None:
    """Under a lease that has expired, was released or that another owner took, `append_group` and `finish` raise
    `LeaseLost` and change nothing."""
    store, run_id = await _grouping(subject), subject.run_id()
    old = await store.acquire(run_id, owner="a", seconds=BRIEF)
    while await store.now() <= old.expires:  # noqa: ASYNC110 - only the store knows
        await asyncio.sleep(0.02)
    await demand_refused(store.append_group([record(run_id, 0)], old), LeaseLost, "a group under an expired lease")
    taken = await store.acquire(run_id, owner="b", seconds=LONG)
    await demand_refused(
        store.append_group([record(run_id, 0)], old), LeaseLost, "a group under a lease that was taken"
    )
    forged = replace(old, fence=taken.fence)
    await demand_refused(store.append_group([record(run_id, 0)], forged), LeaseLost, "a group of another owner")
    await demand_refused(store.finish("failed", detail={}, lease=old), LeaseLost, "an end under a lease that was taken")
    run = present(await store.run(run_id), "the run")
    demand((run.status, run.records) == ("running", 0), f"the run is {run!r}")
    await store.append_group([record(run_id, 0)], taken)
    await store.release(taken)
    await demand_refused(store.append_group([record(run_id, 1)], taken), LeaseLost, "a group after the release")


async def an_end_releases_the_run(subject: StoreUnderTest) -> None:
    """`finish` sets the status with its detail and releases the run; the lease is lost then."""
    store, run_id = await _grouping(subject), subject.run_id()
    lease = await store.acquire(run_id, owner="a", seconds=LONG)
    await store.append_group([record(run_id, 0)], lease)
    await store.finish("suspended", detail={"why": "é", "n": 2**70}, lease=lease)
    other = await _other(subject)
    run = present(await other.run(run_id), "the run")
    wanted = ("suspended", {"why": "é", "n": 2**70}, lease.fence)
    demand((run.status, dict(run.detail), run.fence) == wanted and not run.held, f"the run is {run!r}")
    await demand_refused(store.append_group([record(run_id, 1)], lease), LeaseLost, "a group after the end")
    demand((await other.acquire(run_id, owner="b", seconds=LONG)).fence > lease.fence, "the next fence is no greater")


async def a_run_is_acquired_and_read_at_once(subject: StoreUnderTest) -> None:
    """`begin` acquires a run and returns it under the lease; it raises `RunBusy` while another owner's lease is
    alive."""
    store, run_id = await _batching(subject), subject.run_id()
    lease, run = await store.begin(run_id, owner="a", seconds=LONG)
    seen = (run.run_id, run.status, dict(run.detail), run.records, run.fence)
    demand(seen == (run_id, "running", {}, 0, lease.fence), f"the new run is {run!r}")
    await store.append_group([record(run_id, 0), record(run_id, 1)], lease)
    error = await demand_refused(store.begin(run_id, owner="b", seconds=LONG), RunBusy, "another owner's begin")
    assert isinstance(error, RunBusy)
    demand((error.run_id, error.owner) == (run_id, "a"), f"the error names {error.run_id!r} and {error.owner!r}")
    again, run = await store.begin(run_id, owner="a", seconds=LONG)
    demand(again.fence > lease.fence == run.fence - 1, f"fences {lease.fence}, {again.fence} and {run.fence}")
    demand(run.records == 2 and run.appended in (None, 2), f"the run has two records, not {run!r}")
    await demand_refused(store.append_group([record(run_id, 2)], lease), LeaseLost, "a group under the first lease")


async def the_last_records_and_the_end_are_one(subject: StoreUnderTest) -> None:
    """`conclude` appends the last records, sets the status and releases the run: all, or nothing when a record does not
    fit or the lease is lost."""
    store, run_id = await _batching(subject), subject.run_id()
    lease, _ = await store.begin(run_id, owner="a", seconds=LONG)
    await store.append_group([record(run_id, 0)], lease)
    for records, lost, error in (
        ([record(run_id, 0)], lease, DuplicateRecord),
        ([record(run_id, 0), record(run_id, 1)], lease, DuplicateRecord),
        ([record(run_id, 1)], replace(lease, fence=lease.fence + 1), LeaseLost),
    ):
        await demand_refused(store.conclude(records, "succeeded", detail={}, lease=lost), error, "an end")
        run = present(await store.run(run_id), "the run")
        demand((run.status, run.records) == ("running", 1), f"the run is {run!r}")
    last = [record(run_id, seq) for seq in range(1, MANY)]
    await store.conclude(last, "succeeded", detail={"records": MANY}, lease=lease)
    other = await _other(subject)
    run = present(await other.run(run_id), "the run")
    demand((run.status, run.records, dict(run.detail)) == ("succeeded", MANY, {"records": MANY}), f"it is {run!r}")
    demand_same(await other.load(run_id), [record(run_id, 0), *last], "the journal")
    await demand_refused(store.append_group([record(run_id, MANY)], lease), LeaseLost, "a group after the end")
    empty = subject.run_id("empty")
    lease, _ = await store.begin(empty, owner="a", seconds=LONG)
    await store.conclude([], "cancelled", detail={}, lease=lease)
    demand(present(await store.run(empty), "the run").status == "cancelled", "an end without records has no effect")


async def groups_of_concurrent_runs_do_not_mix(subject: StoreUnderTest) -> None:
    """Many runs that begin, append and end at once have the records of their own, in order; one that lost its lease
    fails alone."""
    store = await _batching(subject)
    lost = subject.run_id("lost")
    old, _ = await store.begin(lost, owner="a", seconds=LONG)
    await store.release(old)

    async def go(run_id: str) -> None:
        lease, _ = await store.begin(run_id, owner="a", seconds=LONG)
        for number in range(ROUNDS):
            await store.append_group([record(run_id, 3 * number + each) for each in range(3)], lease)
        await store.conclude([record(run_id, 3 * ROUNDS)], "succeeded", detail={}, lease=lease)

    runs = [subject.run_id(str(number)) for number in range(subject.writers)]
    failing = refusal(store.append_group([record(lost, 0)], old))
    *_, error = await asyncio.gather(*map(go, runs), failing)
    demand(isinstance(error, LeaseLost), f"the group of a lost lease: {error!r}")
    for run_id in runs:
        wanted = [record(run_id, seq) for seq in range(3 * ROUNDS + 1)]
        demand_same(await store.load(run_id), wanted, "a run beside others")
        demand(present(await store.run(run_id), "a run").status == "succeeded", "a run has not ended")
