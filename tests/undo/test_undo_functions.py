"""Tools with an undo of their own: snapshot, effect, undo as a decided action, and conflicts."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from bobcat import Guard, ToolSet, Undo, UndoError, compile_policy, tool
from undo.accounts import Accounts

ALL = compile_policy("""
rules:
  - {id: pay, match: {tool: pay, declared.scope.contains: undo}, decision: allow}
  - {id: undo, match: {tool: undo.apply, args.tool: pay, args.target: alice, args.force: false}, decision: allow}
  - {id: again, match: {tool: undo.apply, args.tool: undo.apply, args.target: alice}, decision: allow}
  - {id: list, match: {tool: undo.list}, decision: allow}
""")


@pytest.fixture
def accounts(tmp_path: Path) -> Accounts:
    found = Accounts(tmp_path / "accounts.json")
    found.set("alice", 100)
    found.set("bob", 100)
    return found


def run(place: str, accounts: Accounts, work: Callable[[Undo, Guard], Awaitable[Any]], **options: Any) -> Any:
    async def main() -> Any:
        async with Undo(place, **options) as undo:
            async with Guard(ALL, undo.protect(accounts.tools()).union(undo.tools())) as guard:
                return await work(undo, guard)

    return asyncio.run(main())


def test_a_payment_is_undone_by_a_decided_action_and_the_undo_too(place: str, accounts: Accounts) -> None:
    async def work(undo: Undo, guard: Guard) -> None:
        paid = await guard.submit("pay", {"account": "alice", "amount": 30})
        assert (paid.status, paid.value, accounts.balance("alice")) == ("ok", "paid 30", 70)
        (entry,) = (await guard.submit("undo.list", {})).value
        assert paid.opened == {"undo": entry["id"]}
        undone = await guard.submit("undo.apply", {"id": entry["id"], "tool": "pay", "target": "alice"})
        assert (undone.status, accounts.balance("alice")) == ("ok", 100)
        again = {"id": undone.value["id"], "tool": "undo.apply", "target": "alice"}
        assert (await guard.submit("undo.apply", again)).status == "ok"
        assert accounts.balance("alice") == 70
        states = [(each.tool, each.state, each.undoes is not None) for each in await undo.entries()]
        assert states == [("undo.apply", "done", True), ("undo.apply", "applied", True), ("pay", "applied", False)]

    run(place, accounts, work)


def test_policy_decides_by_tool_target_and_force_which_must_be_those_of_the_entry(
    place: str, accounts: Accounts
) -> None:
    async def work(undo: Undo, guard: Guard) -> None:
        await guard.submit("pay", {"account": "bob", "amount": 30})
        (entry,) = await undo.entries()
        for args in ({"target": "bob"}, {"target": "alice", "force": True}):
            denied = await guard.submit("undo.apply", {"id": entry.id, "tool": "pay", **args})
            assert denied.status == "denied"
        lied = await guard.submit("undo.apply", {"id": entry.id, "tool": "pay", "target": "alice"})
        assert lied.status == "failed"
        assert "has target `bob`, not `alice`" in (lied.error or "")
        assert accounts.balance("bob") == 70
        with pytest.raises(UndoError, match="has tool `pay`, not `other`"):
            await undo.apply(entry.id, tool="other")

    run(place, accounts, work)


def test_a_state_that_changed_since_is_a_conflict_unless_forced(place: str, accounts: Accounts) -> None:
    async def work(undo: Undo, guard: Guard) -> None:
        await guard.submit("pay", {"account": "alice", "amount": 30})
        (entry,) = await undo.entries()
        accounts.set("alice", 500)
        refused = await guard.submit("undo.apply", {"id": entry.id, "tool": "pay", "target": "alice"})
        assert "changed since" in (refused.error or "")
        assert accounts.balance("alice") == 500
        assert (await undo.get(entry.id)).state == "done"
        forced = await undo.apply(entry.id, force=True)
        assert accounts.balance("alice") == 100
        await undo.apply(forced.id)
        assert accounts.balance("alice") == 500

    run(place, accounts, work)


def test_an_entry_is_undone_once(place: str, accounts: Accounts) -> None:
    async def work(undo: Undo, guard: Guard) -> None:
        await guard.submit("pay", {"account": "alice", "amount": 30})
        (entry,) = await undo.entries()
        outcomes = await asyncio.gather(*(undo.apply(entry.id) for _ in range(5)), return_exceptions=True)
        assert [isinstance(each, UndoError) for each in outcomes].count(False) == 1
        assert accounts.calls.count("undo") == 1
        with pytest.raises(UndoError, match="undone already"):
            await undo.apply(entry.id)

    run(place, accounts, work)


def test_without_a_snapshot_there_is_no_effect(place: str, accounts: Accounts) -> None:
    async def too_large(undo: Undo, guard: Guard) -> None:
        outcome = await guard.submit("pay", {"account": "alice", "amount": 30})
        assert outcome.status == "failed"
        assert "more than 5 bytes" in (outcome.error or "")
        assert "pay" not in accounts.calls
        assert await undo.entries() == []

    run(place, accounts, too_large, max_bytes=5)

    async def store_gone(undo: Undo, guard: Guard) -> None:
        undo.close()
        assert (await guard.submit("pay", {"account": "alice", "amount": 30})).status == "failed"
        assert "pay" not in accounts.calls

    run(place, accounts, store_gone)


def test_a_state_that_is_not_json_is_no_snapshot(tmp_path: Path) -> None:
    ran = []

    @tool(scope=("x",))
    async def act() -> None:
        ran.append(1)

    @act.snapshot()
    async def read(args: Any) -> Any:
        return {1, 2}

    @act.undo
    async def write(state: Any, args: Any) -> None:
        ran.append(2)

    policy = compile_policy("rules: [{id: a, match: {declared.scope.contains: x}, decision: allow}]")

    async def main() -> None:
        undo = Undo(tmp_path / "undo.db")
        async with Guard(policy, undo.protect(ToolSet.from_functions(act))) as guard:
            assert "must be JSON" in ((await guard.submit("act", {})).error or "")

    asyncio.run(main())
    assert ran == []


def test_a_rule_can_demand_undo(tmp_path: Path, accounts: Accounts) -> None:
    async def main() -> None:
        async with Guard(ALL, accounts.tools()) as guard:
            assert (await guard.submit("pay", {"account": "alice", "amount": 1})).status == "denied"

    asyncio.run(main())


def test_a_failed_call_keeps_an_entry_where_it_may_have_had_an_effect(place: str, accounts: Accounts) -> None:
    async def work(undo: Undo, guard: Guard) -> None:
        accounts.fail_after = RuntimeError("lost connection")
        assert (await guard.submit("pay", {"account": "alice", "amount": 30})).status == "failed"
        (entry,) = await undo.entries()
        assert entry.state == "uncertain"
        with pytest.raises(UndoError, match="uncertain") as refused:
            await undo.apply(entry.id)
        assert refused.value.code == "conflict"
        await undo.apply(entry.id, force=True)
        assert accounts.balance("alice") == 100

    run(place, accounts, work)


def test_an_expired_entry_is_never_applied_and_goes(place: str, accounts: Accounts) -> None:
    async def work(undo: Undo, guard: Guard) -> None:
        await guard.submit("pay", {"account": "alice", "amount": 30})
        (entry,) = await undo.entries()
        await asyncio.sleep(0.6)
        with pytest.raises(UndoError, match="expired") as refused:
            await undo.apply(entry.id)
        assert refused.value.code == "expired"
        assert await undo.entries() == []
        assert await undo.prune() == 1
        with pytest.raises(UndoError, match="no undo entry"):
            await undo.apply(entry.id, force=True)
        assert accounts.balance("alice") == 70

    run(place, accounts, work, keep_seconds=0.5)


def test_snapshots_are_encrypted_with_a_key_and_bound_to_their_entry(tmp_path: Path, accounts: Accounts) -> None:
    place, key = str(tmp_path / "undo.db"), os.urandom(32)
    accounts.set("alice", 987654321)

    async def work(undo: Undo, guard: Guard) -> str:
        await guard.submit("pay", {"account": "alice", "amount": 1})
        return (await undo.entries())[0].id

    id = run(place, accounts, work, key=key)
    data = b"".join(path.read_bytes() for path in tmp_path.glob("undo.db*"))
    assert b"balance" not in data
    assert b"alice" in data

    async def apply(undo: Undo, guard: Guard) -> None:
        await undo.apply(id)

    for wrong in (None, os.urandom(32)):
        with pytest.raises(UndoError) as refused:
            run(place, accounts, apply, key=wrong)
        assert refused.value.code == "bad_key"
    run(place, accounts, apply, key=key.hex())
    assert accounts.balance("alice") == 987654321


def test_a_swapped_snapshot_is_refused(tmp_path: Path, accounts: Accounts) -> None:
    import sqlite3

    place, key = str(tmp_path / "undo.db"), os.urandom(32)

    async def work(undo: Undo, guard: Guard) -> list[str]:
        for account in ("alice", "bob"):
            await guard.submit("pay", {"account": account, "amount": 1})
        return [each.id for each in await undo.entries()]

    one, other = run(place, accounts, work, key=key)
    with sqlite3.connect(place) as connection:
        connection.execute(
            "UPDATE bobcat_undo_entries SET snapshot = "
            "(SELECT snapshot FROM bobcat_undo_entries WHERE id = ?) WHERE id = ?", (other, one)
        )  # fmt: skip
    connection.close()

    async def apply(undo: Undo, guard: Guard) -> None:
        await undo.apply(one)

    with pytest.raises(UndoError, match="cannot be decrypted"):
        run(place, accounts, apply, key=key)


def test_the_files_of_a_store_are_private(tmp_path: Path, accounts: Accounts) -> None:
    old = os.umask(0)
    try:

        async def work(undo: Undo, guard: Guard) -> None:
            await guard.submit("pay", {"account": "alice", "amount": 1})
            modes.update({path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("undo.db*")})  # noqa: ASYNC240

        modes: dict[str, int] = {}
        run(str(tmp_path / "undo.db"), accounts, work)
        assert modes == dict.fromkeys(("undo.db", "undo.db-wal", "undo.db-shm"), 0o600)
    finally:
        os.umask(old)


def test_what_cannot_be_protected_is_said_at_once(tmp_path: Path) -> None:
    undo = Undo(tmp_path / "undo.db")

    @tool
    async def plain() -> None: ...

    with pytest.raises(ValueError, match="none of the tools can be undone"):
        undo.protect(ToolSet.from_functions(plain))

    @tool
    async def half() -> None: ...

    @half.snapshot()
    async def read(args: Any) -> Any: ...

    with pytest.raises(ValueError, match="needs both"):
        undo.protect(ToolSet.from_functions(half))

    @tool(effect="transactional")
    async def inside(transaction: Any) -> None: ...

    @inside.snapshot()
    async def read_inside(args: Any) -> Any: ...

    @inside.undo
    async def write_inside(state: Any, args: Any) -> None: ...

    with pytest.raises(ValueError, match="transactional"):
        undo.protect(ToolSet.from_functions(inside))
    with pytest.raises(ValueError, match="lacks 'nothing'"):
        half.snapshot(target="nothing")(read)
    with pytest.raises(TypeError, match="a path, a URL"):
        Undo(5)  # type: ignore[arg-type]
    with pytest.raises(UndoError, match="names no undo store"):
        Undo("redis://localhost")
    with pytest.raises(UndoError, match="no undo store at"):
        Undo(tmp_path / "missing.db", must_exist=True)
    with pytest.raises(ValueError, match="must have 32 bytes"):
        Undo(tmp_path / "undo.db", key=b"short")


def test_an_open_run_store_names_the_place(tmp_path: Path, database: str, accounts: Accounts) -> None:
    from bobcat import PostgresStore, SQLiteStore

    async def main() -> None:
        for store in (SQLiteStore(tmp_path / "runs.db"), PostgresStore(database)):
            async with Undo(store) as undo, Guard(ALL, undo.protect(accounts.tools()), store=store) as guard:
                assert (await guard.submit("pay", {"account": "alice", "amount": 1})).status == "ok"
                assert len(await undo.entries()) == 1
            await store.aclose()

    asyncio.run(main())
    assert (tmp_path / "runs.db-undo").exists()
