"""A storage restored from a backup is recognised; its open runs repeat nothing without an approval."""

# ruff: noqa: ASYNC240 - files are moved under a store that is at work
from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

import pytest

from bobcat import ApprovalDecision, FileStore, MemoryStore, PostgresStore, RedisStore, SQLiteStore, StoreError
from bobcat.runtime.loop import run_agent
from bobcat.stores.protocol import batching
from kernel.crashing_process import POLICY, Bank, CrashingStore, Died, Payer, attempt, tools
from services import Server


def copy_of(path: Path, to: Path) -> None:
    """A backup of a SQLite file, as its manual says."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("VACUUM INTO ?", (str(to),))


async def die(store: Any, bank: Bank, writes: int, effect: str = "unsafe", *, reconciled: bool = False) -> None:
    """Die before the first payment. A store that takes batches makes half the writes up to there."""
    found = tools(bank, effect, reconciled=reconciled, run_id="r")
    at = writes if batching(store) is None else writes // 2
    with pytest.raises(Died):
        await attempt(CrashingStore(store, at, after=True), "r", found)


async def go_on(store: Any, bank: Bank, effect: str = "unsafe", *, reconciled: bool = False, **options: Any) -> Any:
    found = tools(bank, effect, reconciled=reconciled, run_id="r")
    return await run_agent(
        Payer(), "pay", tools=found, policy=POLICY, store=store, run_id="r", owner="worker", **options
    )


def make(kind: str, path: Path) -> Any:
    return SQLiteStore(path / "runs.db") if kind == "sqlite" else FileStore(path / "journals")


def back_up(kind: str, path: Path) -> None:
    if kind == "sqlite":
        copy_of(path / "runs.db", path / "backup.db")
    else:
        shutil.copytree(path / "journals", path / "backup")


def restore(kind: str, path: Path, how: str) -> None:
    """Put the backup in the place of what came after it."""
    if kind == "file":
        shutil.rmtree(path / "journals")
        shutil.copytree(path / "backup", path / "journals")
        return
    for ending in ("-wal", "-shm", *(["", "-epoch"] if how == "elsewhere" else [])):
        (path / f"runs.db{ending}").unlink(missing_ok=True)
    if how == "moved there":
        shutil.copy(path / "backup.db", path / "copy.db")
        (path / "copy.db").replace(path / "runs.db")
    else:  # over the bytes of the file, or in its absence
        shutil.copyfile(path / "backup.db", path / "runs.db")


CASES = [("sqlite", "moved there"), ("sqlite", "in place"), ("sqlite", "elsewhere"), ("file", "")]


@pytest.mark.parametrize("kind, how", CASES)
@pytest.mark.parametrize("writes", [2, 4])
def test_after_a_restore_an_unsafe_action_that_may_be_lost_waits_for_an_approval(
    kind: str, how: str, writes: int, tmp_path: Path
) -> None:
    """The backup is from before the first payment; the payments made since are in no journal any more."""
    bank = Bank(once=False)

    async def main() -> Any:
        async with aclosing(make(kind, tmp_path)) as store:
            await die(store, bank, writes)
        back_up(kind, tmp_path)
        async with aclosing(make(kind, tmp_path)) as store:
            assert (await go_on(store, bank)).error is None
        paid = list(bank.paid)
        assert [amount for _, amount in paid] == [10, 20, 30]
        restore(kind, tmp_path, how)
        async with aclosing(make(kind, tmp_path)) as store:
            run = await store.run("r")
            assert run.restored
            assert await store.epoch() == 2
            assert await store.restored_at() is not None
            result = await go_on(store, bank)
            assert bank.paid == paid
            return result, await store.load("r")

    result, records = asyncio.run(main())
    assert result.error is None
    reported = [record.body["message"] for record in records if record.kind == "action.result"]
    assert len(reported) == 3
    assert all("may have taken effect" in each for each in reported)
    begun = [record for record in records if record.kind in ("run.started", "run.resumed")]
    assert begun[-1].body["restored"] is True


@pytest.mark.parametrize("kind, how", CASES)
def test_a_run_that_was_queued_in_the_backup_repeats_nothing_unasked(kind: str, how: str, tmp_path: Path) -> None:
    bank = Bank(once=False)

    async def main() -> None:
        async with aclosing(make(kind, tmp_path)) as store:
            await store.set_status("r", "queued")
        back_up(kind, tmp_path)
        async with aclosing(make(kind, tmp_path)) as store:
            await go_on(store, bank)
        restore(kind, tmp_path, how)
        async with aclosing(make(kind, tmp_path)) as store:
            await go_on(store, bank)

    asyncio.run(main())
    assert len(bank.paid) == 3


def test_a_person_may_grant_a_lost_action_anew(tmp_path: Path) -> None:
    bank, asked = Bank(once=False), []

    async def grant(request: Any) -> ApprovalDecision:
        asked.append(request)
        return ApprovalDecision(True, "alice")

    async def main() -> None:
        store = MemoryStore()
        await die(store, bank, 4)
        await store.mark_restored()
        await go_on(store, bank, on_approval=grant)

    asyncio.run(main())
    assert [amount for _, amount in bank.paid] == [10, 20, 30]
    assert len(asked) == 3


@pytest.mark.parametrize("effect, reconciled", [("keyed", False), ("idempotent", False), ("unsafe", True)])
def test_effects_that_bear_a_repetition_go_on_after_a_restore(effect: str, reconciled: bool) -> None:
    bank = Bank(once=effect != "unsafe")

    async def main() -> Any:
        store = MemoryStore()
        await die(store, bank, 4, effect, reconciled=reconciled)
        for key, amount in (("lost", 10), ("lost", 20)) if reconciled else ():
            bank.paid.append((key, amount))
        await store.mark_restored()
        return await go_on(store, bank, effect, reconciled=reconciled)

    assert asyncio.run(main()).error is None
    assert sorted(amount for _, amount in bank.paid) == [10, 20, 30]


def test_a_file_that_was_not_restored_stays_in_its_epoch(tmp_path: Path) -> None:
    """Opened again, moved with what lies beside it, written by many: no outcome is uncertain because of that."""

    async def main(path: Path) -> tuple[int, bool]:
        async with aclosing(SQLiteStore(path / "runs.db")) as store, aclosing(SQLiteStore(path / "runs.db")) as other:
            await asyncio.gather(*(each.set_status("r", "queued") for each in (store, other) for _ in range(20)))
            return await store.epoch(), (await other.run("r")).restored  # type: ignore[union-attr]

    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    for _ in range(3):
        assert asyncio.run(main(old)) == (1, False)
    old.rename(new)
    assert asyncio.run(main(new)) == (1, False)


def test_a_directory_that_was_not_restored_stays_in_its_epoch(tmp_path: Path) -> None:
    async def main(path: Path) -> tuple[int, bool]:
        async with aclosing(FileStore(path)) as store:
            await store.set_status("r", "queued")
            return await store.epoch(), (await store.run("r")).restored  # type: ignore[union-attr]

    old, new = tmp_path / "old", tmp_path / "new"
    for _ in range(2):
        assert asyncio.run(main(old)) == (1, False)
    old.rename(new)
    assert asyncio.run(main(new)) == (1, False)


@pytest.mark.parametrize("kind", ["sqlite", "file"])
@pytest.mark.parametrize("then", ["nothing", "a backup"])
def test_a_worker_whose_storage_was_moved_away_stops_with_an_error(kind: str, then: str, tmp_path: Path) -> None:
    bank = Bank(once=False)
    name = "runs.db" if kind == "sqlite" else "journals"

    async def main() -> Any:
        async with aclosing(make(kind, tmp_path)) as store:
            await store.set_status("r", "queued")
            back_up(kind, tmp_path)

            class Moving(Payer):
                identity = "Payer"

                async def step(self, conversation: Any) -> Any:
                    if len(bank.paid) == 1:
                        for path in tmp_path.glob(f"{name}*"):
                            path.rename(path.with_name(f"away-{path.name}"))
                        if then == "a backup":
                            restore(kind, tmp_path, "elsewhere") if kind == "sqlite" else shutil.copytree(
                                tmp_path / "backup", tmp_path / "journals"
                            )
                    return await super().step(conversation)

            found = tools(bank, "unsafe", reconciled=False, run_id="r")
            result = await run_agent(Moving(), "pay", tools=found, policy=POLICY, store=store, run_id="r")
            with pytest.raises(StoreError) as caught:
                await store.runs()
            assert caught.value.code == "moved"
            return result

    result = asyncio.run(main())
    assert "is no longer the storage that was opened" in str(result.error)
    assert len(bank.paid) == 1


def test_a_worker_under_which_records_are_lost_begins_the_next_epoch(tmp_path: Path) -> None:
    """The database goes back under a live worker, by its own means: what it writes next does not follow."""
    path = tmp_path / "runs.db"
    bank = Bank(once=False)

    async def main() -> Any:
        async with aclosing(SQLiteStore(path)) as store:

            class Restoring(Payer):
                identity = "Payer"

                async def step(self, conversation: Any) -> Any:
                    if len(bank.paid) == 1:
                        with closing(sqlite3.connect(path)) as connection, connection:
                            connection.execute("DELETE FROM bobcat_records WHERE seq > 1")
                            connection.execute("UPDATE bobcat_runs SET records = 2, last = 1, head = NULL")
                    return await super().step(conversation)

            found = tools(bank, "unsafe", reconciled=False, run_id="r")
            lost = await run_agent(Restoring(), "pay", tools=found, policy=POLICY, store=store, run_id="r")
            assert await store.epoch() == 2
            again = await go_on(store, bank)
            return lost, again

    lost, again = asyncio.run(main())
    assert lost.status == "superseded"
    assert again.error is None
    assert len(bank.paid) == 1


@pytest.mark.filterwarnings("ignore::bobcat.StoreWarning")
def test_a_redis_that_lost_its_last_writes_begins_the_next_epoch(redis_url: str, prefix: str) -> None:
    import redis

    bank = Bank(once=False)

    async def main() -> Any:
        async with aclosing(RedisStore(redis_url, prefix=prefix, durability="warn")) as store:

            class Losing(Payer):
                identity = "Payer"

                async def step(self, conversation: Any) -> Any:
                    if len(bank.paid) == 1:
                        with redis.Redis.from_url(redis_url) as client:
                            for position in range(2, 20):
                                client.hdel(f"{prefix}records:r", str(position))
                                client.zrem(f"{prefix}seqs:r", str(position))
                            client.hset(f"{prefix}run:r", mapping={"records": 2, "last": 1})
                            client.hdel(f"{prefix}run:r", "head")
                    return await super().step(conversation)

            found = tools(bank, "unsafe", reconciled=False, run_id="r")
            lost = await run_agent(Losing(), "pay", tools=found, policy=POLICY, store=store, run_id="r")
            return lost, await store.epoch(), await go_on(store, bank)

    lost, epoch, again = asyncio.run(main())
    assert (lost.status, epoch, again.error) == ("superseded", 2, None)
    assert len(bank.paid) == 1


@pytest.mark.filterwarnings("ignore::bobcat.StoreWarning")
def test_a_redis_that_lost_a_lease_begins_the_next_epoch(redis_url: str, prefix: str) -> None:
    """The lost part begins before the run was taken: its fence is lower than the one that was given."""
    import redis

    bank = Bank(once=False)

    async def main() -> Any:
        async with aclosing(RedisStore(redis_url, prefix=prefix, durability="warn")) as store:
            await store.set_status("r", "queued")

            class Losing(Payer):
                identity = "Payer"

                async def step(self, conversation: Any) -> Any:
                    if len(bank.paid) == 1:
                        with redis.Redis.from_url(redis_url) as client:
                            client.delete(f"{prefix}records:r", f"{prefix}seqs:r")
                            client.hset(f"{prefix}run:r", mapping={"fence": 0, "status": "queued"})
                            client.hdel(f"{prefix}run:r", "owner", "records", "last", "head")
                    return await super().step(conversation)

            found = tools(bank, "unsafe", reconciled=False, run_id="r")
            lost = await run_agent(Losing(), "pay", tools=found, policy=POLICY, store=store, run_id="r")
            return lost, await store.epoch(), await go_on(store, bank)

    lost, epoch, again = asyncio.run(main())
    assert (lost.status, epoch, again.error) == ("superseded", 2, None)
    assert len(bank.paid) == 1


def test_a_postgres_database_that_is_a_copy_begins_the_next_epoch(own_postgres: Server) -> None:
    """A dump that is restored, in another database or in the same one, has other object identifiers."""
    import psycopg

    bank = Bank(once=False)

    def sql(text: str) -> None:
        with psycopg.connect(own_postgres.url, autocommit=True) as connection:
            connection.execute(text.encode())

    def url(name: str) -> str:
        return own_postgres.url.replace("/postgres", f"/{name}")

    async def main() -> Any:
        async with aclosing(PostgresStore(url("first"), durability="warn")) as store:
            await die(store, bank, 4)
        sql("CREATE DATABASE backup TEMPLATE first")
        async with aclosing(PostgresStore(url("first"), durability="warn")) as store:
            assert await store.epoch() == 1
            assert (await go_on(store, bank)).error is None
        sql("DROP DATABASE first")
        sql("ALTER DATABASE backup RENAME TO first")
        async with aclosing(PostgresStore(url("first"), durability="warn")) as store:
            return await go_on(store, bank), await store.epoch()

    sql("CREATE DATABASE first")
    try:
        result, epoch = asyncio.run(main())
    finally:
        sql("DROP DATABASE first")
    assert (result.error, epoch) == (None, 2)
    assert len(bank.paid) == 3


def test_a_postgres_server_that_went_back_under_a_worker_begins_the_next_epoch(own_postgres: Server) -> None:
    """Its data directory is that of an hour ago: same cluster, same timeline, but a position in the log before ours."""
    bank = Bank(once=False)
    data = own_postgres.directory / "data"
    backup = own_postgres.directory / "backup"
    schema = "went_back"

    async def main() -> Any:
        async with aclosing(PostgresStore(own_postgres.url, schema=schema)) as store:
            await die(store, bank, 4)
        own_postgres.stop()
        shutil.copytree(data, backup, copy_function=shutil.copy2)
        own_postgres.start()
        async with aclosing(PostgresStore(own_postgres.url, schema=schema)) as store:
            assert (await go_on(store, bank)).error is None
            paid = list(bank.paid)
            own_postgres.stop()
            _replace(data, backup, own_postgres)
            own_postgres.start()
            result = await go_on(store, bank)
            assert bank.paid == paid
            return result, await store.epoch()

    result, epoch = asyncio.run(main())
    assert (result.error, epoch) == (None, 2)


def _replace(data: Path, backup: Path, server: Server) -> None:
    shutil.rmtree(data)
    backup.rename(data)
    for path in (data, *data.rglob("*")):
        shutil.chown(path, server._user, server._user) if server._user else None
