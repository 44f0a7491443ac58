"""`PostgresStore`: transactions, a server that goes away, and what it says when it cannot work."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from contextlib import aclosing
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from bobcat import PostgresStore, StoreError, StoreWarning
from bobcat.stores.postgres.schema import MIGRATIONS
from bobcat.stores.protocol import LeaseLost
from bobcat.testing import run_store_contract
from services import PostgresServer, Server
from stores.appender import entry
from stores.cutting_proxy import CuttingProxy


@pytest.fixture
def make(postgres_url: str, schema: str) -> Callable[..., PostgresStore]:
    return partial(PostgresStore, postgres_url, schema=schema, durability="warn")


async def kept(store: PostgresStore, run_id: str = "r") -> list[int]:
    records = await store.load(run_id)
    await store.aclose()
    return [record.seq for record in records]


def test_nothing_acknowledged_is_lost_when_the_server_is_killed(own_postgres: Server) -> None:
    report = asyncio.run(
        run_store_contract(
            partial(PostgresStore, own_postgres.url, schema="killed"),
            crash=lambda: asyncio.to_thread(own_postgres.crash),
            only=["a_crash_loses_nothing_acknowledged"],
        )
    )
    assert report.kept == ("a_crash_loses_nothing_acknowledged",)


def test_a_call_waits_for_a_server_that_is_restarted(own_postgres: Server) -> None:
    async def through_a_restart() -> list[int]:
        store = PostgresStore(own_postgres.url, schema="restarted")
        await store.append(entry("r", 0))
        lease = await store.acquire("r", owner="a", seconds=600)
        own_postgres.kill()
        waiting = asyncio.ensure_future(store.append_fenced(entry("r", 1), lease))
        await asyncio.sleep(0.3)
        assert not waiting.done()
        await asyncio.to_thread(own_postgres.start)
        await waiting
        return await kept(store)

    assert asyncio.run(through_a_restart()) == [0, 1]


def through(proxy: CuttingProxy, url: str) -> str:
    parts = urlsplit(url)
    user = f"{parts.username}@" if parts.username else ""
    return f"postgresql://{user}127.0.0.1:{proxy.port}{parts.path}?sslmode=disable&gssencmode=disable"


def test_a_write_whose_answer_was_lost_is_not_taken_for_anothers(postgres_url: str, schema: str) -> None:
    parts = urlsplit(postgres_url)
    if parts.hostname not in ("127.0.0.1", "localhost") or parts.password:
        pytest.skip("the proxy forwards to this machine, without a password")

    async def cut() -> tuple[list[int], int, int]:
        async with CuttingProxy(parts.port or 5432) as proxy:
            store = PostgresStore(through(proxy, postgres_url), schema=schema, durability="warn")
            lease = await store.acquire("r", owner="a", seconds=600)
            proxy.cut_next(b'INSERT INTO "' + schema.encode() + b'".records')
            await store.append(entry("r", 0))
            proxy.cut_next(b"kept AS (INSERT")
            await store.append_fenced(entry("r", 1), lease)
            proxy.cut_next(b"documents (kind")
            created = await store.put("k", "key", {"n": 1}, expected=0)
            proxy.cut_next(b"documents")
            changed = await store.put("k", "key", {"n": 2}, expected=1)
            assert (created.version, changed.version) == (1, 2)
            found = await store.get("k", "key")
            assert found is not None
            return await kept(store), found.version, proxy.cuts

    assert asyncio.run(cut()) == ([0, 1], 2, 4)


def test_a_tool_writes_in_the_transaction_of_its_result(
    make: Callable[..., PostgresStore], postgres_url: str, schema: str
) -> None:
    async def pay(*, fails: bool) -> None:
        store = make()
        lease = await store.acquire("r", owner="a", seconds=60)
        async with aclosing(store), store.transaction(lease) as transaction:
            connection: psycopg.AsyncConnection[Any] = transaction.connection
            await connection.execute(f'CREATE TABLE "{schema}".payments (amount int)'.encode())
            await connection.execute(f'INSERT INTO "{schema}".payments VALUES (5)'.encode())
            await transaction.append(entry("r", 0))
            if fails:
                raise RuntimeError("declined")

    def payments() -> list[Any]:
        with psycopg.connect(postgres_url) as connection:
            found = connection.execute("SELECT to_regclass(%s)", (f"{schema}.payments",)).fetchone()
            if found == (None,):
                return []
            return connection.execute(f'SELECT amount FROM "{schema}".payments'.encode()).fetchall()

    with pytest.raises(RuntimeError, match="declined"):
        asyncio.run(pay(fails=True))
    assert asyncio.run(kept(make())) == []
    assert payments() == []
    asyncio.run(pay(fails=False))
    assert asyncio.run(kept(make())) == [0]
    assert payments() == [(5,)]


def test_a_transaction_whose_run_was_taken_meanwhile_keeps_nothing(
    make: Callable[..., PostgresStore], postgres_url: str, schema: str
) -> None:
    async def overtaken() -> list[int]:
        store, other = make(), make()
        lease = await store.acquire("r", owner="a", seconds=0.3)

        async def too_long() -> None:
            async with store.transaction(lease) as transaction:
                await transaction.connection.execute(f'CREATE TABLE "{schema}".effect ()'.encode())
                await store.renew(lease, seconds=0.3)  # renewals go on during the transaction
                await asyncio.sleep(0.5)
                await asyncio.wait_for(other.acquire("r", owner="b", seconds=60), 30)

        with pytest.raises(LeaseLost):
            await too_long()
        await other.aclose()
        return await kept(store)

    assert asyncio.run(overtaken()) == []
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT to_regclass(%s)", (f"{schema}.effect",)).fetchone() == (None,)


def test_a_run_cannot_be_taken_between_the_record_of_a_transaction_and_its_commit(
    make: Callable[..., PostgresStore],
) -> None:
    async def overtaken() -> list[int]:
        store, other = make(), make()
        lease = await store.acquire("r", owner="a", seconds=60)
        async with store.transaction(lease) as transaction:
            await transaction.append(entry("r", 0))
            taking = asyncio.ensure_future(other.acquire("r", owner="a", seconds=60))
            await asyncio.sleep(0.3)
            assert not taking.done()
        assert (await taking).fence == 2
        await other.aclose()
        return await kept(store)

    assert asyncio.run(overtaken()) == [0]


def test_a_tools_own_error_comes_through_as_it_is(make: Callable[..., PostgresStore]) -> None:
    async def wrong() -> None:
        store = make()
        try:
            async with store.transaction(await store.acquire("r", owner="a", seconds=60)) as transaction:
                await transaction.connection.execute("SELECT nonsense")
        finally:
            await store.aclose()

    with pytest.raises(psycopg.errors.UndefinedColumn):
        asyncio.run(wrong())


def refused(store: PostgresStore, call: Callable[[PostgresStore], Any] | None = None) -> tuple[str, str]:
    async def ask() -> None:
        try:
            await (store.load("r") if call is None else call(store))
        finally:
            await store.aclose()

    with pytest.raises(StoreError) as caught:
        asyncio.run(ask())
    return caught.value.code, str(caught.value)


def test_a_server_that_does_not_answer_is_reported_at_once() -> None:
    code, text = refused(PostgresStore("postgresql://127.0.0.1:9/nothing?connect_timeout=5"))
    assert code == "unavailable"
    assert text.startswith("PostgreSQL: ")
    assert "127.0.0.1" in text


def test_a_database_that_is_not_there_is_reported_at_once(postgres_url: str) -> None:
    code, text = refused(PostgresStore(postgres_url.rpartition("/")[0] + "/bobcat_no_such_database"))
    assert code == "unavailable"
    assert '"bobcat_no_such_database" does not exist' in text


def test_a_later_schema_is_refused(make: Callable[..., PostgresStore], postgres_url: str, schema: str) -> None:
    assert asyncio.run(kept(make())) == []
    newer = len(MIGRATIONS) + 1
    with psycopg.connect(postgres_url) as connection:
        connection.execute(f'UPDATE "{schema}".schema_version SET version = {newer}'.encode())
    code, text = refused(make())
    assert code == "too_new"
    assert text == (
        f"the schema `{schema}` has schema {newer}, and this release of bobcat knows schemas up to {newer - 1}: "
        "upgrade bobcat"
    )


def test_stores_may_make_the_tables_at_the_same_moment(make: Callable[..., PostgresStore]) -> None:
    async def together() -> list[int]:
        stores = [make() for _ in range(6)]
        await asyncio.gather(*(store.append(entry("r", seq)) for seq, store in enumerate(stores)))
        for store in stores[1:]:
            await store.aclose()
        return await kept(stores[0])

    assert asyncio.run(together()) == list(range(6))


def test_a_server_that_does_not_write_through_is_refused_or_warned_about() -> None:
    from services import Unavailable, absent

    class Careless(PostgresServer):
        def command(self) -> list[str]:
            return [*super().command(), "-c", "fsync=off"]

    try:
        server = Careless()
    except Unavailable as reason:
        absent(str(reason))
    try:
        server.start()
        code, text = refused(PostgresStore(server.url))
        assert code == "not_durable"
        assert text == (
            "`fsync` is off on the PostgreSQL server, so a power cut loses or damages journals: set `fsync = on`, "
            'or pass `durability="warn"`'
        )
        with pytest.warns(StoreWarning, match="`fsync` is off"):
            assert asyncio.run(kept(PostgresStore(server.url, durability="warn"))) == []
    finally:
        server.close()


def test_a_store_serves_one_event_loop_after_the_other(make: Callable[..., PostgresStore]) -> None:
    store = make()

    async def append(seq: int) -> None:
        await store.append(entry("r", seq))

    asyncio.run(append(0))
    asyncio.run(append(1))
    assert asyncio.run(kept(store)) == [0, 1]


def test_an_event_loop_that_ends_in_the_middle_of_a_call_ends(make: Callable[..., PostgresStore]) -> None:
    store = make()

    async def abandon(pause: float) -> None:
        calls = [asyncio.ensure_future(store.append(entry("abandoned", seq))) for seq in range(5)]
        await asyncio.sleep(pause)
        assert calls

    for pause in range(20):
        asyncio.run(abandon(pause / 1000))
    asyncio.run(store.append(entry("r", 0)))
    assert asyncio.run(kept(store)) == [0]


def test_a_second_event_loop_at_the_same_time_is_refused(make: Callable[..., PostgresStore]) -> None:
    async def here_and_there() -> None:
        store = make()
        await store.append(entry("r", 0))
        try:
            await asyncio.to_thread(asyncio.run, store.append(entry("r", 1)))
        finally:
            await store.aclose()

    with pytest.raises(StoreError, match="serves one event loop at a time: create one for each") as caught:
        asyncio.run(here_and_there())
    assert caught.value.code == "other_loop"


def test_a_store_that_was_closed_says_so(make: Callable[..., PostgresStore]) -> None:
    async def late() -> None:
        store = make()
        await store.append(entry("r", 0))
        await store.aclose()
        await store.append(entry("r", 1))

    with pytest.raises(StoreError, match="was closed; create another store"):
        asyncio.run(late())


def test_a_schema_with_an_invalid_name_is_refused() -> None:
    with pytest.raises(StoreError, match='the name of a schema must consist of a-z, 0-9 and _, not `bob"cat`'):
        PostgresStore("postgresql://x", schema='bob"cat')


def test_a_missing_driver_is_named_with_what_installs_it() -> None:
    program = (
        "import sys; sys.modules['psycopg'] = None\n"
        "import bobcat\n"
        "try: bobcat.PostgresStore('postgresql://x')\n"
        "except ImportError as error: print(error)"
    )
    output = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert output.strip() == (
        "PostgresStore requires the 'psycopg' package. Install with: pip install 'bobcat[postgres]'"
    )
