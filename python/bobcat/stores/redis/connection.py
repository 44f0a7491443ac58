"""The connections of a Redis store: the server's durability is checked at first use, broken connections are retried."""

from __future__ import annotations

import asyncio
import hashlib
import warnings
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

import redis.exceptions as failures
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from bobcat.aio.tasks import wait_shielded
from bobcat.errors import StoreError, StoreWarning
from bobcat.stores.errors import too_new, unavailable
from bobcat.stores.redis.scripts import SCRIPTS
from bobcat.stores.server import Driver, ServerConnections
from bobcat.stores.traffic import Traffic

T = TypeVar("T")

Client: TypeAlias = Any
"""`redis.asyncio.Redis`. Any: the types of its methods change between its releases."""

SCHEMA = 3
"""The version of the keys' layout, as stored in the key `schema`."""

ATTEMPT = 10.0
"""Time limit of one attempt in seconds."""

_DIGESTS = {name: hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest() for name, text in SCRIPTS.items()}


class RedisConnection(ServerConnections[Client, failures.RedisError]):
    """The connections to the keys of one prefix, for one event loop at a time."""

    def __init__(
        self,
        url: str,
        prefix: str,
        *,
        pool_size: int,
        patience: float,
        durability: Literal["require", "warn"],
        replicas: int,
        traffic: Traffic,
    ) -> None:
        super().__init__(Driver("Redis", failures.RedisError, _is_transient, to_store_error), patience)
        self._url, self._prefix, self._pool_size = url, prefix, pool_size
        self._durability, self._replicas, self._traffic = durability, replicas, traffic
        self._client: Client | None = None

    async def call(self, command: str, *arguments: object) -> Any:  # Any: the answer to a command
        """Send a command that is safe to repeat."""
        answer = await self.do(lambda client: client.execute_command(command, *arguments))
        self._traffic.add(statements=1, commits=1)
        return answer

    async def run(
        self, script: str, keys: Sequence[str], *arguments: str, repeated: Sequence[str] | None = None
    ) -> Any:  # Any: the result of a script
        """Run a script; for a write, wait for the requested number of replicas. `repeated` are the arguments of another
        attempt, after the answer to the first one was lost.
        """
        given = iter((arguments,))

        async def work(client: Client) -> Any:  # Any: as above
            call = (_DIGESTS[script], len(keys), *keys, *next(given, arguments if repeated is None else repeated))
            try:
                return await self._replicated(client, "EVALSHA", *call)
            except failures.NoScriptError:  # the server is new, or was restarted
                return await self._replicated(client, "EVAL", SCRIPTS[script], *call[1:])

        answer = await self.do(work)
        self._traffic.add(statements=1, commits=1)
        return answer

    async def run_many(self, script: str, calls: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[Any]:
        """Run a script once for each `(keys, arguments)`, in one round trip. Any: the results of the script."""

        async def work(client: Client) -> list[Any]:
            async with client.pipeline(transaction=False) as pipeline:
                pipeline.script_load(SCRIPTS[script])
                for keys, arguments in calls:
                    pipeline.execute_command("EVALSHA", _DIGESTS[script], len(keys), *keys, *arguments)
                return list(await pipeline.execute())[1:]

        answers = await self.do(work)
        self._traffic.add(statements=len(calls), commits=1)
        return answers

    async def run_group(self, script: str, calls: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[Any]:
        """Run a script that writes as `run_many` does, without retries. Any: the results, or the errors of the server.

        Redis syncs once for all of them. With replicas, the end of the group waits for their number.
        """

        async def work(client: Client) -> list[Any]:
            async with client.pipeline(transaction=False) as pipeline:
                for keys, arguments in calls:
                    pipeline.execute_command("EVALSHA", _DIGESTS[script], len(keys), *keys, *arguments)
                if self._replicas:
                    pipeline.execute_command("WAIT", self._replicas, self._replication_milliseconds)
                answers = list(await pipeline.execute(raise_on_error=False))
            if self._replicas:
                self._check_replicated(answers.pop())
            return answers

        answers = await self.once(work)
        self._traffic.add(statements=len(calls), commits=1)
        return answers

    def for_renewals(self) -> RedisConnection:
        """One more connection to the same keys, for another event loop. It does not check the server again."""
        return _RenewalConnection(
            self._url,
            self._prefix,
            pool_size=1,
            patience=self._patience,
            durability=self._durability,
            replicas=self._replicas,
            traffic=self._traffic,
        )

    async def _attempt(self, work: Callable[[Client], Awaitable[T]]) -> T:
        # A sent request cannot be withdrawn: a caller that is cancelled meanwhile waits for its end.
        return await wait_shielded(work(self._client))

    async def _release(self) -> None:
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.aclose()

    async def _replicated(self, client: Client, *command: Any) -> Any:  # Any: of any script
        if not self._replicas:
            return await client.execute_command(*command)
        async with client.pipeline(transaction=False) as pipeline:
            pipeline.execute_command(*command)
            pipeline.execute_command("WAIT", self._replicas, self._replication_milliseconds)
            answer, reached = await pipeline.execute()
        self._check_replicated(reached)
        return answer

    @property
    def _replication_milliseconds(self) -> int:
        return int(self._patience * 1000 / 2) or 1

    def _check_replicated(self, reached: Any) -> None:  # Any: the answer to `WAIT`
        if not isinstance(reached, int) or reached < self._replicas:
            raise unavailable(f"Redis: the write reached {reached} of {self._replicas} replicas; it may still be lost")

    async def _open(self) -> None:
        self._client = self.connected()
        await self._check(self._client)

    def connected(self) -> Client:
        """A client for the server, with a pool of its own."""
        try:
            pool = BlockingConnectionPool.from_url(
                self._url,
                max_connections=self._pool_size,
                timeout=self._patience,
                socket_timeout=max(ATTEMPT, self._patience if self._replicas else 0),
                socket_connect_timeout=ATTEMPT,
                retry=Retry(NoBackoff(), 0),
            )
            pool.connection_kwargs["decode_responses"] = False  # the scripts return bytes
            pool.connection_class(**pool.connection_kwargs)  # an option in the URL that it does not support
        except (ValueError, TypeError) as error:
            raise StoreError("bad_url", f"Redis: {str(error).partition('() ')[2] or error}") from error
        return Redis.from_pool(pool)

    async def _check(self, client: Client) -> None:
        """Check the server's durability before the first write. Its errors are raised without retries."""
        replication = await client.info("replication")
        if (await client.info("cluster")).get("cluster_enabled"):
            raise StoreError("cluster", "Redis: a cluster distributes a run's keys; use a server without one")
        if replication.get("role") != "master":
            raise StoreError("read_only", "Redis: the server is a replica; give the address of its primary")
        risks = await self._risks(client)
        known = await client.set(f"{self._prefix}schema", str(SCHEMA), nx=True, get=True)
        if known is not None and int(known) > SCHEMA:
            raise too_new(f"the store under `{self._prefix}`", int(known), SCHEMA)
        if known is not None and int(known) < SCHEMA:  # the first append adds the fields of schema 2 to a run
            keys = (f"{self._prefix}run:", f"{self._prefix}runs", f"{self._prefix}store")
            await client.eval(SCRIPTS["index_runs"], len(keys), *keys, "")
            await client.set(f"{self._prefix}schema", str(SCHEMA))
        connected = int(replication.get("connected_slaves", 0))
        if connected < self._replicas:
            risks.append(f"it has {connected} replicas, and writes must reach {self._replicas}")
        if risks and self._durability == "require":
            raise StoreError(
                "not_durable",
                f"the Redis server can lose acknowledged writes: {'; '.join(risks)}. "
                'Change these settings, or pass `durability="warn"`',
            )
        for risk in risks:
            warnings.warn(f"the Redis server can lose acknowledged writes: {risk}", StoreWarning, stacklevel=2)
        if connected and not self._replicas:
            warnings.warn(
                f"the Redis server has {connected} replicas: after a failover, acknowledged writes can be missing; "
                "`replicas=1` waits for one",
                StoreWarning,
                stacklevel=2,
            )

    async def _risks(self, client: Client) -> list[str]:
        try:
            settings = {
                name: value
                for asked in ("appendonly", "appendfsync", "maxmemory", "maxmemory-policy")
                for name, value in (await client.config_get(asked)).items()
            }
        except failures.ResponseError:
            return ["its settings cannot be read (`CONFIG GET` is refused)"]
        found = {_text(name): _text(value) for name, value in settings.items()}
        risks = []
        if found.get("appendonly") != "yes":
            risks.append("`appendonly` is off, so a restart loses journals: set `appendonly yes`")
        elif found.get("appendfsync") != "always":
            risks.append(
                f"`appendfsync` is `{found.get('appendfsync')}`, so a power cut loses the latest writes: "
                "set `appendfsync always`"
            )
        policy = found.get("maxmemory-policy", "")
        if found.get("maxmemory") != "0" and policy.startswith("allkeys"):
            risks.append(f"`maxmemory-policy` is `{policy}`, so journals are dropped when it is full: set `noeviction`")
        return risks


class _RenewalConnection(RedisConnection):
    async def _open(self) -> None:
        self._client = self.connected()


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _is_transient(error: failures.RedisError) -> bool:
    if isinstance(error, (failures.AuthenticationError, failures.AuthorizationError)):
        return False
    return isinstance(error, (failures.ConnectionError, failures.TimeoutError))


def to_store_error(error: failures.RedisError) -> StoreError:
    """Convert a Redis error to a `StoreError`."""
    return unavailable(f"Redis: {str(error) or type(error).__name__}")
