"""Records of a run in batches: what is durable before a tool begins, and what a failed write stops."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bobcat
from bobcat import FinalAnswer, Message, RunResult, SQLiteStore, StepRecord, StoreError, ToolCall, ToolSet, tool
from bobcat.model.run import AuditEvent
from bobcat.runtime.outbox import Outbox
from bobcat.stores.protocol import Lease, LeaseLost, RunStatus, RunSummary

POLICY = bobcat.compile_policy("rules: [{id: pay, match: {tool: pay}, decision: allow}]")
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def record(seq: int) -> StepRecord:
    return StepRecord("r", seq, "k", "", {}, MOMENT)


@given(
    actions=st.lists(st.sampled_from(["put", "start", "flush", "wait"]), max_size=40),
    fails_at=st.none() | st.integers(0, 8),
    pause=st.integers(0, 3),
)
def test_records_are_written_once_in_their_order_and_none_after_a_failure(
    actions: list[str], fails_at: int | None, pause: int
) -> None:
    async def main() -> None:
        written, lost, calls = list[int](), list[str](), 0

        async def write(records: Sequence[StepRecord]) -> None:
            nonlocal calls
            calls += 1
            for _ in range(pause):
                await asyncio.sleep(0)
            if calls - 1 == fails_at:
                raise OSError("no space left")
            written.extend(each.seq for each in records)

        outbox, put = Outbox(write, lambda: lost.append("lost")), 0
        for action in [*actions, "flush"]:
            match action:
                case "put":
                    outbox.put(record(put))
                    put += 1
                case "start":
                    outbox.start()
                case "wait":
                    await asyncio.sleep(0)
                case _:
                    try:
                        await outbox.flush()
                        assert written == list(range(put))
                    except OSError:
                        assert fails_at is not None
                        assert lost
        assert written == list(range(len(written)))
        failed = fails_at is not None and calls > fails_at
        assert bool(lost) == failed
        assert len(written) == put or failed
        if failed:
            assert calls == (fails_at or 0) + 1, "nothing is written after a failure"
            outbox.put(record(put))
            with pytest.raises(OSError, match="no space"):
                await outbox.flush()

    asyncio.run(main())


class Watched(SQLiteStore):
    """Notes the writes of a run, in one list with what its tools and its model do. Fails at the batch with `fails`."""

    def __init__(self, path: Path, seen: list[str], fails: str = "", error: Exception | None = None) -> None:
        super().__init__(path)
        self.seen, self.fails = seen, fails
        self.error = error or StoreError("unavailable", "no space left")

    async def append_group(self, records: Sequence[StepRecord], lease: Lease) -> None:
        self._refuse(records)
        await super().append_group(records, lease)
        self.seen += [each.kind for each in records]

    async def conclude(
        self, records: Sequence[StepRecord], status: RunStatus, *, detail: Mapping[str, Any], lease: Lease
    ) -> None:
        self._refuse(records)
        await super().conclude(records, status, detail=detail, lease=lease)
        self.seen += [*(each.kind for each in records), status]

    def _refuse(self, records: Sequence[StepRecord]) -> None:
        if self.fails in [each.kind for each in records]:
            raise self.error


async def go(path: Path, seen: list[str], *, thinks: float, steps: int = 2, **options: Any) -> RunResult:
    """A run of `steps` payments, whose model answers after `thinks` seconds."""

    @tool()
    async def pay(amount: int) -> str:
        seen.append(f"pay {amount}")
        return "paid"

    class Agent:
        async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
            seen.append("model")
            if thinks:
                await asyncio.sleep(thinks)
            done = sum(message.role == "tool" for message in conversation)
            return ToolCall("pay", {"amount": done}) if done < steps else FinalAnswer("all paid")

    store = options.pop("kind", Watched)(path, seen, options.pop("fails", ""), options.pop("error", None))
    async with aclosing(store):
        return await bobcat.run_agent(
            Agent(), "pay", tools=ToolSet.from_functions(pay), policy=POLICY, store=store, run_id="r", **options
        )


STEP = ["model.output", "action.intent"]


@pytest.mark.parametrize("sinks", [[], [lambda event: None]], ids=["fast path", "machine"])
def test_an_intent_is_durable_before_its_tool_and_a_result_before_the_next_tool(tmp_path: Path, sinks: Any) -> None:
    seen: list[str] = []
    result = asyncio.run(go(tmp_path / "a.db", seen, thinks=0.05, sinks=sinks))
    assert result.final_answer == "all paid"
    expected = ["model", "run.started", *STEP, "pay 0", "model", "action.result", *STEP, "pay 1", "model"]
    end = ["action.result", "model.output", "final"]
    assert seen == [*expected, *end, "succeeded"]


def test_what_is_put_before_a_model_waits_shares_a_write(tmp_path: Path) -> None:
    seen: list[str] = []
    asyncio.run(go(tmp_path / "a.db", seen, thinks=0))
    started = ["model", "run.started", *STEP, "pay 0"]
    assert seen == [
        *started, "model", "action.result", *STEP, "pay 1",
        "model", "action.result", "model.output", "final", "succeeded",
    ]  # fmt: skip


@pytest.mark.parametrize("thinks", [0, 0.05])
@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (StoreError("unavailable", "no space left"), "failed", "store_failed"),
        (LeaseLost("another worker has it"), "superseded", "lease_lost"),
    ],
)
def test_a_result_that_cannot_be_written_ends_the_run_before_the_next_tool(
    error: Exception, status: str, code: str, thinks: float, tmp_path: Path
) -> None:
    seen: list[str] = []
    path = tmp_path / "a.db"
    result = asyncio.run(go(path, seen, thinks=thinks, fails="action.result", error=error))
    assert (result.status, result.code) == (status, code)
    assert "pay 0" in seen
    assert "pay 1" not in seen

    async def left() -> tuple[list[str], Any]:
        async with aclosing(SQLiteStore(path)) as store:
            return [each.kind for each in await store.load("r")], await store.run("r")

    kinds, run = asyncio.run(left())
    assert kinds == ["run.started", "model.output", "action.intent"]
    assert run.detail.get("records", 3) == 3, "the store reports no record that is lost"
    again = asyncio.run(go(path, seen, thinks=thinks))
    assert again.status == "succeeded", again
    assert seen.count("pay 0") == 1, "the outcome is uncertain, and an unsafe tool does not run again by itself"


def test_an_answer_whose_record_cannot_be_written_does_not_count(tmp_path: Path) -> None:
    seen: list[str] = []
    result = asyncio.run(go(tmp_path / "a.db", seen, thinks=0.05, fails="final"))
    assert (result.final_answer, result.code) == (None, "store_failed")


def test_a_sink_gets_a_result_when_it_is_durable(tmp_path: Path) -> None:
    seen: list[str] = []

    async def sink(event: AuditEvent) -> None:
        seen.append(f"event {event.kind}")

    sink.results = True  # type: ignore[attr-defined]
    asyncio.run(go(tmp_path / "a.db", seen, thinks=0.05, sinks=[sink]))
    written = [at for at, kind in enumerate(seen) if kind == "action.result"]
    shown = [at for at, kind in enumerate(seen) if kind == "event action.result"]
    assert len(written) == len(shown) == 2
    assert written[0] < shown[0] < written[1] < shown[1]
    assert seen.index("event run.succeeded") > seen.index("final")


def test_a_run_that_is_cancelled_while_its_model_thinks_keeps_its_last_result(tmp_path: Path) -> None:
    seen: list[str] = []
    path = tmp_path / "a.db"

    async def main() -> list[str]:
        task = asyncio.create_task(go(path, seen, thinks=0.5))
        await asyncio.sleep(0.75)
        assert "pay 0" in seen
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with aclosing(SQLiteStore(path)) as store:
            run = await store.run("r")
            assert run is not None
            assert not run.held
            return [each.kind for each in await store.load("r")]

    assert asyncio.run(main())[-1] == "action.result"


class Forgetful(Watched):
    """Loses the first lease, as a server that crashes before the lease is on its disk."""

    lost = False
    other = False

    async def begin(self, run_id: str, *, owner: str, seconds: float) -> tuple[Lease, RunSummary]:
        lease, run = await super().begin(run_id, owner=owner, seconds=seconds)
        if not self.lost:
            self.lost = True
            await super().release(lease)
            if self.other:
                await super().acquire(run_id, owner="other", seconds=600)
            else:
                await super().erase(run_id)
        return lease, run


@pytest.mark.parametrize("thinks", [0, 0.05])
@pytest.mark.parametrize("steps", [0, 2])
def test_a_lease_that_the_store_loses_before_any_write_is_acquired_again(
    tmp_path: Path, thinks: float, steps: int
) -> None:
    seen: list[str] = []
    result = asyncio.run(go(tmp_path / "a.db", seen, thinks=thinks, steps=steps, kind=Forgetful))
    assert result.final_answer == "all paid", result
    assert [each for each in seen if each.startswith("pay")] == [f"pay {amount}" for amount in range(steps)]


def test_a_lease_that_another_worker_has_taken_is_lost(tmp_path: Path) -> None:
    seen: list[str] = []

    class Taken(Forgetful):
        other = True

    result = asyncio.run(go(tmp_path / "a.db", seen, thinks=0, kind=Taken))
    assert (result.outcome, result.code) == ("superseded", "lease_lost")
    assert [each for each in seen if each.startswith("pay")] == []


def test_a_loss_before_any_write_is_no_restore(tmp_path: Path) -> None:
    async def main() -> int:
        await go(tmp_path / "a.db", [], thinks=0, kind=Forgetful)
        async with aclosing(SQLiteStore(tmp_path / "a.db")) as store:
            return await store.epoch()

    assert asyncio.run(main()) == 1
