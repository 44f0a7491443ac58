"""Submissions whose store writes records in groups: what is durable when, at crashes, failures and lost leases."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bobcat import Guard, Outcome, Policy, Reconciled, SQLiteStore, StepRecord, StoreError, ToolSet, tool
from bobcat.journal.records import DuplicateRecord
from bobcat.model.run import AuditEvent
from bobcat.stores.protocol import BatchingStore, Lease, LeaseLost, RunStatus, RunSummary

POLICY = Policy.compile({"rules": [{"match": {"tool": "pay"}, "decision": "allow"}]})


class Clock:
    """The stores' clock: each restart is a minute later, when the lease of the attempt before has ended."""

    minutes = 0

    def __call__(self) -> datetime:
        return datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(minutes=self.minutes)


CLOCK = Clock()


class Death(BaseException):
    """The end of the process."""


class Faulty(SQLiteStore):
    """Counts its writes; at one of them it raises `fault`, before or after it. After a death it is gone."""

    def __init__(self, path: Path, at: int | None = None, *, after: bool = False, fault: Any = Death) -> None:
        super().__init__(path, clock=CLOCK)
        self.at, self.after, self.fault = at, after, fault
        self.calls: list[str] = []
        self.dead = False

    async def _write(self, name: str, work: Any) -> Any:
        if self.dead:
            work.close()
            raise Death
        self.calls.append(name)
        struck = len(self.calls) - 1 == self.at
        if struck and not self.after:
            work.close()
            self._strike()
        done = await work
        if struck:
            self._strike()
        return done

    def _strike(self) -> None:
        self.dead = self.fault is Death
        raise self.fault() if self.dead else self.fault

    async def begin(self, run_id: str, *, owner: str, seconds: float) -> tuple[Lease, RunSummary]:
        found: tuple[Lease, RunSummary]
        found = await self._write("begin", super().begin(run_id, owner=owner, seconds=seconds))
        return found

    async def set_status(self, run_id: str, status: RunStatus, **options: Any) -> None:
        await self._write("set_status", super().set_status(run_id, status, **options))

    async def append_fenced(self, record: StepRecord, lease: Lease) -> None:
        await self._write("append_fenced", super().append_fenced(record, lease))

    async def append_group(self, records: Any, lease: Lease) -> None:
        await self._write("append_group", super().append_group(records, lease))

    async def conclude(self, records: Any, status: RunStatus, *, detail: Mapping[str, Any], lease: Lease) -> None:
        await self._write("conclude", super().conclude(records, status, detail=detail, lease=lease))

    async def release(self, lease: Lease) -> None:
        await self._write("release", super().release(lease))


