"""Queue clauses: one transaction takes a run, in the order of the queue, and nothing else moves it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta

from bobcat.stores.protocol import METHODS, QueueEntry, RunStatus, StatusConflict
from bobcat.stores.queue import METHODS as QUEUE_METHODS
from bobcat.stores.queue import Claim, ClaimRequest, QueueStore, has_queue
from bobcat.testing.contract.subject import (
    NotApplicable,
    StoreUnderTest,
    demand,
    demand_refused,
    present,
    record,
)

QUEUED: tuple[RunStatus, ...] = ("queued",)
SUSPENDED: tuple[RunStatus, ...] = ("suspended",)
FAILED: tuple[RunStatus, ...] = ("failed",)
SECONDS = 60.0
"""Lease duration of a claim that no clause outlives."""
SHORT = 0.3
"""Lease duration of a worker that dies."""


async def _pair(subject: StoreUnderTest) -> tuple[QueueStore, QueueStore]:
    first, second = await subject.pair()
    if not has_queue(first) or not has_queue(second):
        missing = [name for name in QUEUE_METHODS if name not in METHODS and not hasattr(first, name)]
        raise NotApplicable(f"the store has no queue: it has no {', '.join(missing)}")
    return first, second


async def _store(subject: StoreUnderTest) -> QueueStore:
    return (await _pair(subject))[0]


def _kind(subject: StoreUnderTest, name: str = "run") -> str:
    return f"contract-{subject.label}-{name}"


async def _entry(subject: StoreUnderTest, store: QueueStore, *, after: float = -60.0, **fields: object) -> QueueEntry:
    """An entry of this clause's kind that became due a minute ago, or so many seconds from now."""
    run_at = await store.now() + timedelta(seconds=after)
    return replace(QueueEntry(_kind(subject), run_at), **fields)  # type: ignore[arg-type]  # any of its fields


def _request(subject: StoreUnderTest, versions: Collection[str] | None = None, **fields: object) -> ClaimRequest:
    request = ClaimRequest({_kind(subject): versions})
    return replace(request, **fields)  # type: ignore[arg-type]  # any of its fields


async def _claims(store: QueueStore, request: ClaimRequest, count: int) -> list[str]:
    """The ids of the next runs, in the order in which they are taken."""
    found = [await store.claim(f"worker-{number}", request, seconds=SECONDS) for number in range(count)]
    return [claim.lease.run_id for claim in found if claim is not None]


async def _claim(store: QueueStore, request: ClaimRequest, *, owner: str, seconds: float = SECONDS) -> Claim:
    return present(await store.claim(owner, request, seconds=seconds), f"a run for {owner}")


async def a_claim_takes_a_run_whole(subject: StoreUnderTest) -> None:
    """A claim sets the status `running`, counts the attempt, records the app version and takes a lease that is alive;
    the run is in no queue afterwards."""
    store, other = await _pair(subject)
    run_id, entry = subject.run_id(), await _entry(subject, store, tenant="é", priority=-3, attempts=2)
    await store.queue(run_id, entry, detail={"why": "now"})
    queued = present(await other.run(run_id), "the queued run")
    demand((queued.status, queued.queue) == ("queued", entry), f"the queued run is {queued!r}")
    claim = await _claim(other, _request(subject, version="v7"), owner="worker")
    wanted = replace(entry, attempts=3, version="v7")
    demand(claim.entry == wanted and not claim.taken_over, f"the claim is {claim!r}")
    demand((claim.lease.run_id, claim.lease.owner) == (run_id, "worker"), f"the lease is {claim.lease!r}")
    run = present(await store.run(run_id), "the run")
    seen = (run.status, run.held, run.fence, run.queue, dict(run.detail))
    demand(seen == ("running", True, claim.lease.fence, wanted, {"why": "now"}), f"the run is {run!r}")
    await store.append_fenced(record(run_id, 0), claim.lease)
    again = await store.claim("another", _request(subject), seconds=SECONDS)
    demand(again is None, f"the run is taken twice: {again!r}")


async def many_claims_take_each_run_once(subject: StoreUnderTest) -> None:
    """Of any number of claims at once no two take the same run, and together they take all."""
    stores = await _pair(subject)
    ids = {subject.run_id(str(number)) for number in range(subject.writers)}
    entry = await _entry(subject, stores[0])
    for run_id in ids:
        await stores[0].queue(run_id, entry)
    taken: list[str] = []

    async def work(number: int) -> None:
        while True:
            claim = await stores[number % 2].claim(f"worker-{number}-{len(taken)}", _request(subject), seconds=SECONDS)
            if claim is None:
                return
            taken.append(claim.lease.run_id)

    await asyncio.gather(*(work(number) for number in range(6)))
    demand(sorted(taken) == sorted(ids), f"{len(taken)} claims took {len(set(taken))} of {len(ids)} runs")


