"""A store in memory that takes batches: a run then writes all records up to an effect at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bobcat import DuplicateRecord, MemoryStore, StepRecord
from bobcat.stores.protocol import Lease, LeaseLost, RunStatus, RunSummary


class BatchingMemoryStore(MemoryStore):
    """A `BatchingStore`. Its methods wait for nothing, so each is atomic."""

    async def begin(self, run_id: str, *, owner: str, seconds: float) -> tuple[Lease, RunSummary]:
        lease = await self.acquire(run_id, owner=owner, seconds=seconds)
        found = await self.run(run_id)
        assert found is not None
        return lease, found

    async def append_group(self, records: Sequence[StepRecord], lease: Lease) -> None:
        await self._check(lease)
        known = {record.seq for record in await self.load(lease.run_id)}
        if any(record.seq in known for record in records):
            raise DuplicateRecord("a record of the group is there")
        for record in records:
            await self.append_fenced(record, lease)

    async def finish(self, status: RunStatus, *, detail: Mapping[str, Any], lease: Lease) -> None:
        await self.conclude((), status, detail=detail, lease=lease)

    async def conclude(
        self, records: Sequence[StepRecord], status: RunStatus, *, detail: Mapping[str, Any], lease: Lease
    ) -> None:
        await self.append_group(records, lease)
        await self.set_status(lease.run_id, status, detail=detail, lease=lease)
        await self.release(lease)

    async def _check(self, lease: Lease) -> None:
        found = await self.run(lease.run_id)
        if found is None or found.fence != lease.fence or not found.held:
            raise LeaseLost(lease.run_id)
