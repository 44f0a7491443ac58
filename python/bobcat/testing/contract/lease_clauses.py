"""Lease clauses of a `DurableStore`: leases and fences, statuses, listings, transactions."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from datetime import timedelta

from bobcat.journal.records import DuplicateRecord, StepRecord
from bobcat.stores.protocol import (
    DurableStore,
    Lease,
    LeaseLost,
    RestorableStore,
    RunBusy,
    RunStatus,
    RunSummary,
    StatusConflict,
    TransactionalStore,
)
from bobcat.testing.contract.subject import (
    NotApplicable,
    StoreUnderTest,
    append_all,
    demand,
    demand_accepted,
    demand_one_winner,
    demand_refused,
    demand_same,
    present,
    record,
    refusal,
)
from bobcat.text.json_text import format_exception

LONG = 120.0
"""Seconds of a lease that does not expire within a clause."""

BRIEF = 0.2
"""Seconds of a lease that expires within a clause."""

RUNNING: tuple[RunStatus, ...] = ("running",)
QUEUED: tuple[RunStatus, ...] = ("queued",)

RACES = 5
"""Rounds of concurrent changes of one status."""

TAKEN_AFTER = (0, 0.0003, 0.0007, 0.001, 0.0015, 0.002, 0.003, 0.005)
"""Seconds of appending before a takeover."""


async def _ended(store: DurableStore, lease: Lease) -> None:
    """Wait until the lease has expired by the store's clock."""
    while await store.now() <= lease.expires:  # noqa: ASYNC110 - only the store knows
        await asyncio.sleep(0.02)


async def a_lease_keeps_others_out(subject: StoreUnderTest) -> None:
    """A run with a live lease raises `RunBusy` for other owners, with the owner and the expiry."""
    store, run_id = await subject.durable(), subject.run_id()
    lease = await store.acquire(run_id, owner="a", seconds=LONG)
    demand((lease.run_id, lease.owner) == (run_id, "a"), f"the lease is {lease!r}")
    demand(lease.fence >= 1, f"the first fence is {lease.fence}")
    error = await demand_refused(store.acquire(run_id, owner="b", seconds=LONG), RunBusy, "another owner's acquire")
    assert isinstance(error, RunBusy)
    demand((error.run_id, error.owner) == (run_id, "a"), f"the error names {error.run_id!r} and {error.owner!r}")
    demand(error.expires == lease.expires, f"the error says until {error.expires}, the lease {lease.expires}")
    await store.append_fenced(record(run_id, 0), lease)
    other = await store.acquire(subject.run_id("other"), owner="b", seconds=LONG)
    demand(other.owner == "b", "another run could not be acquired")


async def the_same_owner_takes_the_next_fence(subject: StoreUnderTest) -> None:
    """The same owner can acquire again, with a greater fence; its earlier lease is lost."""
    store, run_id = await subject.durable(), subject.run_id()
    first = await store.acquire(run_id, owner="a", seconds=LONG)
    second = await store.acquire(run_id, owner="a", seconds=LONG)
    demand(second.fence > first.fence, f"fence {second.fence} after {first.fence}")
    await demand_refused(store.append_fenced(record(run_id, 0), first), LeaseLost, "an append under the first lease")
    await demand_refused(store.renew(first, seconds=LONG), LeaseLost, "renewing the first lease")
    await store.append_fenced(record(run_id, 0), second)


async def a_lease_ends(subject: StoreUnderTest) -> None:
    """A lease that has expired by the store's clock allows no append; it can be renewed until another owner takes the
    run.
    """
    store, run_id = await subject.durable(), subject.run_id()
    lease = await store.acquire(run_id, owner="a", seconds=BRIEF)
    await _ended(store, lease)
    await demand_refused(store.append_fenced(record(run_id, 0), lease), LeaseLost, "an append after the lease's end")
    demand_same(await store.load(run_id), [], "after the refused append")
    await demand_accepted(store.renew(lease, seconds=LONG), "renewing it")
    await store.append_fenced(record(run_id, 0), lease)