async def a_claim_follows_priority_then_time(subject: StoreUnderTest) -> None:
    """Within a tenant the higher priority goes first, then the earlier time, then the run that was queued first."""
    store, other = await _pair(subject)
    entry = await _entry(subject, store)
    later = replace(entry, run_at=entry.run_at + timedelta(seconds=1))
    wanted = [subject.run_id(name) for name in ("urgent", "z-old", "a-old", "new", "idle")]
    queued = (
        (wanted[4], replace(entry, priority=-1)), (wanted[3], later), (wanted[1], entry), (wanted[2], entry),
        (wanted[0], replace(later, priority=7)),
    )  # fmt: skip
    for run_id, each in queued:
        await store.queue(run_id, each)
    found = await _claims(other, _request(subject), 6)
    demand(found == wanted, f"the runs are taken in the order {found}, not {wanted}")


async def a_claim_is_fair_to_tenants(subject: StoreUnderTest) -> None:
    """A tenant with many runs, of whatever priority, does not delay one with few: they take turns."""
    store = await _store(subject)
    entry = await _entry(subject, store)
    names = [_kind(subject, tenant) for tenant in ("flood", "few", "one")]
    for number in range(12):
        await store.queue(subject.run_id(f"0-{number}"), replace(entry, tenant=names[0], priority=9))
    for tenant, count in ((1, 2), (2, 1)):
        for number in range(count):
            await store.queue(subject.run_id(f"{tenant}-{number}"), replace(entry, tenant=names[tenant]))
    found = [run_id.rpartition("contract-")[2].split("-")[1] for run_id in await _claims(store, _request(subject), 15)]
    demand(len(found) == 15, f"{len(found)} of 15 runs are taken")
    demand(sorted(found[:3]) == ["0", "1", "2"], f"the first three are of the tenants {found[:3]}")
    demand(sorted(found[3:5]) == ["0", "1"], f"the next two are of the tenants {found[3:5]}")


async def a_run_waits_for_its_time(subject: StoreUnderTest) -> None:
    """A run is not taken before its time, whatever its priority; `next_due` reports a time no later than that."""
    store, other = await _pair(subject)
    entry = await _entry(subject, store, after=1.0, priority=5)
    await store.queue(subject.run_id(), entry)
    early = await other.claim("worker", _request(subject), seconds=SECONDS)
    demand(early is None, f"the run is taken before its time: {early!r}")
    due = present(await other.next_due(), "the next due time")
    demand(due <= entry.run_at, f"the run is due at {entry.run_at}, and the next one at {due}")
    await asyncio.sleep(max(0.0, (entry.run_at - await store.now()).total_seconds()) + 0.02)
    await _claim(other, _request(subject), owner="worker")


async def a_claim_leaves_what_the_worker_lacks(subject: StoreUnderTest) -> None:
    """A run of another kind, or begun by a version that the request does not accept, is left as it is."""
    store = await _store(subject)
    entry = await _entry(subject, store)
    await store.queue(subject.run_id("old"), replace(entry, version="v1", priority=2))
    await store.queue(subject.run_id("other"), replace(entry, kind=_kind(subject, "other"), priority=3))
    await store.queue(subject.run_id("new"), entry)
    found = await _claims(store, _request(subject, ("", "v2"), version="v2"), 3)
    demand(found == [subject.run_id("new")], f"version v2 takes {found}")
    left = [present(await store.run(subject.run_id(name)), name) for name in ("old", "other")]
    seen = [(run.status, run.fence, run.queue.attempts if run.queue else None) for run in left]
    demand(all(status == "queued" and attempts == 0 for status, _, attempts in seen), f"the others are {seen}")
    found = await _claims(store, _request(subject, ("v1",)), 2)
    demand(found == [subject.run_id("old")], f"version v1 takes {found}")


