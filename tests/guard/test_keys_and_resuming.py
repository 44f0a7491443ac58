"""Idempotency keys, approvals that wait, and submissions that continue after a timeout or in another process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bobcat import Budget, Guard, Outcome, Principal
from bobcat.approvals import Approvals
from bobcat.decision_log import open_log
from bobcat.stores import MemoryStore, SQLiteStore
from guard.gated import Tools, policy

SHORT = Budget(duration_seconds=None, steps=None, step_timeout_seconds=0.3)


def in_guard(work: Callable[[Guard], Any], tools: Tools, **given: Any) -> Any:
    async def main() -> Any:
        async with Guard(policy(), tools.toolset(), **given) as guard:
            return await work(guard)

    return asyncio.run(main())


def test_a_key_executes_once_also_after_a_restart(tmp_path: Path) -> None:
    tools, store = Tools(), f"sqlite:///{tmp_path}/gate.db"
    call = ("echo", {"text": "a", "times": 2})
    log = tmp_path / "log.db"

    async def twice(guard: Guard) -> list[Outcome]:
        return [await guard.submit(*call, key="order-7"), await guard.submit(*call, key="order-7")]

    first, second = in_guard(twice, tools, store=store, log=log)
    (third, _) = in_guard(twice, tools, store=store, log=log)
    assert [each.value for each in (first, second, third)] == ["aa"] * 3
    assert [each.replayed for each in (first, second, third)] == [False, True, True]
    assert first == second == third
    assert len(tools.ran) == 1
    with open_log(log) as entries:
        assert [(record.record_id, record.status) for record in entries.records()] == [(first.record_id, "ok")]


def test_failures_and_denials_keep_their_key_too() -> None:
    tools = Tools()

    async def work(guard: Guard) -> list[Outcome]:
        calls: list[tuple[str, dict[str, Any]]] = [("broken", {}), ("echo", {"text": "force"}), ("nothing", {})]
        return [await guard.submit(tool, args, key=tool) for tool, args in calls for _ in range(2)]

    found = in_guard(work, tools)
    assert [each.status for each in found] == ["failed"] * 2 + ["denied"] * 2 + ["unknown"] * 2
    assert [each.replayed for each in found] == [False, True] * 3
    assert len(tools.ran) == 1


def test_a_key_of_another_call_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    tools, log = Tools(), tmp_path / "log.db"

    async def work(guard: Guard) -> list[Outcome]:
        return [
            await guard.submit("echo", {"text": "a"}, key="k"),
            await guard.submit("echo", {"text": "b"}, key="k"),
            await guard.submit("echo", {"text": "a"}, key="k"),
        ]

    first, other, again = in_guard(work, tools, log=log)
    assert (other.status, other.code) == ("invalid", "key_reused")
    assert (again.value, again.replayed, len(tools.ran)) == ("a", True, 1)
    with open_log(log) as entries:
        assert {each.record_id: each.status for each in entries.records()} == {
            first.record_id: "ok",
            other.record_id: "invalid",
        }


def test_principals_have_keys_of_their_own() -> None:
    tools = Tools()

    async def work(guard: Guard) -> list[Outcome]:
        people = [Principal("user", name) for name in ("alice", "bob")]
        return [await guard.submit("echo", {"text": "a"}, key="k", principal=each) for each in people]

    found = in_guard(work, tools)
    assert [each.replayed for each in found] == [False, False]
    assert len(tools.ran) == 2


def test_one_key_at_once_executes_once() -> None:
    tools = Tools(seconds=0.2)

    async def work(guard: Guard) -> list[Outcome]:
        return list(await asyncio.gather(*(guard.submit("slow", {}, key="k") for _ in range(5))))

    found = in_guard(work, tools)
    assert {each.value for each in found} == {"late"}
    assert len(tools.ran) == 1


def test_an_approval_waits_in_a_durable_store_and_executes_once_when_granted(tmp_path: Path) -> None:
    tools, path, log = Tools(), tmp_path / "gate.db", tmp_path / "log.db"

    async def ask(guard: Guard) -> Outcome:
        return await guard.submit("deploy", {"target": "web"})

    waiting = in_guard(ask, tools, store=SQLiteStore(path), log=log)
    assert (waiting.status, len(waiting.approvals), tools.ran) == ("waiting", 1, [])

    async def unanswered(guard: Guard) -> Outcome:
        return await guard.resume(waiting.record_id)

    assert in_guard(unanswered, tools, store=SQLiteStore(path), log=log).status == "waiting"

    async def granted(guard: Guard) -> list[Outcome]:
        await Approvals(SQLiteStore(path)).grant(waiting.approvals[0], approver="alice")
        return [await guard.resume(waiting.record_id) for _ in range(2)]

    first, again = in_guard(granted, tools, store=SQLiteStore(path), log=log)
    assert (first.status, first.value, again.value, again.replayed) == ("ok", "deployed web", "deployed web", True)
    assert tools.ran == [("deploy", {"target": "web"})]
    with open_log(log) as entries:
        assert [record.status for record in entries.records()] == ["ok"]


def test_a_denied_approval_denies_the_submission(tmp_path: Path) -> None:
    tools, path = Tools(), tmp_path / "gate.db"

    async def work(guard: Guard) -> Outcome:
        waiting = await guard.submit("deploy", {"target": "web"})
        await Approvals(SQLiteStore(path)).deny(waiting.approvals[0], approver="alice", reason="no")
        return await guard.resume(waiting.record_id)

    assert in_guard(work, tools, store=SQLiteStore(path)).status == "denied"
    assert tools.ran == []


def test_a_resumed_submission_keeps_its_principal(tmp_path: Path) -> None:
    tools, store = Tools(), MemoryStore()

    async def work(guard: Guard) -> Outcome:
        cut = await guard.submit("pay", {"amount": 500}, principal=Principal("service", "till:1"))
        assert cut.status == "uncertain"
        return await guard.resume(cut.record_id)

    assert in_guard(work, tools, store=store, budget=SHORT).status == "ok"


@pytest.mark.parametrize("paid", [True, False])
def test_a_reconciler_decides_an_uncertain_outcome(paid: bool, tmp_path: Path) -> None:
    tools = Tools()

    async def work(guard: Guard) -> tuple[Outcome, Outcome]:
        cut = await guard.submit("pay", {"amount": 500}, key="order-1")
        if not paid:
            tools.paid.clear()
            tools.seconds = 0
        return cut, await guard.submit("pay", {"amount": 500}, key="order-1")

    cut, second = in_guard(work, tools, store=f"sqlite:///{tmp_path}/gate.db", budget=SHORT)
    assert (cut.status, second.status, second.value) == ("uncertain", "ok", "paid 500")
    assert len(tools.paid) == 1


def test_an_unsafe_action_that_may_have_run_needs_an_approval_to_run_again(tmp_path: Path) -> None:
    tools = Tools()

    async def work(guard: Guard) -> list[Outcome]:
        cut = await guard.submit("slow", {})
        return [cut, await guard.resume(cut.record_id)]

    cut, second = in_guard(work, tools, store=f"sqlite:///{tmp_path}/gate.db", budget=SHORT)
    assert (cut.status, second.status) == ("uncertain", "waiting")
    assert len(tools.ran) == 1


def test_a_value_without_a_json_form_comes_back_as_text() -> None:
    def now() -> object:
        return {1, 2}.__class__

    rules = {"rules": [{"match": {"tool": "now"}, "decision": "allow"}]}
    with Guard(type(policy()).compile(rules), [now]) as guard:
        assert guard.submit_sync("now", {}, key="k").value is set
        assert guard.submit_sync("now", {}, key="k").value == "<class 'set'>"


def test_the_memory_of_a_guard_without_a_store_does_not_grow() -> None:
    guard = Guard(policy(), Tools().toolset())
    with guard:
        for _ in range(50):
            guard.submit_sync("echo", {"text": "a"})
    store = guard._store
    assert isinstance(store, MemoryStore)
    assert store._runs == {}
    assert guard._busy == {}


class Broken(MemoryStore):
    """A store whose records cannot be read."""

    async def load(self, run_id: str) -> Any:
        raise OSError("no disk")


def test_a_store_that_cannot_be_read_fails_the_submission_and_leaves_a_record(tmp_path: Path) -> None:
    tools = Tools()

    async def work(guard: Guard) -> list[Outcome]:
        echo = ("echo", {"text": "a"})
        return [await guard.submit(*echo), await guard.submit(*echo, key="k"), await guard.resume("x")]

    found = in_guard(work, tools, store=Broken(), log=tmp_path / "log.db")
    assert [(each.status, each.code) for each in found] == [("failed", "store_failed")] * 3
    assert tools.ran == []
    with open_log(tmp_path / "log.db") as entries:
        assert [record.status for record in entries.records()] == ["failed"] * 2
