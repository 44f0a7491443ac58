"""The contract suite can fail: stores that are broken in one way each, and the clause that says so."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bobcat import DuplicateRecord, MemoryStore, StepRecord
from bobcat.stores.protocol import Entry, Lease, LeaseLost, RunBusy, RunSummary, StatusConflict
from bobcat.testing import ContractReport, StoreContractError, run_store_contract


class Overwriting(MemoryStore):
    """The last writer wins."""

    async def append(self, record: StepRecord) -> None:
        self._runs.setdefault(record.run_id, {})[record.seq] = record


class LooksThenWrites(MemoryStore):
    """Looks whether the position is free, and writes later."""

    async def append(self, record: StepRecord) -> None:
        taken = record.seq in self._runs.get(record.run_id, {})
        await asyncio.sleep(0.001)
        if taken:
            raise DuplicateRecord("taken")
        self._runs.setdefault(record.run_id, {})[record.seq] = record


class TwiceIsFine(MemoryStore):
    """Lets an equal record pass."""

    async def append(self, record: StepRecord) -> None:
        if self._runs.get(record.run_id, {}).get(record.seq) != record:
            await super().append(record)


class InOrderOfArrival(MemoryStore):
    async def load(self, run_id: str) -> Sequence[StepRecord]:
        return tuple(self._runs.get(run_id, {}).values())


class OrderedAsText(MemoryStore):
    async def load(self, run_id: str) -> Sequence[StepRecord]:
        return tuple(sorted(await super().load(run_id), key=lambda record: str(record.seq)))


class OneFileForBothCases(MemoryStore):
    async def append(self, record: StepRecord) -> None:
        await super().append(replace(record, run_id=record.run_id.lower()))

    async def load(self, run_id: str) -> Sequence[StepRecord]:
        return tuple(replace(record, run_id=run_id) for record in await super().load(run_id.lower()))


class RaisesForUnknownRuns(MemoryStore):
    async def load(self, run_id: str) -> Sequence[StepRecord]:
        if run_id not in self._runs:
            raise KeyError(run_id)
        return await super().load(run_id)


class Growing(MemoryStore):
    """Hands out its own list."""

    async def load(self, run_id: str) -> Sequence[StepRecord]:
        return _Live(self._runs.setdefault(run_id, {}))


class _Live(Sequence[StepRecord]):
    def __init__(self, records: dict[int, StepRecord]) -> None:
        self._records = records

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, index: Any) -> Any:
        return [self._records[seq] for seq in sorted(self._records)][index]


class Rewriting(MemoryStore):
    """Writes bodies through something that cannot hold them all."""

    def rewritten(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        raise NotImplementedError

    async def append(self, record: StepRecord) -> None:
        await super().append(replace(record, body=self.rewritten(record.body)))


class WithoutSurrogates(Rewriting):
    def rewritten(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        text = json.dumps(body, ensure_ascii=False, default=repr).encode("utf-8", "replace").decode()
        return json.loads(text)  # type: ignore[no-any-return]


class NumbersAsFloats(Rewriting):
    def rewritten(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        text = json.dumps(body, default=repr)
        return json.loads(text, parse_int=lambda digits: float(digits) if len(digits) > 15 else int(digits))  # type: ignore[no-any-return]


class CutsLongBodies(Rewriting):
    def rewritten(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return {key: value[:65535] if isinstance(value, str) else value for key, value in body.items()}


class EmptyWhenTooLarge(MemoryStore):
    """Takes the position before it refuses the body."""

    async def append(self, record: StepRecord) -> None:
        if len(str(record.body)) > 2_000_000:
            await super().append(replace(record, body={}))
            raise ValueError("too large")
        await super().append(record)


class Half(Rewriting):
    """Drops what JSON cannot say."""

    def rewritten(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return {key: value for key, value in body.items() if not isinstance(value, bytearray)}


class WholeSeconds(MemoryStore):
    async def append(self, record: StepRecord) -> None:
        await super().append(replace(record, timestamp=record.timestamp.replace(microsecond=0)))


class TornByCancelling(MemoryStore):
    """Writes a record in two steps."""

    async def append(self, record: StepRecord) -> None:
        await super().append(replace(record, body={}))
        await asyncio.sleep(0.003)
        self._runs[record.run_id][record.seq] = record


class AppearsLater(MemoryStore):
    """Goes on writing after it was cancelled."""

    async def append(self, record: StepRecord) -> None:
        async def later() -> None:
            await asyncio.sleep(0.003)
            await MemoryStore.append(self, record)

        await asyncio.shield(asyncio.ensure_future(later()))


class FencesNothing(MemoryStore):
    async def append_fenced(self, record: StepRecord, lease: Lease) -> None:
        await self.append(record)


class FencesBeforeItWrites(MemoryStore):
    """Checks the fence in one transaction, and writes in another."""

    async def append_fenced(self, record: StepRecord, lease: Lease) -> None:
        self._held(lease, record.run_id)
        await asyncio.sleep(0.002)
        await self.append(record)


class LeasesForEver(MemoryStore):
    def _held(self, lease: Lease, run_id: str) -> None:
        state = self._states[run_id]
        if (state.fence, lease.run_id) != (lease.fence, run_id):
            raise LeaseLost(run_id)


class OneFence(MemoryStore):
    async def acquire(self, run_id: str, *, owner: str, seconds: float) -> Lease:
        lease = await super().acquire(run_id, owner=owner, seconds=seconds)
        self._states[run_id].fence = 1
        return replace(lease, fence=1)


class EverybodyIsWelcome(MemoryStore):
    async def acquire(self, run_id: str, *, owner: str, seconds: float) -> Lease:
        self._state(run_id).owner = None
        return await super().acquire(run_id, owner=owner, seconds=seconds)


class BusyAnonymously(MemoryStore):
    async def acquire(self, run_id: str, *, owner: str, seconds: float) -> Lease:
        try:
            return await super().acquire(run_id, owner=owner, seconds=seconds)
        except RunBusy as busy:
            raise RunBusy(run_id, "somebody", busy.expires) from None


class RenewsAnything(MemoryStore):
    async def renew(self, lease: Lease, *, seconds: float) -> Lease:
        return replace(lease, expires=await self.now() + timedelta(seconds=seconds))


class RenewsFromTheEnd(MemoryStore):
    async def renew(self, lease: Lease, *, seconds: float) -> Lease:
        await super().renew(lease, seconds=seconds)
        state = self._states[lease.run_id]
        state.expires = lease.expires + timedelta(seconds=seconds)
        return replace(lease, expires=state.expires)


class ReleasesForAnybody(MemoryStore):
    async def release(self, lease: Lease) -> None:
        self._states[lease.run_id].owner = None


class ReleasesNothing(MemoryStore):
    async def release(self, lease: Lease) -> None:
        return None


class FromTheStart(MemoryStore):
    async def load_from(self, run_id: str, *, seq: int = 0, limit: int | None = None) -> Sequence[StepRecord]:
        return (await self.load(run_id))[seq:][:limit]


class KeepsOldDetails(MemoryStore):
    async def set_status(self, run_id: str, status: Any, *, detail: Any = None, lease: Lease | None = None) -> None:
        known = await self.run(run_id)
        kept = dict(known.detail) if known is not None and detail is None else detail
        await super().set_status(run_id, status, detail=kept, lease=lease)


class StatusForAnybody(MemoryStore):
    async def set_status(self, run_id: str, status: Any, *, detail: Any = None, lease: Lease | None = None) -> None:
        await super().set_status(run_id, status, detail=detail)


class PagesByTimeAlone(MemoryStore):
    """Loses what changed in the same moment as the last one of a page."""

    def __init__(self) -> None:
        start = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
        super().__init__(clock=lambda: start)

    async def runs(self, *, status: Any = None, limit: int = 100, after: RunSummary | None = None) -> Any:
        every = await super().runs(status=status, limit=1_000_000)
        return [each for each in every if after is None or each.updated < after.updated][:limit]


class OldestFirst(MemoryStore):
    async def runs(self, *, status: Any = None, limit: int = 100, after: RunSummary | None = None) -> Any:
        every = sorted(await super().runs(status=status, limit=1_000_000), key=lambda each: each.updated)
        return [each for each in every if after is None or each.updated > after.updated][:limit]


class TimeOfNoZone(MemoryStore):
    async def now(self) -> datetime:
        return (await super().now()).replace(tzinfo=None)


class SetsWhatNobodyExpected(MemoryStore):
    async def set_status(self, run_id: str, status: Any, *, expected: Any = None, **options: Any) -> None:
        await super().set_status(run_id, status, **options)


class LooksThenSets(MemoryStore):
    async def set_status(self, run_id: str, status: Any, *, expected: Any = None, **options: Any) -> None:
        known = await self.run(run_id)
        if expected is not None and known is not None and known.status not in expected:
            raise StatusConflict(run_id, known.status)
        await asyncio.sleep(0.001)
        await super().set_status(run_id, status, **options)


class CountsRefusedRecords(MemoryStore):
    async def append(self, record: StepRecord) -> None:
        if record.run_id in self._states:
            self._states[record.run_id].appended += record.seq in self._runs.get(record.run_id, {})
        await super().append(record)


class HeadOfTheLastArrival(MemoryStore):
    async def append(self, record: StepRecord) -> None:
        await super().append(record)
        self._states[record.run_id].last = record


class HeldForEver(MemoryStore):
    async def run(self, run_id: str) -> RunSummary | None:
        found = await super().run(run_id)
        return None if found is None else replace(found, held=found.fence > 0)


class KeepsItsFences(MemoryStore):
    async def mark_restored(self) -> int:
        self._epoch, self._restored_at = self._epoch + 1, await self.now()
        for state in self._states.values():
            state.owner = None
        return self._epoch


class RestoresNothing(MemoryStore):
    async def run(self, run_id: str) -> RunSummary | None:
        found = await super().run(run_id)
        return None if found is None else replace(found, restored=False)


class LastChangeWins(MemoryStore):
    async def put(self, kind: str, key: str, body: Mapping[str, Any], *, expected: int) -> Entry:
        current = await self.get(kind, key)
        return await super().put(kind, key, body, expected=0 if current is None else current.version)


class ReadsThenPuts(MemoryStore):
    async def put(self, kind: str, key: str, body: Mapping[str, Any], *, expected: int) -> Entry:
        current = await self.get(kind, key)
        if (0 if current is None else current.version) != expected:
            return await super().put(kind, key, body, expected=expected)
        await asyncio.sleep(0.001)
        current = await self.get(kind, key)
        return await super().put(kind, key, body, expected=0 if current is None else current.version)


class ScansInOrderOfArrival(MemoryStore):
    async def scan(self, kind: str, *, after: str = "", limit: int = 100) -> Sequence[Entry]:
        found = self._documents.get(kind)
        return [] if found is None else [each for key, each in found.entries.items() if key > after][:limit]


class ScansOtherKinds(MemoryStore):
    async def scan(self, kind: str, *, after: str = "", limit: int = 100) -> Sequence[Entry]:
        kinds = [found for name, found in self._documents.items() if name.startswith(kind)]
        found = [entry for each in kinds for key, entry in each.entries.items() if key > after]
        return sorted(found, key=lambda entry: entry.key)[:limit]


class SharesBodies(MemoryStore):
    async def put(self, kind: str, key: str, body: Mapping[str, Any], *, expected: int) -> Entry:
        entry = replace(await super().put(kind, key, body, expected=expected), body=body)
        self._documents[kind].entries[key] = entry
        return entry


class HidesErasedRuns(MemoryStore):
    """Removes the status of a run, and leaves its records."""

    def _remove_run(self, access: None, run_id: str) -> bool:
        return self._states.pop(run_id, None) is not None


class ErasesHeldRuns(MemoryStore):
    async def erase(self, run_id: str, *, fence: int | None = None) -> bool:
        self._state(run_id).owner = None
        return await super().erase(run_id, fence=fence)


class BeginsFencesAgain(MemoryStore):
    def _set_first_fence(self, access: None, fence: int) -> None:
        return None


class ErasesAnyFence(MemoryStore):
    async def erase(self, run_id: str, *, fence: int | None = None) -> bool:
        return await super().erase(run_id)


class ErasesInTwoSteps(MemoryStore):
    async def erase(self, run_id: str, *, fence: int | None = None) -> bool:
        known = self._runs.pop(run_id, None) is not None
        await asyncio.sleep(0.001)
        return self._states.pop(run_id, None) is not None or known


class DiscardsTheKind(MemoryStore):
    async def discard(self, entry: Entry) -> bool:
        known = await self.get(entry.kind, entry.key) is not None
        self._documents.pop(entry.kind, None)
        return known


class DiscardsAnyVersion(MemoryStore):
    async def discard(self, entry: Entry) -> bool:
        current = await self.get(entry.kind, entry.key)
        return current is not None and await super().discard(current)


class ComparesVersionsOnly(MemoryStore):
    async def discard(self, entry: Entry) -> bool:
        current = await self.get(entry.kind, entry.key)
        if current is not None and current.version == entry.version:
            return await super().discard(current)
        return await super().discard(entry)


class ReadsThenDiscards(MemoryStore):
    async def discard(self, entry: Entry) -> bool:
        current = await self.get(entry.kind, entry.key)
        await asyncio.sleep(0.001)
        if current != entry:
            return await super().discard(entry)
        self._documents[entry.kind].entries.pop(entry.key, None)
        return True


BROKEN: dict[type[MemoryStore], str] = {
    Overwriting: "a_taken_position_is_refused",
    LooksThenWrites: "one_of_many_writers_wins",
    TwiceIsFine: "a_taken_position_is_refused",
    InOrderOfArrival: "records_are_ordered_by_number",
    OrderedAsText: "records_are_ordered_by_number",
    OneFileForBothCases: "runs_are_kept_apart",
    RaisesForUnknownRuns: "an_unknown_run_is_empty",
    Growing: "a_loaded_journal_stays_as_it_was",
    WithoutSurrogates: "bodies_come_back_unchanged",
    NumbersAsFloats: "bodies_come_back_unchanged",
    CutsLongBodies: "a_large_body_is_kept",
    EmptyWhenTooLarge: "a_huge_body_is_kept_or_refused_whole",
    Half: "what_json_cannot_say_is_kept_or_refused",
    WholeSeconds: "times_keys_and_kinds_come_back",
    TornByCancelling: "a_cancelled_append_is_all_or_nothing",
    AppearsLater: "a_cancelled_append_is_all_or_nothing",
    FencesNothing: "a_taken_run_is_lost",
    FencesBeforeItWrites: "nothing_is_written_after_a_takeover",
    LeasesForEver: "a_lease_ends",
    OneFence: "the_same_owner_takes_the_next_fence",
    EverybodyIsWelcome: "a_lease_keeps_others_out",
    BusyAnonymously: "a_lease_keeps_others_out",
    RenewsAnything: "a_taken_run_is_lost",
    RenewsFromTheEnd: "a_renewal_counts_from_now",
    ReleasesForAnybody: "a_taken_run_is_lost",
    ReleasesNothing: "a_released_run_is_free",
    FromTheStart: "part_of_a_journal_can_be_loaded",
    KeepsOldDetails: "a_run_has_a_status",
    StatusForAnybody: "a_taken_run_is_lost",
    PagesByTimeAlone: "runs_are_listed",
    OldestFirst: "runs_are_listed",
    TimeOfNoZone: "time_is_the_stores",
    SetsWhatNobodyExpected: "a_status_changes_only_from_what_was_expected",
    LooksThenSets: "a_status_changes_only_from_what_was_expected",
    CountsRefusedRecords: "what_was_appended_is_counted",
    HeadOfTheLastArrival: "what_was_appended_is_counted",
    HeldForEver: "a_lease_that_is_alive_is_shown",
    KeepsItsFences: "a_restored_store_begins_an_epoch",
    RestoresNothing: "a_restored_store_begins_an_epoch",
    LastChangeWins: "a_document_has_versions",
    ReadsThenPuts: "changes_do_not_overwrite_each_other",
    ScansInOrderOfArrival: "documents_are_scanned_in_order",
    ScansOtherKinds: "documents_are_scanned_in_order",
    SharesBodies: "document_bodies_come_back_unchanged",
    HidesErasedRuns: "an_erased_run_is_gone",
    ErasesHeldRuns: "a_held_run_is_not_erased",
    BeginsFencesAgain: "a_lease_does_not_outlive_an_erased_run",
    ErasesAnyFence: "a_lease_does_not_outlive_an_erased_run",
    ErasesInTwoSteps: "an_erase_and_an_append_do_not_mix",
    DiscardsTheKind: "a_discarded_document_is_gone",
    DiscardsAnyVersion: "a_changed_document_is_not_discarded",
    ComparesVersionsOnly: "a_changed_document_is_not_discarded",
    ReadsThenDiscards: "a_discard_and_a_change_exclude_each_other",
}


def violated_by(make: Any, **options: Any) -> ContractReport:
    with pytest.raises(StoreContractError) as caught:
        asyncio.run(run_store_contract(make, shared=False, **options))
    return caught.value.report


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_broken_store_violates_the_clause_about_it(broken: type[MemoryStore]) -> None:
    clause = BROKEN[broken]
    report = violated_by(broken, only=[clause])
    (violation,) = report.violations
    assert violation.clause == clause
    assert violation.demand.endswith(".")
    assert violation.seen
    assert violation.seen in str(report)


def test_every_violated_clause_is_reported_at_once() -> None:
    report = violated_by(Overwriting)
    clauses = {violation.clause for violation in report.violations}
    assert clauses >= {
        "a_taken_position_is_refused",
        "one_of_many_writers_wins",
        "a_cancelled_append_is_all_or_nothing",
        "a_fenced_append_refuses_taken_positions",
    }
    assert "what_was_appended_is_loaded" in report.kept


class Hanging(MemoryStore):
    async def load(self, run_id: str) -> Sequence[StepRecord]:
        await asyncio.Event().wait()
        raise AssertionError


def test_a_store_that_hangs_violates_the_clause_that_waited_for_it() -> None:
    report = violated_by(Hanging, only=["an_unknown_run_is_empty"], seconds=0.2)
    assert [violation.seen for violation in report.violations] == ["no end after 0.2 s"]


class Forgetful:
    """A store over a file that loses records when it is closed, or when it crashes."""

    def __init__(self, path: Path) -> None:
        self._memory = MemoryStore()
        self.path = path

    async def append(self, record: StepRecord) -> None:
        await self._memory.append(record)

    async def load(self, run_id: str) -> Sequence[StepRecord]:
        return await self._memory.load(run_id)


def test_a_store_without_shared_storage_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StoreContractError) as caught:
        asyncio.run(run_store_contract(lambda: Forgetful(tmp_path)))
    clauses = {violation.clause for violation in caught.value.report.violations}
    assert clauses >= {"another_store_object_sees_it", "closing_keeps_everything", "one_of_many_writers_wins"}


def test_a_crash_that_loses_an_acknowledged_record_is_found() -> None:
    store = MemoryStore()

    def lose_the_last() -> None:
        for run in store._runs.values():
            del run[max(run)]

    report = violated_by(lambda: store, only=["a_crash_loses_nothing_acknowledged"], crash=lose_the_last)
    assert "acknowledged records are gone" in report.violations[0].seen


def test_a_clause_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown clause `nonsense`; the clauses are a_cancelled_append"):
        asyncio.run(run_store_contract(MemoryStore, only=["nonsense"]))