async def limits_hold_over_all_workers(subject: StoreUnderTest) -> None:
    """Claims at once never exceed the limits of tenants and kinds; a run that ends makes room."""
    stores = await _pair(subject)
    entry = await _entry(subject, stores[0])
    tenants = [_kind(subject, name) for name in ("two", "four")]
    for number in range(12):
        await stores[0].queue(subject.run_id(str(number)), replace(entry, tenant=tenants[number % 2]))
    request = _request(subject, tenant_limit=2, tenant_limits={tenants[1]: 4}, kind_limits={_kind(subject): 5})
    calls = [stores[number % 2].claim(f"worker-{number}", request, seconds=SECONDS) for number in range(12)]
    claims = [claim for claim in await asyncio.gather(*calls) if claim is not None]
    claims += [claim for claim in [await stores[0].claim("last", request, seconds=SECONDS)] if claim is not None]
    counts = [sum(claim.entry.tenant == tenant for claim in claims) for tenant in tenants]
    demand(len(claims) == 5 and counts[0] <= 2 and counts[1] <= 4, f"the tenants have {counts} runs of 5 at once")
    ended = claims[0]
    await stores[0].set_status(ended.lease.run_id, "succeeded", lease=ended.lease)
    await stores[0].release(ended.lease)
    following = await _claim(stores[1], request, owner="following")
    demand(following.lease.run_id not in {claim.lease.run_id for claim in claims}, "a run is taken twice")


async def a_dead_worker_s_run_is_taken_over(subject: StoreUnderTest) -> None:
    """A run whose lease has ended is taken over before others, with the next fence, and its attempts are all counted;
    one whose lease is alive is not."""
    store, other = await _pair(subject)
    run_id, entry = subject.run_id("died"), await _entry(subject, store)
    await store.queue(run_id, entry)
    dead = await _claim(store, _request(subject), owner="dead", seconds=SHORT)
    early = await other.claim("early", _request(subject), seconds=SECONDS)
    demand(early is None, f"the lease is alive, and the run is taken: {early!r}")
    await store.queue(subject.run_id("urgent"), replace(entry, priority=9))
    due = present(await other.next_due(), "the next due time")
    demand(
        due <= dead.lease.expires + timedelta(seconds=0.1),
        f"the lease ends at {dead.lease.expires}, and the next time is {due}",
    )
    await asyncio.sleep(SHORT * 1.5)
    claim = await _claim(other, _request(subject), owner="heir")
    demand(claim.lease.run_id == run_id and claim.taken_over, f"the heir takes {claim!r}")
    demand(claim.lease.fence > dead.lease.fence and claim.entry.attempts == 2, f"the heir takes {claim!r}")


async def attempts_that_end_well_are_uncounted(subject: StoreUnderTest) -> None:
    """The status `suspended` uncounts the attempt, `failed` does not, and a claim counts the next one."""
    store = await _store(subject)
    run_id, entry = subject.run_id(), await _entry(subject, store)
    await store.queue(run_id, entry)
    first = await _claim(store, _request(subject), owner="first")
    await store.set_status(run_id, "suspended", lease=first.lease)
    await store.release(first.lease)
    run = present(await store.run(run_id), "the run")
    demand(run.queue is not None and run.queue.attempts == 0, f"the suspended run is {run!r}")
    await store.set_status(run_id, "queued", expected=SUSPENDED)
    second = await _claim(store, _request(subject), owner="second")
    await store.set_status(run_id, "failed", lease=second.lease)
    await store.release(second.lease)
    run = present(await store.run(run_id), "the run")
    demand(run.queue is not None and run.queue.attempts == 1, f"the failed run is {run!r}")
    await store.queue(run_id, replace(second.entry, run_at=entry.run_at), expected=FAILED)
    third = await _claim(store, _request(subject), owner="third")
    demand(third.entry.attempts == 2, f"the third attempt is {third!r}")


async def queueing_compares_the_status(subject: StoreUnderTest) -> None:
    """`queue` refuses a known run whose status is not expected, and a `running` one that another owner holds; the
    holder itself releases the run with it."""
    store, other = await _pair(subject)
    run_id, entry = subject.run_id(), await _entry(subject, store)
    await store.queue(run_id, entry)
    await demand_refused(other.queue(run_id, entry), StatusConflict, "queueing a known run as a new one")
    claim = await _claim(store, _request(subject), owner="holder")
    running: tuple[RunStatus, ...] = ("running",)
    for owner in (None, "another"):
        call = other.queue(run_id, entry, expected=running, owner=owner)
        await demand_refused(call, StatusConflict, f"queueing a held run as {owner}")
    demand(present(await store.run(run_id), "the run").held is not False, "the lease is gone")
    await store.queue(run_id, claim.entry, expected=running, owner="holder")
    again = await _claim(other, _request(subject), owner="next")
    demand(again.lease.run_id == run_id and again.entry.attempts == 2, f"the next claim is {again!r}")


