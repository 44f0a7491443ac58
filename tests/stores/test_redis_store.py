"""`RedisStore`: what a server must be set to, a server that goes away, and what the store says when it cannot work."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from functools import partial
from typing import Any

import pytest
import redis

from bobcat import RedisStore, StoreError, StoreWarning
from bobcat.stores.redis.connection import SCHEMA
from bobcat.testing import run_store_contract
from services import RedisServer, Server, Unavailable, absent
from stores.appender import entry
from stores.cutting_proxy import CuttingProxy


@pytest.fixture
def make(own_redis: Server, request: pytest.FixtureRequest) -> Callable[..., RedisStore]:
    return partial(RedisStore, own_redis.url, prefix=f"{request.node.name}:")


async def kept(store: RedisStore, run_id: str = "r") -> list[int]:
    async with aclosing(store):
        return [record.seq for record in await store.load(run_id)]


@contextmanager
def server_with(*settings: str) -> Iterator[Server]:
    try:
        server = RedisServer(*settings)
        server.start()
    except Unavailable as reason:
        absent(str(reason))
    try:
        yield server
    finally:
        server.close()


def test_nothing_acknowledged_is_lost_when_the_server_is_killed(own_redis: Server) -> None:
    report = asyncio.run(
        run_store_contract(
            partial(RedisStore, own_redis.url, prefix="killed:"),
            crash=lambda: asyncio.to_thread(own_redis.crash),
            only=["a_crash_loses_nothing_acknowledged"],
        )
    )
    assert report.kept == ("a_crash_loses_nothing_acknowledged",)


def test_a_call_waits_for_a_server_that_is_restarted(own_redis: Server, make: Callable[..., RedisStore]) -> None:
    async def through_a_restart() -> list[int]:
        store = make()
        await store.append(entry("r", 0))
        lease = await store.acquire("r", owner="a", seconds=600)
        own_redis.kill()
        waiting = asyncio.ensure_future(store.append_fenced(entry("r", 1), lease))
        await asyncio.sleep(0.3)
        assert not waiting.done()
        await asyncio.to_thread(own_redis.start)
        await waiting
        return await kept(store)

    assert asyncio.run(through_a_restart()) == [0, 1]


def test_a_write_whose_answer_was_lost_is_not_taken_for_anothers(own_redis: Server) -> None:
    async def cut() -> tuple[list[int], int, int]:
        async with CuttingProxy(own_redis.port) as proxy:
            store = RedisStore(f"redis://127.0.0.1:{proxy.port}/0", prefix="cut:")
            lease = await store.acquire("r", owner="a", seconds=600)
            await store.append(entry("r", 9))
            await store.put("k", "other", {}, expected=0)  # the server knows the scripts now
            proxy.cut_next(b"cut:records:r")
            await store.append(entry("r", 0))
            proxy.cut_next(b"cut:records:r")
            await store.append_fenced(entry("r", 1), lease)
            proxy.cut_next(b"cut:documents:k")
            created = await store.put("k", "key", {"n": 1}, expected=0)
            proxy.cut_next(b"cut:documents:k")
            changed = await store.put("k", "key", {"n": 2}, expected=1)
            assert (created.version, changed.version) == (1, 2)
            found = await store.get("k", "key")
            assert found is not None
            return await kept(store), found.version, proxy.cuts

    assert asyncio.run(cut()) == ([0, 1, 9], 2, 4)


def refused(store: RedisStore) -> tuple[str, str]:
    async def ask() -> None:
        async with aclosing(store):
            await store.load("r")

    with pytest.raises(StoreError) as caught:
        asyncio.run(ask())
    return caught.value.code, str(caught.value)


ADVICE = '. Change these settings, or pass `durability="warn"`'


@pytest.mark.parametrize(
    "settings, lack",
    [
        (
            ["--appendonly", "no"],
            "`appendonly` is off, so a restart loses journals: set `appendonly yes`",
        ),
        (
            ["--appendonly", "yes", "--appendfsync", "everysec"],
            "`appendfsync` is `everysec`, so a power cut loses the latest writes: set `appendfsync always`",
        ),
        (
            "--appendonly yes --appendfsync always --maxmemory 100mb --maxmemory-policy allkeys-lru".split(),
            "`maxmemory-policy` is `allkeys-lru`, so journals are dropped when it is full: set `noeviction`",
        ),
        (
            ["--appendonly", "yes", "--appendfsync", "always", "--rename-command", "CONFIG", ""],
            "its settings cannot be read (`CONFIG GET` is refused)",
        ),
    ],
    ids=["appendonly", "appendfsync", "maxmemory-policy", "no CONFIG"],
)
def test_a_server_that_can_lose_what_it_acknowledged_is_refused_or_warned_about(settings: list[str], lack: str) -> None:
    with server_with(*settings) as server:
        text = f"the Redis server can lose acknowledged writes: {lack}"
        assert refused(RedisStore(server.url)) == ("not_durable", text + ADVICE)
        with pytest.warns(StoreWarning) as warned:
            assert asyncio.run(kept(RedisStore(server.url, durability="warn"))) == []
        assert [str(each.message) for each in warned] == [text]


def test_a_policy_that_evicts_nothing_of_ours_and_memory_without_a_limit_are_fine() -> None:
    always = ["--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy"]
    for settings in ([*always, "allkeys-lru"], [*always, "volatile-lru", "--maxmemory", "100mb"]):
        with server_with(*settings) as server:
            assert asyncio.run(kept(RedisStore(server.url))) == []


def test_replicas_are_stated_waited_for_and_never_written_to(own_redis: Server) -> None:
    primary = str(own_redis.port)
    prefix = "replicated:"
    assert refused(RedisStore(own_redis.url, replicas=1)) == (
        "not_durable",
        "the Redis server can lose acknowledged writes: it has 0 replicas, and writes must reach 1" + ADVICE,
    )
    with server_with("--replicaof", "127.0.0.1", primary) as replica:
        with redis.Redis.from_url(own_redis.url) as client:
            for _ in range(600):
                if client.info("replication")["connected_slaves"] and client.wait(1, 1000):  # type: ignore[index]
                    break
        assert refused(RedisStore(replica.url))[0] == "read_only"
        with pytest.warns(StoreWarning, match="has 1 replicas: after a failover"):
            asyncio.run(kept(RedisStore(own_redis.url, prefix=prefix)))

        async def write() -> str:
            async with aclosing(RedisStore(own_redis.url, prefix=prefix, replicas=1, patience=2.0)) as store:
                await store.append(entry("r", 0))
                with redis.Redis.from_url(replica.url) as there:
                    assert there.hexists(f"{prefix}records:r", "0")
                await asyncio.to_thread(replica.stop)
                try:
                    await store.append(entry("r", 1))
                except StoreError as error:
                    return str(error)
            return ""

        assert asyncio.run(write()) == "Redis: the write reached 0 of 1 replicas; it may still be lost"


def test_a_server_that_does_not_answer_is_reported_at_once() -> None:
    code, text = refused(RedisStore("redis://127.0.0.1:9/0"))
    assert code == "unavailable"
    assert text.startswith("Redis: ")


def test_a_wrong_password_is_reported_at_once() -> None:
    with server_with("--appendonly", "yes", "--appendfsync", "always") as server:
        with redis.Redis.from_url(server.url) as client:
            client.config_set("requirepass", "secret")
        code, text = refused(RedisStore(server.url))
        assert code == "unavailable"
        assert "authenticat" in text.lower()
        right = RedisStore(server.url.replace("redis://", "redis://:secret@"))
        assert asyncio.run(kept(right)) == []


def test_an_invalid_url_is_refused() -> None:
    code, text = refused(RedisStore("http://127.0.0.1"))
    assert code == "bad_url"
    assert "redis://" in text


def test_a_later_layout_is_refused(own_redis: Server) -> None:
    with redis.Redis.from_url(own_redis.url) as client:
        client.set("later:schema", str(SCHEMA + 1))
    assert refused(RedisStore(own_redis.url, prefix="later:")) == (
        "too_new",
        f"the store under `later:` has schema {SCHEMA + 1}, and this release of bobcat knows schemas up to {SCHEMA}: "
        "upgrade bobcat",
    )


def test_a_store_serves_one_event_loop_after_the_other(make: Callable[..., RedisStore]) -> None:
    store = make()

    async def append(seq: int) -> None:
        await store.append(entry("r", seq))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # redis-py's, of connections whose loop has ended
        asyncio.run(append(0))
        asyncio.run(append(1))
        assert asyncio.run(kept(store)) == [0, 1]
        gc.collect()


def test_a_second_event_loop_at_the_same_time_is_refused(make: Callable[..., RedisStore]) -> None:
    async def here_and_there() -> Any:
        async with aclosing(make()) as store:
            await store.append(entry("r", 0))
            await asyncio.to_thread(asyncio.run, store.append(entry("r", 1)))

    with pytest.raises(StoreError, match="serves one event loop at a time: create one for each"):
        asyncio.run(here_and_there())


def test_a_store_that_was_closed_says_so(make: Callable[..., RedisStore]) -> None:
    async def late() -> None:
        store = make()
        await store.append(entry("r", 0))
        await store.aclose()
        await store.append(entry("r", 1))

    with pytest.raises(StoreError, match="was closed; create another store"):
        asyncio.run(late())


def test_a_missing_driver_is_named_with_what_installs_it() -> None:
    program = (
        "import sys; sys.modules['redis'] = None\n"
        "import bobcat\n"
        "try: bobcat.RedisStore('redis://x')\n"
        "except ImportError as error: print(error)"
    )
    output = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert output.strip() == "RedisStore requires the 'redis' package. Install with: pip install 'bobcat[redis]'"
