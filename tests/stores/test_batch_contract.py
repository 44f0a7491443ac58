"""The clauses about batches can fail: a store that keeps them, and stores that are broken in one way each."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from bobcat import DuplicateRecord, MemoryStore, StepRecord
from bobcat.stores.protocol import BatchingStore, Lease, LeaseLost, RunStatus, RunSummary
from bobcat.testing import StoreContractError, run_store_contract
from stores.test_contract import BATCHES


class Batches(MemoryStore):
    """Makes the writes of a batch one after the other, after it has checked all of them."""

    async def append_group(self, records: Sequence[StepRecord], lease: Lease) -> None:
        await self._check(records, lease)
        for record in records:
            await self.append_fenced(record, lease)

    async def _check(self, records: Sequence[StepRecord], lease: Lease) -> None:
        known = await self.run(lease.run_id)
        assert known is not None
        if any(record.run_id != lease.run_id for record in records) or not known.held or known.fence != lease.fence:
            raise LeaseLost(lease.run_id)
        if records and records[0].seq < known.records:
            raise DuplicateRecord(lease.run_id)
        for number, record in enumerate(records):
            if record.seq < known.records + number:
                raise DuplicateRecord(lease.run_id)
            if record.seq > known.records + number:
                await self.mark_restored()
                raise LeaseLost(lease.run_id)

    async def finish(self, status: RunStatus, *, detail: Mapping[str, Any], lease: Lease) -> None:
        await self.set_status(lease.run_id, status, detail=detail, lease=lease)
        await self.release(lease)

    async def begin(self, run_id: str, *, owner: str, seconds: float) -> tuple[Lease, RunSummary]:
        lease = await self.acquire(run_id, owner=owner, seconds=seconds)
        found = await self.run(run_id)
        assert found is not None
        return lease, found

    async def conclude(
        self, records: Sequence[StepRecord], status: RunStatus, *, detail: Mapping[str, Any], lease: Lease
    ) -> None:
        await self.append_group(records, lease)
        await self.finish(status, detail=detail, lease=lease)


class LosesTheTail(Batches):
    async def append_group(self, records: Sequence[StepRecord], lease: Lease) -> None:
        await super().append_group(records[:16], lease)


class AppendsThePartThatFits(Batches):
    async def _check(self, records: Sequence[StepRecord], lease: Lease) -> None:
        return


class LeavesGaps(Batches):
    async def append_group(self, records: Sequence[StepRecord], lease: Lease) -> None:
        for record in records:
            await self.append(record)


class AsksForNoLease(Batches):
    async def append_group(self, records: Sequence[StepRecord], lease: Lease) -> None:
        for record in records:
            await self.append(record)


class KeepsTheLease(Batches):
    async def finish(self, status: RunStatus, *, detail: Mapping[str, Any], lease: Lease) -> None:
        await self.set_status(lease.run_id, status, detail=detail, lease=lease)


class ReadsBeforeItAcquires(Batches):
    async def begin(self, run_id: str, *, owner: str, seconds: float) -> tuple[Lease, RunSummary]:
        found = await self.run(run_id)
        lease, now = await super().begin(run_id, owner=owner, seconds=seconds)
        return lease, found or now


class EndsBeforeItAppends(Batches):
    async def conclude(
        self, records: Sequence[StepRecord], status: RunStatus, *, detail: Mapping[str, Any], lease: Lease
    ) -> None:
        await self.set_status(lease.run_id, status, detail=detail, lease=lease)
        await super().conclude(records, status, detail=detail, lease=lease)


class OneFailureIsThatOfAll(Batches):
    """Writes that arrive at the same time are one group."""

    def __init__(self) -> None:
        super().__init__()
        self._arrived: list[tuple[Sequence[StepRecord], Lease]] = []

    async def append_group(self, records: Sequence[StepRecord], lease: Lease) -> None:
        self._arrived.append((records, lease))
        await asyncio.sleep(0)
        for each, held in self._arrived:
            await self._check(each, held)
        self._arrived.remove((records, lease))
        await super().append_group(records, lease)


BROKEN: dict[type[Batches], str] = {
    LosesTheTail: "a_group_is_appended_whole",
    AppendsThePartThatFits: "a_group_that_does_not_fit_appends_nothing",
    LeavesGaps: "a_group_beyond_the_end_is_the_proof_of_a_loss",
    AsksForNoLease: "a_group_needs_the_lease",
    KeepsTheLease: "an_end_releases_the_run",
    ReadsBeforeItAcquires: "a_run_is_acquired_and_read_at_once",
    EndsBeforeItAppends: "the_last_records_and_the_end_are_one",
    OneFailureIsThatOfAll: "groups_of_concurrent_runs_do_not_mix",
}


def test_a_store_that_makes_its_batches_whole_keeps_the_clauses() -> None:
    assert isinstance(Batches(), BatchingStore)
    report = asyncio.run(run_store_contract(Batches, shared=False, only=BATCHES))
    assert set(report.kept) == BATCHES == set(BROKEN.values())


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_broken_store_violates_the_clause_about_it(broken: type[Batches]) -> None:
    with pytest.raises(StoreContractError) as caught:
        asyncio.run(run_store_contract(broken, shared=False, only=[BROKEN[broken]]))
    (violation,) = caught.value.report.violations
    assert violation.clause == BROKEN[broken]
    assert violation.demand.endswith(".")


def test_a_store_that_only_groups_owes_the_clauses_about_groups() -> None:
    class Groups(MemoryStore):
        append_group, finish, _check = Batches.append_group, Batches.finish, Batches._check

    report = asyncio.run(run_store_contract(Groups, shared=False, only=BATCHES))
    assert {reason for _, reason in report.skipped} == {"the store takes no batches: it has no begin and conclude"}
    assert len(report.kept) == 5
