"""Backup of a Redis store: one transaction that reads every key, and one that writes them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bobcat.errors import StoreError
from bobcat.stores.backup_items import (
    RUN_FIELDS,
    SavedDocument,
    SavedItem,
    SavedRecord,
    SavedRun,
    SavedStore,
    next_epoch,
    not_empty,
    parts,
    restored_run,
)
from bobcat.stores.codec import FENCE_JUMP, damaged_unless_readable, line_of, record_of_line, row_of
from bobcat.stores.redis.scripts import SCRIPTS, TOKEN

if TYPE_CHECKING:
    from bobcat.stores.redis.connection import Client

ATTEMPTS = 20
"""Number of attempts to read a state in which no run and no kind of document was added while its keys were listed."""
NUMBERS = frozenset(
    ("created", "updated", "fence", "epoch", "records", "last", "priority", "run_at", "attempts", "place", "look")
)
"""Fields of a run that are numbers."""


async def save(client: Client, prefix: str, write: Callable[[SavedItem], None]) -> None:
    """Write every item of one state. The server answers no one else while it reads them."""
    store, runs, kinds = await _read(client, prefix)
    write(SavedStore(int(store.get(b"epoch", 1)), int(store.get(b"fence", 0))))
    for run_id, (state, _) in runs.items():
        write(_run(run_id, state))
    for run_id, (_, records) in runs.items():
        with damaged_unless_readable(f"the journal of run `{run_id}`"):
            for _, line in sorted((int(seq), line) for seq, line in records.items()):
                write(SavedRecord.of(row_of(record_of_line(line[TOKEN:]))))
    for kind, documents in kinds.items():
        for key, value in sorted(documents.items()):
            with damaged_unless_readable(f"document `{key.decode()}` of kind `{kind}`"):
                version, updated, _, body = value.split(b" ", 3)
                write(SavedDocument(kind, key.decode(), int(version), body.decode(), int(updated)))


Hash = Mapping[bytes, bytes]


async def _read(client: Client, prefix: str) -> tuple[Hash, dict[str, tuple[Hash, Hash]], dict[str, Hash]]:
    for _ in range(ATTEMPTS):
        names = await _names(client, prefix)
        run_ids, kinds = names
        async with client.pipeline(transaction=True) as pipeline:
            pipeline.zrange(f"{prefix}runs", 0, -1)
            pipeline.keys(f"{_escaped(prefix)}documents:*")
            pipeline.hgetall(f"{prefix}store")
            for run_id in run_ids:
                pipeline.hgetall(f"{prefix}run:{run_id}")
                pipeline.hgetall(f"{prefix}records:{run_id}")
            for kind in kinds:
                pipeline.hgetall(f"{prefix}documents:{kind}")
            present, keys, store, *values = await pipeline.execute()
        if names == (sorted(each.decode() for each in present), _kinds(keys, prefix)):
            pairs = zip(values[: 2 * len(run_ids) : 2], values[1 : 2 * len(run_ids) : 2], strict=True)
            return (
                store,
                dict(zip(run_ids, pairs, strict=True)),
                dict(zip(kinds, values[2 * len(run_ids) :], strict=True)),
            )
    raise StoreError(
        "busy", "Redis: runs are added faster than they can be listed: stop producers, or save the server's file"
    )


async def _names(client: Client, prefix: str) -> tuple[list[str], list[str]]:
    run_ids = await client.zrange(f"{prefix}runs", 0, -1)
    keys = [key async for key in client.scan_iter(f"{_escaped(prefix)}documents:*", count=1000)]
    return sorted(each.decode() for each in run_ids), _kinds(keys, prefix)


def _kinds(keys: Iterable[bytes], prefix: str) -> list[str]:
    return sorted({key.decode().removeprefix(f"{prefix}documents:") for key in keys})


def _escaped(prefix: str) -> str:
    return "".join(f"\\{each}" if each in "*?[]^\\" else each for each in prefix)


def _run(run_id: str, state: Hash) -> SavedRun:
    with damaged_unless_readable(f"the status of run `{run_id}`"):
        values: dict[str, Any] = {"run_id": run_id, "epoch": 1}  # Any: fields of a run
        for name in RUN_FIELDS:
            text = state.get(name.encode())
            if text is not None and name != "run_id":
                values[name] = int(text) if name in NUMBERS else text.decode()
        return SavedRun(**values)


async def restore(client: Client, prefix: str, items: Iterable[SavedItem]) -> None:
    """Write all items, or none. They are sent together before the server writes the first one."""
    async with client.pipeline(transaction=True) as pipeline:
        await pipeline.watch(f"{prefix}runs", f"{prefix}store")
        run_ids, kinds = await _names(client, prefix)
        if run_ids or kinds:
            raise not_empty(f"the store under `{prefix}`")
        own = int(await client.hget(f"{prefix}store", "epoch") or 1)
        now = await client.time()
        pipeline.multi()
        saved, groups = parts(items)
        for _, group in groups:
            for item in group:
                _write(pipeline, prefix, item)
        moment = int(now[0]) * 1_000_000 + int(now[1])
        state = {"epoch": next_epoch(own, saved), "restored": moment, "fence": saved.fence + FENCE_JUMP}
        pipeline.hset(f"{prefix}store", mapping=state)
        try:
            await pipeline.execute()
        except Exception as error:
            if type(error).__name__ != "WatchError":
                raise
            raise not_empty(f"the store under `{prefix}`") from error


def _write(pipeline: Client, prefix: str, item: SavedItem) -> None:
    match item:
        case SavedRun():
            run = restored_run(item)
            values = {name: getattr(run, name) for name in RUN_FIELDS if name != "run_id"}
            if not run.kind:  # it has no entry
                values = {name: value for name, value in values.items() if name not in _ENTRY}
            key = f"{prefix}run:{run.run_id}"
            pipeline.hset(key, mapping={name: value for name, value in values.items() if value is not None})
            pipeline.zadd(f"{prefix}runs", {run.run_id: run.updated})
            keys = (key, f"{prefix}runs", f"{prefix}store")
            pipeline.eval(SCRIPTS["place"], len(keys), *keys, run.run_id)
            if run.kind:
                pipeline.execute_command("EVAL", _LAST_TURN, 1, f"{prefix}store", run.place)
        case SavedRecord():
            value = uuid.uuid4().hex + line_of(item.row)
            pipeline.hset(f"{prefix}records:{item.run_id}", str(item.seq), value)
            pipeline.zadd(f"{prefix}seqs:{item.run_id}", {str(item.seq): item.seq})
        case SavedDocument():
            value = f"{item.version} {item.updated} {uuid.uuid4().hex} {item.body}"
            pipeline.hset(f"{prefix}documents:{item.kind}", item.key, value)
            pipeline.zadd(f"{prefix}keys:{item.kind}", {item.key: 0})
        case SavedStore():
            pass


_ENTRY = frozenset(("kind", "version", "tenant", "priority", "run_at", "attempts", "place", "look"))
_LAST_TURN = """
if tonumber(ARGV[1]) > tonumber(redis.call('HGET', KEYS[1], 'turn') or '0') then
    redis.call('HSET', KEYS[1], 'turn', ARGV[1])
end
"""
