"""Every shipped store keeps the whole contract."""

from __future__ import annotations

import asyncio
import fcntl
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bobcat import FileStore, MemoryStore, PostgresStore, RedisStore, SQLiteStore
from bobcat.stores.protocol import DurableStore, TransactionalStore
from bobcat.testing import run_store_contract

TRANSACTIONS = {"a_transaction_is_all_or_nothing", "a_cancelled_transaction_leaves_nothing"}
SHARING = {"another_store_object_sees_it", "closing_keeps_everything"}
BATCHES = {
    "a_group_is_appended_whole",
    "a_group_that_does_not_fit_appends_nothing",
    "a_group_beyond_the_end_is_the_proof_of_a_loss",
    "a_group_needs_the_lease",
    "an_end_releases_the_run",
    "a_run_is_acquired_and_read_at_once",
    "the_last_records_and_the_end_are_one",
    "groups_of_concurrent_runs_do_not_mix",
}
CRASH = {"a_crash_loses_nothing_acknowledged"}


def skipped_by(make: Any, **options: Any) -> set[str]:
    report = asyncio.run(run_store_contract(make, **options))
    assert len(report.kept) + len(report.skipped) == 74
    return {clause for clause, _ in report.skipped}


def test_memory_store_keeps_what_a_store_without_a_storage_can() -> None:
    assert skipped_by(MemoryStore, shared=False) == TRANSACTIONS | SHARING | CRASH | BATCHES


def test_sqlite_store_keeps_the_contract(tmp_path: Path) -> None:
    assert skipped_by(lambda: SQLiteStore(tmp_path / "runs.db")) == CRASH


def test_file_store_keeps_the_contract(tmp_path: Path) -> None:
    store_directory = tmp_path / "journals"

    def tear_last_lines() -> None:
        """The remains of a power cut: a part of an unacknowledged line."""
        for path in store_directory.glob("runs/*.jsonl"):
            with path.open("ab") as journal:
                fcntl.flock(journal, fcntl.LOCK_EX)
                journal.write(b'{"body":{"step":7,"te')

    skipped = skipped_by(lambda: FileStore(store_directory), crash=tear_last_lines)
    assert skipped == TRANSACTIONS | BATCHES


def test_postgres_store_keeps_the_contract(postgres_url: str, schema: str) -> None:
    make = partial(PostgresStore, postgres_url, schema=schema, durability="warn")
    assert skipped_by(make) == CRASH


@pytest.mark.filterwarnings("ignore::bobcat.StoreWarning")
def test_redis_store_keeps_the_contract(redis_url: str, prefix: str) -> None:
    make = partial(RedisStore, redis_url, prefix=prefix, durability="warn")
    assert skipped_by(make) == TRANSACTIONS | CRASH


class TwoMethods:
    """A user's store of two methods."""

    def __init__(self) -> None:
        self._memory = MemoryStore()

    async def append(self, record: Any) -> None:
        await self._memory.append(record)

    async def load(self, run_id: str) -> Any:
        return await self._memory.load(run_id)


def test_a_store_of_two_methods_owes_the_clauses_of_a_journal() -> None:
    report = asyncio.run(run_store_contract(TwoMethods, shared=False))
    assert len(report.kept) == 15
    reasons = {reason for clause, reason in report.skipped if clause == "a_lease_ends"}
    assert reasons == {
        "the store is no DurableStore: it has no acquire, renew, release, append_fenced, load_from, set_status, runs, "
        "run, get, put, scan, now, aclose"
    }


def test_the_shipped_stores_are_durable_and_those_with_transactions_say_so(tmp_path: Path) -> None:
    assert isinstance(MemoryStore(), DurableStore)
    assert not isinstance(MemoryStore(), TransactionalStore)
    assert isinstance(SQLiteStore(tmp_path / "runs.db"), TransactionalStore)
