"""`RedisStore`: a `DurableStore` in a Redis server, for workers on many machines."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from bobcat.journal.records import StepRecord
from bobcat.stores.codec import (
    FENCE_JUMP,
    body_of,
    damaged_unless_readable,
    line_of,
    microseconds,
    moment_of,
    name_of,
    record_of_line,
    row_of,
    text_of,
)
from bobcat.stores.errors import JournalGap, duplicate_record, lease_lost, version_conflict, without_driver
from bobcat.stores.protocol import Entry, Lease, RunBusy, RunStatus, RunSummary, StatusConflict
from bobcat.stores.redis.scripts import TOKEN

if TYPE_CHECKING:
    from bobcat.stores.redis.connection import Client

PAGE = 1000
"""Number of records fetched in one request."""


class RedisStore:
    """Journals in Redis. Times are the server's. Appended records are as durable as the server's settings make them.

    The server's settings are checked before the first write: a server that can lose acknowledged writes (`appendonly`,
    `appendfsync`, `maxmemory-policy`) is refused, or with `durability="warn"` logged. `replicas` is the number of
    replicas that a write must reach before it is acknowledged. No cluster.

    `url` is a URL of redis-py: `redis://`, `rediss://`, `unix://`. Keys begin with `prefix`. At most `pool_size`
    connections are open. A call whose connection breaks is retried for `patience` seconds; it never takes effect twice.
    One event loop at a time.
    """

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "bobcat:",
        pool_size: int = 8,
        patience: float = 30.0,
        durability: Literal["require", "warn"] = "require",
        replicas: int = 0,
    ) -> None:
        try:
            from bobcat.stores.redis.connection import RedisConnection
        except ModuleNotFoundError as error:
            raise without_driver("RedisStore", "redis", "redis") from error
        self._prefix = name_of("prefix", prefix)
        self._connection = RedisConnection(
            url, prefix, pool_size=pool_size, patience=patience, durability=durability, replicas=replicas
        )

    async def append(self, record: StepRecord) -> None:
        """Store `record`, or raise `DuplicateRecord`."""
        await self._append(record, None)

    async def load(self, run_id: str) -> Sequence[StepRecord]:
        """Every record of a run, by `seq`."""
        return await self.load_from(run_id)

    async def acquire(self, run_id: str, *, owner: str, seconds: float) -> Lease:
        """Acquire the run with the next fence, or raise `RunBusy`."""
        name_of("run id", run_id), name_of("owner", owner)
        holder, expires, *fence = await self._connection.run(
            "acquire", self._run_keys(run_id), run_id, owner, str(int(seconds * 1e6))
        )
        if not fence:
            raise RunBusy(run_id, holder.decode(), moment_of(int(expires)))
        return Lease(run_id, owner, int(fence[0]), moment_of(int(expires)))

    async def renew(self, lease: Lease, *, seconds: float) -> Lease:
        """Extend the lease from now, or raise `LeaseLost`."""
        expires = await self._connection.run("renew", *self._leased(lease), str(int(seconds * 1e6)))
        if expires is None:
            raise lease_lost(lease, lease.run_id)
        return replace(lease, expires=moment_of(int(expires)))

    async def release(self, lease: Lease) -> None:
        """Release the run."""
        await self._connection.run("release", *self._leased(lease))

    async def append_fenced(self, record: StepRecord, lease: Lease) -> None:
        """`append` while the lease is held, atomically."""
        if record.run_id != lease.run_id:
            raise lease_lost(lease, record.run_id)
        await self._append(record, lease)

    async def _append(self, record: StepRecord, lease: Lease | None) -> None:
        row = row_of(record)
        keys = (*self._run_keys(row.run_id), self._key("records", row.run_id), self._key("seqs", row.run_id))
        under = ("", "") if lease is None else (str(lease.fence), lease.owner)
        outcome = await self._connection.run(
            "append", keys, row.run_id, str(row.seq), uuid.uuid4().hex, line_of(row), *under, row.head
        )
        if lease is not None and outcome.startswith(b"gap "):
            await self.mark_restored()
            raise lease_lost(lease, row.run_id) from JournalGap(row.run_id, row.seq, int(outcome[4:]))
        if outcome == b"taken":
            raise duplicate_record(row.run_id, row.seq)
        if outcome == b"lost":
            assert lease is not None
            raise lease_lost(lease, row.run_id)

    async def load_from(self, run_id: str, *, seq: int = 0, limit: int | None = None) -> Sequence[StepRecord]:
        """Records of a run from `seq` on, by `seq`."""
        records, index = self._key("records", name_of("run id", run_id)), self._key("seqs", run_id)

        async def work(client: Client) -> list[bytes]:
            positions = await client.zrangebyscore(index, seq, "+inf", 0, -1 if limit is None else limit)
            found: list[bytes] = []
            for start in range(0, len(positions), PAGE):
                found += await client.hmget(records, positions[start : start + PAGE])
            return found

        lines = await self._connection.do(work)
        with damaged_unless_readable(f"the journal of run `{run_id}`"):
            return tuple([record_of_line(line[TOKEN:]) for line in lines])

    async def set_status(
        self,
        run_id: str,
        status: RunStatus,
        *,
        detail: Mapping[str, Any] | None = None,
        lease: Lease | None = None,
        expected: Collection[RunStatus] | None = None,
    ) -> None:
        """Set the status of a run, or raise `StatusConflict`."""
        name_of("run id", run_id)
        if lease is not None and lease.run_id != run_id:
            raise lease_lost(lease, run_id)
        text = text_of("status", detail or {})
        under = ("", "") if lease is None else (str(lease.fence), lease.owner)
        expected_list = "" if expected is None else f",{','.join(expected)},"
        answer = await self._connection.run(
            "set_status", self._run_keys(run_id), run_id, status, text, *under, expected_list
        )
        if answer is None:
            assert lease is not None
            raise lease_lost(lease, run_id)
        if answer.startswith(b"not "):
            raise StatusConflict(run_id, answer[4:].decode())

    async def runs(
        self, *, status: RunStatus | None = None, limit: int = 100, after: RunSummary | None = None
    ) -> Sequence[RunSummary]:
        """Runs, most recently changed first."""
        mark = ("", "") if after is None else (str(microseconds(after.updated)), after.run_id)
        epoch, now = await self.epoch(), microseconds(await self.now())
        found = await self._connection.run(
            "runs", (f"{self._prefix}runs",), self._key("run", ""), self._key("records", ""), status or "",
            str(limit), *mark,
        )  # fmt: skip
        return tuple([_summary(run_id.decode(), records, state, epoch, now) for run_id, records, state in found])

    async def run(self, run_id: str) -> RunSummary | None:
        """One run, or None."""
        name_of("run id", run_id)

        fields = "status", "fence", "created", "updated", "detail", "records", "head", "owner", "expires", "epoch"

        async def work(client: Client) -> list[Any]:
            async with client.pipeline(transaction=False) as pipeline:
                pipeline.hlen(self._key("records", run_id))
                pipeline.hmget(self._key("run", run_id), fields)
                pipeline.hget(f"{self._prefix}store", "epoch")
                pipeline.time()
                return list(await pipeline.execute())

        records, state, epoch, (seconds, micros) = await self._connection.do(work)
        now = int(seconds) * 1_000_000 + int(micros)
        return None if state[0] is None else _summary(run_id, records, state, int(epoch or 1), now)

    async def get(self, kind: str, key: str) -> Entry | None:
        """One document, or None."""
        documents = self._key("documents", name_of("kind", kind))
        name_of("key", key)

        async def work(client: Client) -> bytes | None:
            value: bytes | None = await client.hget(documents, key)
            return value

        value = await self._connection.do(work)
        return None if value is None else _entry(kind, key, value)

    async def put(self, kind: str, key: str, body: Mapping[str, Any], *, expected: int) -> Entry:
        """Write a document if its version is `expected`, or raise `VersionConflict`."""
        name_of("kind", kind), name_of("key", key)
        text = text_of("document", body)
        keys = (self._key("documents", kind), self._key("keys", kind))
        updated = await self._connection.run("put", keys, key, str(expected), uuid.uuid4().hex, text)
        if updated is None:
            raise version_conflict(kind, key, expected)
        return Entry(kind, key, expected + 1, body_of(text), moment_of(int(updated)))

    async def scan(self, kind: str, *, after: str = "", limit: int = 100) -> Sequence[Entry]:
        """Documents of a kind, by key."""
        documents, index = self._key("documents", name_of("kind", kind)), self._key("keys", kind)
        start = b"-" if not after else b"(" + after.encode("utf-8", "surrogatepass")

        async def work(client: Client) -> list[tuple[bytes, bytes]]:
            keys = await client.zrangebylex(index, start, "+", 0, limit)
            return list(zip(keys, await client.hmget(documents, keys), strict=True)) if keys else []

        return tuple([_entry(kind, key.decode(), value) for key, value in await self._connection.do(work)])

    async def now(self) -> datetime:
        """The server's time."""

        async def work(client: Client) -> tuple[int, int]:
            seconds, micros = await client.time()
            return int(seconds), int(micros)

        seconds, micros = await self._connection.do(work)
        return moment_of(seconds * 1_000_000 + micros)

    async def epoch(self) -> int:
        """The present epoch."""

        async def work(client: Client) -> int:
            return int(await client.hget(f"{self._prefix}store", "epoch") or 1)

        return await self._connection.do(work)

    async def mark_restored(self) -> int:
        """Begin the next epoch. A retry after a broken connection may begin two."""
        keys = f"{self._prefix}runs", f"{self._prefix}store"
        return int(await self._connection.run("mark_restored", keys, self._key("run", ""), str(FENCE_JUMP)))

    async def restored_at(self) -> datetime | None:
        """The time when the present epoch began."""

        async def work(client: Client) -> bytes | None:
            found: bytes | None = await client.hget(f"{self._prefix}store", "restored")
            return found

        moment = await self._connection.do(work)
        return None if moment is None else moment_of(int(moment))

    async def mark_uncertain(self, run_id: str) -> None:
        """Mark a run as possibly older than the present epoch."""
        await self._connection.run("mark_uncertain", self._run_keys(name_of("run id", run_id)), run_id)

    async def aclose(self) -> None:
        """Close the connections. The store cannot be used any more."""
        await self._connection.aclose()

    def _key(self, group: str, name: str) -> str:
        return f"{self._prefix}{group}:{name}"

    def _run_keys(self, run_id: str) -> tuple[str, str, str]:
        return self._key("run", run_id), f"{self._prefix}runs", f"{self._prefix}store"

    def _leased(self, lease: Lease) -> tuple[tuple[str, str, str], str, str, str]:
        return self._run_keys(lease.run_id), lease.run_id, str(lease.fence), lease.owner


def _summary(run_id: str, records: int, state: Sequence[bytes | None], epoch: int, now: int) -> RunSummary:
    *first, appended, head, owner, expires, known = state
    with damaged_unless_readable(f"the status of run `{run_id}`"):
        status, fence, created, updated, detail = (each.decode() for each in first)  # type: ignore[union-attr]
        moments = moment_of(int(created)), moment_of(int(updated))
        return RunSummary(
            run_id, status, records, int(fence), *moments, body_of(detail),  # type: ignore[arg-type]
            appended=None if appended is None else int(appended), head=None if head is None else head.decode(),
            held=owner is not None and int(expires or 0) > now, restored=int(known or 1) < epoch,
        )  # fmt: skip


def _entry(kind: str, key: str, value: bytes) -> Entry:
    with damaged_unless_readable(f"document `{key}` of kind `{kind}`"):
        version, updated, _, body = value.split(b" ", 3)
        return Entry(kind, key, int(version), body_of(body), moment_of(int(updated)))