async def a_renewal_counts_from_now(subject: StoreUnderTest) -> None:
    """`renew` returns the same fence, `seconds` from now, and the earlier lease object stays valid."""
    store, run_id = await subject.durable(), subject.run_id()
    lease = await store.acquire(run_id, owner="a", seconds=LONG)
    before = await store.now()
    renewed = await store.renew(lease, seconds=2 * LONG)
    after = await store.now()
    demand((renewed.fence, renewed.owner) == (lease.fence, "a"), f"the renewed lease is {renewed!r}")
    slack, span = timedelta(seconds=1), timedelta(seconds=2 * LONG)
    demand(before + span - slack <= renewed.expires <= after + span + slack, f"it ends at {renewed.expires}")
    await store.append_fenced(record(run_id, 0), lease)
    await store.append_fenced(record(run_id, 1), renewed)


async def a_taken_run_is_lost(subject: StoreUnderTest) -> None:
    """After another owner took the run, the earlier lease can no longer append, renew or set a status, and releasing it
    changes nothing."""
    store, run_id = await subject.durable(), subject.run_id()
    old = await store.acquire(run_id, owner="a", seconds=BRIEF)
    await _ended(store, old)
    new = await store.acquire(run_id, owner="b", seconds=LONG)
    demand(new.fence > old.fence, f"fence {new.fence} after {old.fence}")
    await demand_refused(store.append_fenced(record(run_id, 0), old), LeaseLost, "an append under the old lease")
    await demand_refused(store.renew(old, seconds=LONG), LeaseLost, "renewing the old lease")
    await demand_refused(
        store.set_status(run_id, "failed", lease=old), LeaseLost, "setting the status under the old lease"
    )
    await store.release(old)
    await demand_refused(store.acquire(run_id, owner="a", seconds=LONG), RunBusy, "acquire after that release")
    await store.append_fenced(record(run_id, 0, {"by": "b"}), new)
    found = await store.run(run_id)
    demand(found is not None and found.status == "running", f"the run is {found!r}")
    demand_same(await store.load(run_id), [record(run_id, 0, {"by": "b"})], "the journal")


async def a_released_run_is_free(subject: StoreUnderTest) -> None:
    """After `release`, another owner can acquire the run at once, and the released lease is lost."""
    store, run_id = await subject.durable(), subject.run_id()
    lease = await store.acquire(run_id, owner="a", seconds=LONG)
    await store.release(lease)
    await demand_refused(store.append_fenced(record(run_id, 0), lease), LeaseLost, "an append after the release")
    await demand_refused(store.renew(lease, seconds=LONG), LeaseLost, "renewing after the release")
    await store.release(lease)
    new = await store.acquire(run_id, owner="b", seconds=LONG)
    demand(new.fence > lease.fence, f"fence {new.fence} after {lease.fence}")
    await store.append_fenced(record(run_id, 0), new)


async def a_lease_is_for_one_run(subject: StoreUnderTest) -> None:
    """A lease on one run allows no append to another."""
    store = await subject.durable()
    lease = await store.acquire(subject.run_id("one"), owner="a", seconds=LONG)
    other = subject.run_id("other")
    await store.acquire(other, owner="a", seconds=LONG)
    await demand_refused(store.append_fenced(record(other, 0), lease), LeaseLost, "an append to another run")
    demand_same(await store.load(other), [], "the other run")


async def a_fenced_append_refuses_taken_positions(subject: StoreUnderTest) -> None:
    """Under a lease, too, a taken position raises `DuplicateRecord`, also if it was taken without a lease."""
    store, run_id = await subject.durable(), subject.run_id()
    lease = await store.acquire(run_id, owner="a", seconds=LONG)
    await store.append_fenced(record(run_id, 0, {"first": True}), lease)
    await store.append(record(run_id, 1, {"first": True}))
    for seq in (0, 1):
        call = store.append_fenced(record(run_id, seq), lease)
        await demand_refused(call, DuplicateRecord, f"an append to position {seq}")
    demand_same(await store.load(run_id), [record(run_id, seq, {"first": True}) for seq in (0, 1)], "the journal")


