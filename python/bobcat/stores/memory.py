"""Journals in memory: for tests, and for runs that need a journal only while their process lives."""

from __future__ import annotations

from collections.abc import Sequence

from bobcat.journal import DuplicateRecord, StepRecord


class MemoryStore:
    """A `RunStore` over a dict. Records are kept as they are; nothing survives the process."""

    def __init__(self) -> None:
        self._runs: dict[str, dict[int, StepRecord]] = {}

    async def append(self, record: StepRecord) -> None:
        """Keep `record`, or raise `DuplicateRecord`."""
        run = self._runs.setdefault(record.run_id, {})
        if record.seq in run:
            raise DuplicateRecord(f"run {record.run_id!r} already has a record {record.seq}")
        run[record.seq] = record

    async def load(self, run_id: str) -> Sequence[StepRecord]:
        """Every record of a run, by `seq`."""
        run = self._runs.get(run_id, {})
        return tuple(run[seq] for seq in sorted(run))
