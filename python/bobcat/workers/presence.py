"""The workers of a store: each keeps a document, renewed with its heartbeats, and removes it when it stops."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec

from bobcat._core import __version__
from bobcat.logs import logger
from bobcat.model.plain_fields import fields_to_json
from bobcat.stores.protocol import DurableStore, Entry, VersionConflict, erasable
from bobcat.text.json_text import format_exception

KIND = "worker.info"
LONGEST_BEAT_SECONDS = 10.0
FORGOTTEN_AFTER = timedelta(days=1)
"""Time after which the document of a dead worker is removed by the next worker that starts."""
MAX_RUNS = 1000
"""Number of run ids that a document lists."""
PAGE = 500
log = logger("workers")


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """One worker process. `kinds` are the runs that it takes; `held` those that it executed at its last heartbeat.

    `version` is that of Bobcat. A worker without a heartbeat for `lease_seconds` is dead: others take over its runs.
    """

    name: str
    host: str
    pid: int
    version: str
    kinds: tuple[str, ...]
    concurrency: int
    lease_seconds: float
    started: datetime
    held: tuple[str, ...] = ()
    draining: bool = False


@dataclass(frozen=True, slots=True)
class ListedWorker:
    """A worker in a listing, with the time of its last heartbeat."""

    info: WorkerInfo
    seen: datetime
    live: bool


async def list_workers(store: DurableStore) -> list[ListedWorker]:
    """The workers of a store by name, the dead ones among them until they are forgotten."""
    now, found = await store.now(), list[ListedWorker]()
    for entry in await _documents(store):
        with suppress(msgspec.ValidationError):  # a later release may read it
            info = msgspec.convert(entry.body, WorkerInfo)
            found.append(ListedWorker(info, entry.updated, _is_live(info, entry.updated, now)))
    return found


def _is_live(info: WorkerInfo, seen: datetime, now: datetime) -> bool:
    return abs(now - seen) <= timedelta(seconds=info.lease_seconds)


class Presence:
    """The document of one worker. `state` gives the runs that it holds, and true while it drains."""

    def __init__(
        self,
        store: DurableStore,
        *,
        name: str,
        kinds: Sequence[str],
        concurrency: int,
        lease_seconds: float,
        state: Callable[[], tuple[Sequence[str], bool]],
    ) -> None:
        self._store, self._name, self._state = store, name, state
        self._fields: dict[str, Any] = {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "version": __version__,
            "kinds": tuple(sorted(kinds)),
            "concurrency": concurrency,
            "lease_seconds": lease_seconds,
        }
        self._started: datetime | None = None
        self._entry: Entry | None = None
        self.beat_seconds = min(lease_seconds / 3, LONGEST_BEAT_SECONDS)

    async def beat(self) -> None:
        """Write the document. A document of an earlier process of the same name is replaced."""
        if self._started is None:
            self._started = await self._store.now()
            await self._forget()
        held, draining = self._state()
        info = WorkerInfo(
            self._name, started=self._started, held=tuple(held[:MAX_RUNS]), draining=draining, **self._fields
        )
        while True:
            try:
                expected = 0 if self._entry is None else self._entry.version
                self._entry = await self._store.put(KIND, self._name, fields_to_json(info), expected=expected)
            except VersionConflict:
                self._entry = await self._store.get(KIND, self._name)
                continue
            return

    async def beat_for_ever(self) -> None:
        """Write the document at each heartbeat. A store that is unavailable is asked again."""
        while True:
            await asyncio.sleep(self.beat_seconds)
            try:
                await self.beat()
            except Exception as error:  # each heartbeat is a new attempt
                log.debug("the heartbeat of this worker was not written: %s", format_exception(error))

    async def leave(self) -> None:
        """Remove the document, unless another process of this name has replaced it."""
        if self._entry is not None:
            with suppress(VersionConflict):
                await erasable(self._store).discard(self._entry)

    async def _forget(self) -> None:
        now = await self._store.now()
        for entry in await _documents(self._store):
            if now - entry.updated > FORGOTTEN_AFTER and entry.key != self._name:
                with suppress(VersionConflict):
                    await erasable(self._store).discard(entry)


async def _documents(store: DurableStore) -> list[Entry]:
    found: list[Entry] = []
    while page := await store.scan(KIND, after=found[-1].key if found else "", limit=PAGE):
        found.extend(page)
    return found