async def one_of_many_owners_wins(subject: StoreUnderTest) -> None:
    """Of many owners racing for a run, exactly one gets it, the others get `RunBusy`."""
    stores, run_id = await subject.pair(), subject.run_id()
    calls = [
        stores[number % 2].acquire(run_id, owner=f"owner {number}", seconds=LONG) for number in range(subject.writers)
    ]
    await demand_one_winner(calls, RunBusy, "owners")


async def nothing_is_written_after_a_takeover(subject: StoreUnderTest) -> None:
    """While a worker appends continuously, another takes its run: after `acquire` has returned, no record of
    the first worker appears."""
    first, second = await subject.pair()
    for pause in TAKEN_AFTER:
        run_id = subject.run_id(str(pause))
        lease = await first.acquire(run_id, owner="a", seconds=LONG)
        kept: list[StepRecord] = []
        going = asyncio.Event()

        async def write(
            run_id: str = run_id,
            lease: Lease = lease,
            kept: list[StepRecord] = kept,
            going: asyncio.Event = going,
        ) -> Exception:
            for seq in range(100_000):
                error = await refusal(first.append_fenced(record(run_id, seq), lease))
                if error is not None:
                    going.set()
                    return error
                kept.append(record(run_id, seq))
                if len(kept) == 3:
                    going.set()
                await asyncio.sleep(0)
            return AssertionError("it was never stopped")

        writing = asyncio.ensure_future(write())
        await going.wait()
        await asyncio.sleep(pause)
        await second.acquire(run_id, owner="a", seconds=LONG)  # the same name: it need not wait for the lease to expire
        then = await second.load(run_id)
        error = await writing
        demand(isinstance(error, LeaseLost), f"the first worker was stopped by {format_exception(error)}")
        demand_same(await second.load(run_id), then, "after the takeover")
        demand_same(then, kept, "acknowledged records")


async def part_of_a_journal_can_be_loaded(subject: StoreUnderTest) -> None:
    """`load_from` returns the records from a position on, at most `limit`."""
    store, run_id = await subject.durable(), subject.run_id()
    wanted = [record(run_id, seq) for seq in (0, 2, 3, 9, 10, 11, 100)]
    await append_all(store, wanted)
    demand_same(await store.load_from(run_id), wanted, "load_from without bounds")
    demand_same(await store.load_from(run_id, seq=2), wanted[1:], "load_from(seq=2)")
    demand_same(await store.load_from(run_id, seq=4, limit=2), wanted[3:5], "load_from(seq=4, limit=2)")
    demand_same(await store.load_from(run_id, seq=101), [], "load_from(seq=101)")
    demand_same(await store.load_from(subject.run_id("never-written")), [], "load_from of an unknown run")


