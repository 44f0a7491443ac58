"""`RedisStore`: a `DurableStore` in a Redis server, for workers on many machines."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from bobcat.journal.records import StepRecord
from bobcat.stores.backup_items import SavedItem
from bobcat.stores.codec import (
    FENCE_JUMP,
    RecordRow,
    body_of,
    damaged_unless_readable,
    line_of,
    microseconds,
    moment_of,
    name_of,
    record_of_line,
    text_of,
)
from bobcat.stores.counts import StoreCounts
from bobcat.stores.errors import JournalGap, duplicate_record, lease_lost, without_driver
from bobcat.stores.group_commit import GroupCommit, Unit, unit_of
from bobcat.stores.heartbeat import lease_thread
from bobcat.stores.protocol import Entry, Lease, Renewals, RunBusy, RunStatus, RunSummary, StatusConflict
from bobcat.stores.redis import backup
from bobcat.stores.redis.counts import counts_of_reply
from bobcat.stores.redis.queue import ENTRY_FIELDS, RedisQueue, entry_of
from bobcat.stores.redis.renewals import RedisRenewals
from bobcat.stores.redis.scripts import TOKEN

if TYPE_CHECKING:
    from bobcat.stores.redis.connection import Client

PAGE = 1000
"""Number of records fetched in one request."""


class RedisStore(RedisQueue):
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
            from bobcat.stores.redis.listener import Listener
        except ModuleNotFoundError as error:
            raise without_driver("RedisStore", "redis", "redis") from error
        self._prefix = name_of("prefix", prefix)
        self._connection = RedisConnection(
            url,
            prefix,
            pool_size=pool_size,
            patience=patience,
            durability=durability,
            replicas=replicas,
            traffic=self.traffic,
        )
        self._commits = GroupCommit[Unit, None](self._append_units, self._append_unit)
        self._listener = Listener(self._connection.connected, f"{prefix}queued")
        self._renewals = RedisRenewals(self._connection.for_renewals(), self._leased)

    def lease_renewals(self) -> Renewals:
        """The renewals of leases on another event loop, over a connection that opens when the first one is due."""
        return self._renewals

    async def release(self, lease: Lease) -> None:
        """Release the run."""
        await self._connection.run("release", *self._leased(lease))

    async def _append(self, row: RecordRow, lease: Lease | None) -> None:
        if lease is None:
            await self._append_row(row, uuid.uuid4().hex, None)
        else:
            await self._commits.write(Unit(lease, (row,), (uuid.uuid4(),)))

    async def _append_row(self, row: RecordRow, token: str, lease: Lease | None) -> None:
        """Append one record, also before the last one."""
        under = ("", "") if lease is None else (str(lease.fence), lease.owner)
        keys = (*self._run_keys(row.run_id), self._key("records", row.run_id), self._key("seqs", row.run_id))
        outcome = await self._connection.run(
            "append", keys, row.run_id, str(row.seq), token, line_of(row), *under, row.head
        )
        if outcome.startswith(b"gap "):
            raise JournalGap(row.run_id, row.seq, int(outcome[4:]))
        if outcome == b"taken":
            raise duplicate_record(row.run_id, row.seq)
        if outcome == b"lost":
            assert lease is not None
            raise lease_lost(lease, row.run_id)

    async def append_group(self, records: Sequence[StepRecord], lease: Lease) -> None:
        """Append consecutive records under the lease: all of them, or none."""
        if records:
            await self._commit(unit_of(records, lease))

    async def finish(self, status: RunStatus, *, detail: Mapping[str, Any], lease: Lease) -> None:
        """Set the status of a run under its lease, and release it, in one script."""
        await self._append_unit(Unit(lease, (), (), status, text_of("status", detail)))

    async def conclude(
        self, records: Sequence[StepRecord], status: RunStatus, *, detail: Mapping[str, Any], lease: Lease
    ) -> None:
        """Append consecutive records, set the status and release the run: all, or nothing."""
        if records:
            await self._commit(unit_of(records, lease, status, text_of("status", detail)))
        else:
            await self.finish(status, detail=detail, lease=lease)

    async def _commit(self, unit: Unit) -> None:
        try:
            await self._commits.write(unit)
        except JournalGap as gap:
            await self.mark_restored()
            raise lease_lost(unit.lease, unit.lease.run_id) from gap

    async def _append_units(self, units: Sequence[Unit]) -> dict[str, None]:
        """Append units of several runs, without retries. Returns the ids of the runs whose units are stored."""
        answers = await self._connection.run_group("append_group", [self._group_call(unit) for unit in units])
        return {unit.run_id: None for unit, answer in zip(units, answers, strict=True) if answer == b"kept"}

    async def _append_unit(self, unit: Unit) -> None:
        """Append a unit by itself, with retries. One that an earlier attempt has stored is not stored again."""
        lease = unit.lease
        if len(unit.rows) == 1 and unit.status is None:
            await self._append_row(unit.rows[0], unit.tokens[0].hex, lease)
            return
        keys, arguments = self._group_call(unit)
        word, *more = (await self._connection.run("append_group", keys, *arguments)).split()
        match word:
            case b"lost":
                raise lease_lost(lease, lease.run_id)
            case b"taken":
                raise duplicate_record(lease.run_id, int(more[0]))
            case b"gap":
                raise JournalGap(lease.run_id, int(more[0]), int(more[1]))

    def _group_call(self, unit: Unit) -> tuple[Sequence[str], Sequence[str]]:
        lease, rows = unit.lease, unit.rows
        keys = (*self._run_keys(lease.run_id), self._key("records", lease.run_id), self._key("seqs", lease.run_id))
        head, token = (rows[-1].head, unit.tokens[0].hex) if rows else ("", "")
        lines = [part for row in rows for part in (str(row.seq), line_of(row))]
        return keys, (
            lease.run_id, str(lease.fence), lease.owner, head, unit.status or "", unit.detail or "", token, *lines
        )  # fmt: skip

    async def begin(self, run_id: str, *, owner: str, seconds: float) -> tuple[Lease, RunSummary]:
        """Acquire a run, and read it in the same script."""
        keys = (*self._run_keys(self._name("run id", run_id)), self._key("records", run_id))
        holder, expires, *more = await self._connection.run(
            "begin", keys, run_id, self._name("owner", owner), str(int(seconds * 1e6))
        )
        if not more:
            raise RunBusy(run_id, holder.decode(), moment_of(int(expires)))
        fence, records, state, epoch, now = more
        lease = Lease(run_id, owner, int(fence), moment_of(int(expires)))
        return lease, _summary(run_id, records, state, int(epoch), int(now))

    async def _acquire(self, run_id: str, owner: str, seconds: float) -> Lease:
        holder, expires, *fence = await self._connection.run(
            "acquire", self._run_keys(run_id), run_id, owner, str(int(seconds * 1e6))
        )
        if not fence:
            raise RunBusy(run_id, holder.decode(), moment_of(int(expires)))
        return Lease(run_id, owner, int(fence[0]), moment_of(int(expires)))

    async def _renew(self, lease: Lease, seconds: float) -> Lease | None:
        expires = await self._connection.run("renew", *self._leased(lease), str(int(seconds * 1e6)))
        return None if expires is None else replace(lease, expires=moment_of(int(expires)))

    async def _load(self, run_id: str, seq: int, limit: int | None) -> Sequence[StepRecord]:
        records, index = self._key("records", run_id), self._key("seqs", run_id)

        async def work(client: Client) -> list[bytes]:
            positions = await client.zrangebyscore(index, seq, "+inf", 0, -1 if limit is None else limit)
            found: list[bytes] = []
            for start in range(0, len(positions), PAGE):
                found += await client.hmget(records, positions[start : start + PAGE])
            return found

        lines = await self._connection.do(work)
        with damaged_unless_readable(f"the journal of run `{run_id}`"):
            return tuple([record_of_line(line[TOKEN:]) for line in lines])

    async def _set_status(
        self, run_id: str, status: RunStatus, detail: str, lease: Lease | None, expected: Collection[RunStatus] | None
    ) -> None:
        under = ("", "") if lease is None else (str(lease.fence), lease.owner)
        expected_list = "" if expected is None else f",{','.join(expected)},"
        answer = await self._connection.run(
            "set_status", self._run_keys(run_id), run_id, status, detail, *under, expected_list
        )
        if answer is None:
            assert lease is not None
            raise lease_lost(lease, run_id)
        if answer.startswith(b"not "):
            raise StatusConflict(run_id, answer[4:].decode())

    async def _listed(
        self, status: RunStatus | None, limit: int, after: tuple[int, str] | None
    ) -> Sequence[RunSummary]:
        mark = ("", "") if after is None else (str(after[0]), after[1])
        epoch, now = await self.epoch(), microseconds(await self.now())
        index = f"{self._prefix}runs" if status is None else self._key("status", status)
        found = await self._connection.run(
            "runs", (index,), self._key("run", ""), self._key("records", ""), status or "",
            str(limit), *mark,
        )  # fmt: skip
        return tuple([_summary(run_id.decode(), records, state, epoch, now) for run_id, records, state in found])

    async def _run(self, run_id: str) -> RunSummary | None:
        fields = (
            "status", "fence", "created", "updated", "detail", "records", "head", "owner", "expires", "epoch",
            *ENTRY_FIELDS,
        )  # fmt: skip

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

    async def _get(self, kind: str, key: str) -> Entry | None:
        value = await self._connection.call("HGET", self._key("documents", kind), key)
        return None if value is None else _entry(kind, key, value)

    async def _put(self, kind: str, key: str, text: str, expected: int) -> datetime | None:
        keys = (self._key("documents", kind), self._key("keys", kind))
        updated = await self._connection.run("put", keys, key, str(expected), uuid.uuid4().hex, text)
        return None if updated is None else moment_of(int(updated))

    async def _scan(self, kind: str, after: str, limit: int) -> Sequence[Entry]:
        documents, index = self._key("documents", kind), self._key("keys", kind)
        start = b"-" if not after else b"(" + after.encode("utf-8", "surrogatepass")

        async def work(client: Client) -> list[tuple[bytes, bytes]]:
            keys = await client.zrangebylex(index, start, "+", 0, limit)
            return list(zip(keys, await client.hmget(documents, keys), strict=True)) if keys else []

        return tuple([_entry(kind, key.decode(), value) for key, value in await self._connection.do(work)])

    async def _erase(self, run_id: str, fence: int | None) -> bool:
        keys = (*self._run_keys(run_id), self._key("records", run_id), self._key("seqs", run_id))
        found = await self._connection.run("erase", keys, run_id, "" if fence is None else str(fence))
        if isinstance(found, list):
            raise RunBusy(run_id, found[0].decode(), moment_of(int(found[1])))
        return bool(found)

    async def save(self, write: Callable[[SavedItem], None]) -> None:
        """Write every item of one state; see `BackupStore`."""
        await self._connection.do(lambda client: backup.save(client, self._prefix, write))

    async def restore(self, items: Iterable[SavedItem]) -> None:
        """Write all items, or none, into this empty store."""
        await self._connection.do(lambda client: backup.restore(client, self._prefix, items))

    async def counts(self) -> StoreCounts:
        """Count the live runs."""
        return counts_of_reply(await self._connection.run("counts", (self._prefix,)))

    async def _discard(self, entry: Entry, updated: int) -> bool | None:
        keys = (self._key("documents", entry.kind), self._key("keys", entry.kind))
        found = await self._connection.run("discard", keys, entry.key, str(entry.version), str(updated))
        return None if found is None else bool(found)

    async def now(self) -> datetime:
        """The server's time."""
        seconds, micros = await self._connection.call("TIME")
        return moment_of(int(seconds) * 1_000_000 + int(micros))

    async def _last_restore(self) -> tuple[int, datetime | None]:
        epoch, moment = await self._connection.call("HMGET", f"{self._prefix}store", "epoch", "restored")
        return int(epoch or 1), None if moment is None else moment_of(int(moment))

    async def mark_restored(self) -> int:
        """Begin the next epoch. A retry after a broken connection may begin two."""
        keys = f"{self._prefix}runs", f"{self._prefix}store", f"{self._prefix}queue:running"
        return int(await self._connection.run("mark_restored", keys, self._key("run", ""), str(FENCE_JUMP)))

    async def _mark_uncertain(self, run_id: str) -> None:
        await self._connection.run("mark_uncertain", self._run_keys(run_id), run_id)

    async def aclose(self) -> None:
        """Close the connections. The store cannot be used any more."""
        await lease_thread().call(self._renewals.aclose())
        await self._listener.close()
        await self._connection.aclose()

    def _key(self, group: str, name: str) -> str:
        return f"{self._prefix}{group}:{name}"

    def _run_keys(self, run_id: str) -> tuple[str, str, str]:
        return self._key("run", run_id), f"{self._prefix}runs", f"{self._prefix}store"

    def _leased(self, lease: Lease) -> tuple[tuple[str, str, str], str, str, str]:
        return self._run_keys(lease.run_id), lease.run_id, str(lease.fence), lease.owner


def _summary(run_id: str, records: int, state: Sequence[bytes | None], epoch: int, now: int) -> RunSummary:
    status_fields, entry = state[: -len(ENTRY_FIELDS)], state[-len(ENTRY_FIELDS) :]
    *first, appended, head, owner, expires, known = status_fields
    with damaged_unless_readable(f"the status of run `{run_id}`"):
        status, fence, created, updated, detail = (each.decode() for each in first)  # type: ignore[union-attr]
        moments = moment_of(int(created)), moment_of(int(updated))
        return RunSummary(
            run_id, status, records, int(fence), *moments, body_of(detail),  # type: ignore[arg-type]
            appended=None if appended is None else int(appended), head=None if head is None else head.decode(),
            held=owner is not None and int(expires or 0) > now, restored=int(known or 1) < epoch, queue=entry_of(entry),
        )  # fmt: skip


def _entry(kind: str, key: str, value: bytes) -> Entry:
    with damaged_unless_readable(f"document `{key}` of kind `{kind}`"):
        version, updated, _, body = value.split(b" ", 3)
        return Entry(kind, key, int(version), body_of(body), moment_of(int(updated)))