async def a_held_run_is_not_claimed(subject: StoreUnderTest) -> None:
    """A suspended run that is queued before its holder releases it is claimed after that."""
    store, other = await _pair(subject)
    run_id, entry = subject.run_id(), await _entry(subject, store)
    await store.queue(run_id, entry)
    claim = await _claim(store, _request(subject), owner="holder")
    await store.set_status(run_id, "suspended", lease=claim.lease)
    await other.set_status(run_id, "queued", expected=SUSPENDED)
    early = await other.claim("early", _request(subject), seconds=SECONDS)
    demand(early is None, f"the run is held, and taken: {early!r}")
    await store.release(claim.lease)
    following = await _claim(other, _request(subject), owner="next")
    demand(following.lease.run_id == run_id, f"the next claim is {following!r}")


async def final_runs_are_in_no_queue(subject: StoreUnderTest) -> None:
    """A run with a final status is not claimed, and an erased one is not either."""
    store = await _store(subject)
    entry = await _entry(subject, store)
    final: tuple[RunStatus, ...] = ("succeeded", "failed", "cancelled", "dead")
    for status in final:
        await store.queue(subject.run_id(status), entry)
        await store.set_status(subject.run_id(status), status, expected=QUEUED)
    erase = getattr(store, "erase", None)
    if erase is not None:
        await store.queue(subject.run_id("erased"), entry)
        await erase(subject.run_id("erased"))
    found = await _claims(store, _request(subject), 2)
    demand(not found, f"the final runs {found} are taken")


async def a_claim_can_name_a_run(subject: StoreUnderTest) -> None:
    """A request with a run id takes this run, whatever its place, or nothing."""
    store = await _store(subject)
    entry = await _entry(subject, store)
    await store.queue(subject.run_id("first"), replace(entry, priority=9))
    await store.queue(subject.run_id("named"), entry)
    request = _request(subject, run_id=subject.run_id("named"))
    found = [*await _claims(store, request, 2), *await _claims(store, _request(subject, run_id="nothing"), 1)]
    demand(found == [subject.run_id("named")], f"the request for one run takes {found}")


async def suspended_runs_are_due_for_a_look(subject: StoreUnderTest) -> None:
    """`overdue` has the suspended runs whose time from `look_at` has come, and no others."""
    store, other = await _pair(subject)
    entry = await _entry(subject, store)
    ids = [subject.run_id(name) for name in ("due", "later", "never", "queued")]
    for run_id in ids:
        await store.queue(run_id, entry)
        await store.set_status(run_id, "suspended", detail={"of": run_id})
    now = await store.now()
    for run_id, seconds in zip(ids, (-1, 3600, None, -1), strict=True):
        await other.look_at(run_id, None if seconds is None else now + timedelta(seconds=seconds))
    await store.set_status(ids[3], "queued", expected=SUSPENDED)
    await store.look_at(ids[3], now)
    found = [run.run_id for run in await other.overdue(limit=1000) if run.run_id in ids]
    demand(found == ids[:1], f"due for a look are {found}")


async def a_run_is_adopted_once(subject: StoreUnderTest) -> None:
    """`adopt` gives a run without an entry one, and changes no other."""
    store = await _store(subject)
    run_id, entry = subject.run_id(), await _entry(subject, store)
    demand(not await store.adopt(run_id, entry), "an unknown run is adopted")
    await store.set_status(run_id, "queued", detail={"by": "an earlier release"})
    found = await _claims(store, _request(subject), 1)
    demand(not found, "a run without an entry is taken")
    demand(await store.adopt(run_id, entry), "the run is not adopted")
    demand(not await store.adopt(run_id, replace(entry, priority=4)), "the run is adopted twice")
    claim = await _claim(store, _request(subject), owner="worker")
    demand(claim.entry == replace(entry, attempts=1), f"the claim is {claim!r}")


async def waiting_workers_hear_of_queued_runs(subject: StoreUnderTest) -> None:
    """`wait_queued` ends soon after another worker queues a run, and after a suspended run is queued again."""
    store, other = await _pair(subject)
    run_id, entry = subject.run_id(), await _entry(subject, store)

    async def queue() -> None:
        await other.queue(run_id, entry)

    async def suspend() -> None:
        claim = await _claim(other, _request(subject), owner="worker")
        await other.set_status(run_id, "suspended", lease=claim.lease)
        await other.release(claim.lease)

    async def grant() -> None:
        await other.set_status(run_id, "queued", expected=SUSPENDED)

    for what, begin, act in (("queued", asyncio.sleep(0), queue), ("granted", suspend(), grant)):
        await begin
        while await store.wait_queued(0.3):  # what was announced before
            continue
        waiting = asyncio.ensure_future(store.wait_queued(10.0))
        await asyncio.sleep(0.1)
        began = time.monotonic()
        await act()
        heard = await waiting
        took = time.monotonic() - began
        demand(heard and took < 5.0, f"a waiting worker did not hear that a run was {what} ({took:.1f} s)")