async def a_run_has_a_status(subject: StoreUnderTest) -> None:
    """A run is known after its first record, lease or status; statuses and their details are returned, and times are
    the store's."""
    store = await subject.durable()
    ids = {name: subject.run_id(name) for name in ("appended", "leased", "queued", "never")}
    before = await store.now()
    await store.append(record(ids["appended"], 0))
    lease = await store.acquire(ids["leased"], owner="a", seconds=LONG)
    await store.append_fenced(record(ids["leased"], 0), lease)
    await store.append_fenced(record(ids["leased"], 1), lease)
    await store.set_status(ids["queued"], "queued", detail={"why": "\ud800 é", "n": 2**70})
    found = {name: await store.run(run_id) for name, run_id in ids.items()}
    demand(found["never"] is None, "a run that was never mentioned is known")
    for name, status, count in (("appended", "running", 1), ("leased", "running", 2), ("queued", "queued", 0)):
        summary = present(found[name], f"the run that was {name}")
        seen = (summary.run_id, summary.status, summary.records)
        demand(seen == (ids[name], status, count), f"the run that was {name} is {summary!r}")
        slack = timedelta(seconds=1)
        demand(before - slack <= summary.created <= summary.updated, f"its times are {summary!r}")
    queued, leased = (present(found[name], name) for name in ("queued", "leased"))
    demand(dict(queued.detail) == {"why": "\ud800 é", "n": 2**70}, f"its detail is {dict(queued.detail)!a}")
    demand(leased.fence == lease.fence, f"its fence is {leased.fence}, the lease's {lease.fence}")
    await store.set_status(ids["leased"], "succeeded", detail={"answer": 1}, lease=lease)
    await store.set_status(ids["leased"], "failed", lease=lease)
    last = await store.run(ids["leased"])
    demand(
        last is not None and last.status == "failed" and not last.detail and last.fence == lease.fence,
        f"after `failed` without detail it is {last!r}",
    )
    await store.append_fenced(record(ids["leased"], 2), lease)


async def runs_are_listed(subject: StoreUnderTest) -> None:
    """`runs` lists the most recently changed runs first, optionally by status, and its pages neither omit nor repeat a
    run.
    """
    store = await subject.durable()
    ids = [subject.run_id(str(number)) for number in range(9)]
    for number, run_id in enumerate(ids):
        await store.set_status(run_id, "suspended" if number % 3 == 0 else "queued")
    await store.set_status(ids[2], "queued")

    async def listed(size: int, wanted: int, **options: str) -> list[str]:
        found: list[RunSummary] = []
        seen: list[str] = []
        while len(seen) < wanted:
            page = await store.runs(limit=size, after=found[-1] if found else None, **options)  # type: ignore[arg-type]
            demand(len(page) <= size, f"{len(page)} runs on a page of {size}")
            if not page:
                break
            found += page
            seen += [each.run_id for each in page if each.run_id in ids]
        updated = [each.updated for each in found]
        demand(updated == sorted(updated, reverse=True), "the runs are not by their last change")
        demand(len({each.run_id for each in found}) == len(found), "a run is listed twice")
        return seen

    demand(await listed(4, len(ids)) != [], "no run is listed")
    demand(sorted(await listed(4, len(ids))) == sorted(ids), "pages of 4 lose runs")
    demand((await listed(100, len(ids)))[0] == ids[2], "the last changed run is not the first")
    suspended = await listed(2, 3, status="suspended")
    demand(sorted(suspended) == sorted(ids[::3]), f"{len(suspended)} of 3 suspended runs are listed")


async def time_is_the_stores(subject: StoreUnderTest) -> None:
    """`now` has a time zone and does not go back; leases count from it."""
    store = await subject.durable()
    before = await store.now()
    demand(before.tzinfo is not None, "`now` has no zone")
    lease = await store.acquire(subject.run_id(), owner="a", seconds=LONG)
    after = await store.now()
    demand(before <= after, f"`now` went back from {before} to {after}")
    slack, span = timedelta(milliseconds=5), timedelta(seconds=LONG)
    demand(
        before + span - slack <= lease.expires <= after + span + slack,
        f"a lease of {LONG} s, taken between {before} and {after}, ends at {lease.expires}",
    )