class Payments:
    """A tool with an effect, and its reconciler."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def tools(self) -> ToolSet:
        @tool
        async def pay(order: str) -> str:
            self.made.append(order)
            return f"paid {order}"

        @pay.reconcile
        async def did_pay(key: str, args: Mapping[str, Any]) -> Reconciled:
            if args["order"] in self.made:
                return Reconciled.happened(f"paid {args['order']}")
            return Reconciled.not_happened()

        return ToolSet.from_functions(pay)


async def submitted(store: SQLiteStore, payments: Payments, **options: Any) -> Outcome:
    async with Guard(POLICY, payments.tools(), store=store, **options) as guard:
        try:
            return await guard.submit("pay", {"order": "o1"}, key="k")
        finally:
            await store.aclose()


async def again(path: Path, payments: Payments) -> Outcome:
    """Submit after a restart, when the lease of the attempt before has ended."""
    CLOCK.minutes += 1
    return await submitted(SQLiteStore(path, clock=CLOCK), payments)


def records(path: Path) -> list[tuple[str, int, str]]:
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT run_id, seq, kind FROM bobcat_records ORDER BY run_id, seq")
        return rows.fetchall()


def calls_of(tmp_path: Path) -> list[str]:
    store = Faulty(tmp_path / "whole.db")
    assert asyncio.run(submitted(store, Payments())).ok
    return store.calls


def test_a_submission_is_three_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    statements: list[str] = []
    connect = sqlite3.connect

    def traced(*args: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*args, **options)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr(sqlite3, "connect", traced)
    commits = []

    async def main() -> None:
        async with Guard(POLICY, Payments().tools(), store=f"sqlite:///{tmp_path}/a.db") as guard:
            for name in ("pay", "pay", "unknown"):
                statements.clear()
                await guard.submit(name, {"order": "o"})
                commits.append(statements.count("COMMIT"))

    asyncio.run(main())
    assert commits[1:] == [3, 2]
    assert calls_of(tmp_path) == ["begin", "append_group", "conclude"]


def test_the_intent_is_durable_before_the_effect_and_the_result_before_the_answer(tmp_path: Path) -> None:
    path, seen = tmp_path / "a.db", list[list[str]]()

    @tool
    async def pay(order: str) -> None:
        seen.append([kind for _, _, kind in records(path)])

    outcome = asyncio.run(submitted(SQLiteStore(path, clock=CLOCK), _with(pay)))
    assert outcome.ok
    assert seen == [["run.started", "model.output", "action.intent"]]
    kinds = [kind for _, _, kind in records(path)]
    assert kinds == ["run.started", "model.output", "action.intent", "action.result", "model.output", "final"]


def _with(function: Any) -> Any:
    class Given(Payments):
        def tools(self) -> ToolSet:
            return ToolSet.from_functions(function)

    return Given()


def test_a_sink_sees_a_result_that_is_durable(tmp_path: Path) -> None:
    path, seen = tmp_path / "a.db", dict[str, list[str]]()

    async def sink(event: AuditEvent) -> None:
        seen[event.kind] = [kind for _, _, kind in records(path)]

    assert asyncio.run(submitted(SQLiteStore(path, clock=CLOCK), Payments(), sinks=[sink])).ok
    assert "action.intent" in seen["action.started"]
    assert seen["run.succeeded"][-1] == "final"


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", range(3))
def test_a_crash_at_any_write_pays_once(at: int, after: bool, tmp_path: Path) -> None:
    path, payments = tmp_path / "a.db", Payments()
    assert len(calls_of(tmp_path)) == 3
    with pytest.raises(Death):
        asyncio.run(submitted(Faulty(path, at, after=after), payments))
    outcome = asyncio.run(again(path, payments))
    assert (outcome.status, outcome.value, payments.made) == ("ok", "paid o1", ["o1"])
    assert asyncio.run(again(path, payments)).replayed
    assert payments.made == ["o1"]


@pytest.mark.parametrize("second", range(6))
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("first", range(3))
def test_a_crash_of_the_second_attempt_pays_once(first: int, after: bool, second: int, tmp_path: Path) -> None:
    path, payments = tmp_path / "a.db", Payments()
    with pytest.raises(Death):
        asyncio.run(submitted(Faulty(path, first, after=after), payments))

    async def resumed() -> None:
        CLOCK.minutes += 1
        await submitted(Faulty(path, second, after=not after), payments)

    with suppress(Death):
        asyncio.run(resumed())
    outcome = asyncio.run(again(path, payments))
    assert (outcome.status, outcome.value, payments.made) == ("ok", "paid o1", ["o1"])


@pytest.mark.parametrize(
    ("at", "after", "status", "paid"),
    [
        (1, False, "failed", 0),
        (1, True, "failed", 0),
        (2, False, "uncertain", 1),
        (2, True, "uncertain", 1),
    ],
)
def test_a_write_that_fails_has_the_status_that_is_known(
    at: int, after: bool, status: str, paid: int, tmp_path: Path
) -> None:
    path, payments = tmp_path / "a.db", Payments()
    fault = StoreError("unavailable", "no space left")
    outcome = asyncio.run(submitted(Faulty(path, at, after=after, fault=fault), payments))
    assert (outcome.status, len(payments.made)) == (status, paid)
    assert outcome.code == "store_failed"
    assert "no space left" in (outcome.error or "")
    outcome = asyncio.run(again(path, payments))
    assert (outcome.status, outcome.value, payments.made) == ("ok", "paid o1", ["o1"])


def test_a_cancelled_caller_leaves_what_is_known(tmp_path: Path) -> None:
    path, payments = tmp_path / "a.db", Payments()

    async def main() -> None:
        running = asyncio.Event()

        @tool
        async def pay(order: str) -> str:
            running.set()
            await asyncio.sleep(30)
            return order

        task = asyncio.create_task(submitted(SQLiteStore(path, clock=CLOCK), _with(pay)))
        await running.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert [kind for _, _, kind in records(path)][2] == "action.intent"
    outcome = asyncio.run(again(path, payments))
    assert (outcome.status, payments.made) == ("ok", ["o1"])


def record(seq: int, run_id: str = "r") -> StepRecord:
    return StepRecord(run_id, seq, "k", "", {"n": seq}, datetime(2026, 1, 1, tzinfo=UTC))


def test_a_group_is_all_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.db"

    async def main() -> None:
        store = SQLiteStore(path)
        assert isinstance(store, BatchingStore)
        lease = await store.acquire("r", owner="a", seconds=30)
        await store.append_group([record(0), record(1)], lease)
        with pytest.raises(DuplicateRecord):
            await store.append_group([record(1), record(2)], lease)
        with pytest.raises(DuplicateRecord):
            await store.append_group([record(2), record(2)], lease)
        with pytest.raises(LeaseLost):
            await store.append_group([record(2), record(3, "other")], lease)
        assert len(await store.load("r")) == 2
        assert await store.epoch() == 1
        await store.append_group([], lease)
        with pytest.raises(LeaseLost):
            await store.append_group([record(2), record(4)], lease)  # the store is an older copy of itself
        assert len(await store.load("r")) == 2
        assert await store.epoch() == 2
        await store.aclose()

    asyncio.run(main())


def test_without_its_lease_a_run_neither_writes_nor_ends(tmp_path: Path) -> None:
    async def main() -> None:
        store = SQLiteStore(tmp_path / "a.db", clock=CLOCK)
        lost = await store.acquire("r", owner="a", seconds=30)
        CLOCK.minutes += 1
        held = await store.acquire("r", owner="b", seconds=30)
        with pytest.raises(LeaseLost):
            await store.append_group([record(0)], lost)
        with pytest.raises(LeaseLost):
            await store.finish("failed", detail={}, lease=lost)
        found = await store.run("r")
        assert found is not None
        assert (found.status, found.held, found.records) == ("running", True, 0)
        await store.finish("succeeded", detail={"records": 0}, lease=held)
        found = await store.run("r")
        assert found is not None
        assert (found.status, found.held, found.detail) == ("succeeded", False, {"records": 0})
        await store.acquire("r", owner="c", seconds=30)
        await store.aclose()

    asyncio.run(main())