async def a_status_changes_only_from_what_was_expected(subject: StoreUnderTest) -> None:
    """With `expected`, a status is set only from one of these, atomically; else `StatusConflict` names the current
    one, and status and detail stay. Of many concurrent changes from one status, one succeeds."""
    store, other = await subject.pair()
    if "expected" not in inspect.signature(store.set_status).parameters:
        raise NotApplicable("its `set_status` has no `expected`")
    run_id = subject.run_id()
    await store.set_status(run_id, "queued", detail={"n": 0}, expected=())
    call = store.set_status(run_id, "cancelled", detail={"n": 1}, expected=("running", "suspended"))
    error = await demand_refused(call, StatusConflict, "a change of a queued run that was expected to run")
    assert isinstance(error, StatusConflict)
    demand((error.run_id, error.status) == (run_id, "queued"), f"the error names {error.run_id!r}, {error.status!r}")
    await demand_refused(store.set_status(run_id, "queued", expected=()), StatusConflict, "making a known run known")
    found = await store.run(run_id)
    demand(found is not None and (found.status, dict(found.detail)) == ("queued", {"n": 0}), f"the run is {found!r}")
    lease = await store.acquire(run_id, owner="a", seconds=LONG)
    call = store.set_status(run_id, "failed", lease=lease, expected=RUNNING)
    await demand_refused(call, StatusConflict, "a change under a lease")
    for _ in range(RACES):
        await store.set_status(run_id, "queued")
        calls = [
            (store, other)[number % 2].set_status(run_id, "running", detail={"by": number}, expected=QUEUED)
            for number in range(subject.writers)
        ]
        winner, _ = await demand_one_winner(calls, StatusConflict, "changes from one status")
        found = await store.run(run_id)
        demand(found is not None and dict(found.detail) == {"by": winner}, f"the winner left {found!r}")


async def what_was_appended_is_counted(subject: StoreUnderTest) -> None:
    """`RunSummary.appended` counts the records of a run, and `head` is the chain hash at its highest position, as
    of the last append of any kind; a rejected append changes neither."""
    store, run_id = await subject.durable(), subject.run_id()

    async def demand_extent(count: int, head: str, what: str) -> None:
        found = present(await store.run(run_id), f"{what}: the run")
        if found.appended is None:
            raise NotApplicable("it keeps no count with each append")
        demand((found.appended, found.head) == (count, head), f"{what}: it counts {found.appended}, {found.head!r}")

    lease = await store.acquire(run_id, owner="a", seconds=LONG)
    await store.append_fenced(record(run_id, 0, {"chain": "a" * 64}), lease)
    await demand_extent(1, "a" * 64, "after a record")
    call = store.append_fenced(record(run_id, 0, {"chain": "b" * 64}), lease)
    await demand_refused(call, DuplicateRecord, "a taken position")
    await demand_extent(1, "a" * 64, "after a refused record")
    await store.append(record(run_id, 2, {"chain": "c" * 64}))
    await store.append(record(run_id, 1, {"chain": "d" * 64}))
    await demand_extent(3, "c" * 64, "after records in another order")
    await store.append_fenced(record(run_id, 3, {"step": 1}), lease)
    await demand_extent(4, "", "after a record without a hash")
    if isinstance(store, TransactionalStore):
        async with store.transaction(lease) as transaction:
            await transaction.append(record(run_id, 4, {"chain": "e" * 64}))
        await demand_extent(5, "e" * 64, "after a transaction")


async def a_lease_that_is_alive_is_shown(subject: StoreUnderTest) -> None:
    """`RunSummary.held` is true while a lease is live, and false before it, after its release and after its expiry."""
    store, run_id = await subject.durable(), subject.run_id()

    async def held() -> bool:
        found = present(await store.run(run_id), "the run")
        (listed,) = [each for each in await store.runs(limit=1000) if each.run_id == run_id]
        if found.held is None:
            raise NotApplicable("it does not show leases")
        demand(found.held is listed.held, f"the run is held: {found.held}, in the list: {listed.held}")
        return found.held

    await store.set_status(run_id, "queued")
    demand(not await held(), "a run without a lease is held")
    lease = await store.acquire(run_id, owner="a", seconds=LONG)
    demand(await held(), "a leased run is not held")
    await store.release(lease)
    demand(not await held(), "a released run is held")
    await _ended(store, await store.acquire(run_id, owner="b", seconds=BRIEF))
    demand(not await held(), "a run whose lease ended is held")


async def a_restored_store_begins_an_epoch(subject: StoreUnderTest) -> None:
    """`mark_restored` starts the next epoch: existing leases are lost, later fences are greater than all earlier ones,
    and the runs known by then are `restored`, others not; `mark_uncertain` marks one of them."""
    store = await subject.durable()
    if not isinstance(store, RestorableStore):
        raise NotApplicable("it has no `mark_restored`")
    old, new, late = (subject.run_id(name) for name in ("old", "new", "late"))
    await store.set_status(old, "queued")
    leased = subject.run_id("leased")
    lease = await store.acquire(leased, owner="a", seconds=LONG)
    epoch = await store.epoch()
    began = await store.mark_restored()
    demand(began > epoch, f"epoch {began} after {epoch}")
    demand(await store.epoch() >= began, f"the epoch is {await store.epoch()}, and it was {began}")
    demand(await store.restored_at() is not None, "it does not say when")
    await demand_refused(store.append_fenced(record(leased, 0), lease), LeaseLost, "an append under an earlier lease")
    await demand_refused(store.renew(lease, seconds=LONG), LeaseLost, "renewing an earlier lease")
    again = await store.acquire(leased, owner="b", seconds=LONG)
    demand(again.fence > lease.fence + 1000, f"fence {again.fence} after {lease.fence}: some may have been given since")
    await store.set_status(new, "queued")
    await store.mark_uncertain(late)
    found = {run_id: await store.run(run_id) for run_id in (old, leased, new, late)}
    restored = {run_id for run_id, run in found.items() if run is not None and run.restored}
    demand(restored == {old, leased, late}, f"restored are {sorted(restored)}")


class _Abandoned(Exception):
    """Exception that ends a transaction."""


async def a_transaction_is_all_or_nothing(subject: StoreUnderTest) -> None:
    """A transaction's record is present after its block, and absent if the block raised; a lost lease starts no
    transaction; a taken position raises `DuplicateRecord`."""
    store, run_id = await subject.transactional(), subject.run_id()
    lease = await store.acquire(run_id, owner="a", seconds=LONG)
    with contextlib.suppress(_Abandoned):
        async with store.transaction(lease) as transaction:
            await transaction.append(record(run_id, 0, {"abandoned": True}))
            raise _Abandoned
    demand_same(await store.load(run_id), [], "after a block that raised")
    async with store.transaction(lease) as transaction:
        await transaction.append(record(run_id, 0))
    demand_same(await store.load(run_id), [record(run_id, 0)], "after the block")

    async def again() -> None:
        async with store.transaction(lease) as transaction:
            await transaction.append(record(run_id, 0))

    await demand_refused(again(), DuplicateRecord, "a taken position in a transaction")
    newer = await store.acquire(run_id, owner="a", seconds=LONG)

    async def late() -> None:
        async with store.transaction(lease) as transaction:
            await transaction.append(record(run_id, 1, {"late": True}))

    await demand_refused(late(), LeaseLost, "a transaction under a lost lease")
    await store.append_fenced(record(run_id, 1), newer)
    demand_same(await store.load(run_id), [record(run_id, 0), record(run_id, 1)], "the journal")


async def a_cancelled_transaction_leaves_nothing(subject: StoreUnderTest) -> None:
    """A transaction that is cancelled inside its block stores nothing and blocks no other operation."""
    store, run_id = await subject.transactional(), subject.run_id()
    lease = await store.acquire(run_id, owner="a", seconds=LONG)
    inside = asyncio.Event()

    async def hang() -> None:
        async with store.transaction(lease) as transaction:
            await transaction.append(record(run_id, 0, {"abandoned": True}))
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.ensure_future(hang())
    await inside.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    demand_same(await store.load(run_id), [], "after the cancellation")
    await store.append_fenced(record(run_id, 0), lease)
