"""The name of a worker that keeps it over restarts, so that it takes its own runs at once and waits for no lease.

A process that takes a name writes its *start* into a document of the store: a random number, and the process that it
is. Leases have the name and the start as their owner (`NAME#START:ATTEMPT`), so two processes under one name are never
taken for each other.

Two live workers with one name: the second one is refused (`name_taken`). On the machine of the first, the system knows
if that process lives, also while it is stopped. On another machine, the second one watches the first one's beats
for `SILENCE_SECONDS`. Should a worker be silent for longer and live, the other one takes its runs: the first one can
write nothing more to them, as after any lost lease, and `renew` tells it to stop.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from bobcat.aio.tasks import cancel_and_wait
from bobcat.errors import JobError
from bobcat.logs import logger
from bobcat.stores.lease_clock import boot_id
from bobcat.stores.protocol import DurableStore, Entry, RunBusy, RunSummary, VersionConflict, erasable
from bobcat.text.json_text import format_exception
from bobcat.workers.listing import list_runs

log = logger("workers")

KIND = "worker"
BEAT_SECONDS = 1.0
"""Interval between the beats of a worker with a name."""
SILENCE_SECONDS = 1.6
"""Silence after which a worker on another machine counts as dead: longer than a beat, shorter than a restart."""
SEPARATOR = "#"


class WorkerName:
    """A name that this process holds in a store. `owner` begins the owners of its leases."""

    def __init__(self, store: DurableStore, name: str) -> None:
        self._store, self.name = store, name
        self.start = uuid4().hex[:12]
        self._version = 0
        self._beats = 0

    @property
    def owner(self) -> str:
        """The prefix of the owners of this start's leases."""
        return f"{self.name}{SEPARATOR}{self.start}"

    @asynccontextmanager
    async def held(self, stop: asyncio.Event) -> AsyncIterator[None]:
        """Hold the name inside of the block. `stop` is set when another process takes it over."""
        await self.take()
        beating = asyncio.create_task(self._beat_for_ever(stop))
        try:
            yield
        finally:
            await cancel_and_wait(beating)
            await self.leave()

    async def _beat_for_ever(self, stop: asyncio.Event) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            try:
                await self.beat()
            except JobError as error:
                log.error("the worker stops: %s", error)
                stop.set()
                return
            except Exception as error:  # an unavailable store is asked again
                log.warning("the worker cannot show that it lives: %s", format_exception(error))

    async def take(self) -> None:
        """Take the name. Raises `JobError` (`name_taken`) while another live process has it."""
        while True:
            entry = await self._store.get(KIND, self.name)
            if entry is not None and entry.body.get("start") != self.start and not await self._is_dead(entry):
                host, pid = entry.body.get("host"), entry.body.get("pid")
                raise JobError("name_taken", f"the worker `{self.name}` is running already, as process {pid} on {host}")
            try:
                taken = await self._store.put(
                    KIND, self.name, self._body(), expected=0 if entry is None else entry.version
                )
            except VersionConflict:
                continue
            self._version = taken.version
            return

    async def beat(self) -> None:
        """Show that this process lives. Raises `JobError` (`name_taken`) when another one has taken the name."""
        self._beats += 1
        try:
            self._version = (await self._store.put(KIND, self.name, self._body(), expected=self._version)).version
        except VersionConflict:
            entry = await self._store.get(KIND, self.name)
            if entry is not None and entry.body.get("start") == self.start:  # a beat that was cancelled arrived
                self._version = entry.version
                return
            raise JobError("name_taken", f"another process has taken the name `{self.name}`") from None

    async def leave(self) -> None:
        """Free the name."""
        with suppress(Exception):  # a name of a dead process is free too
            entry = await self._store.get(KIND, self.name)
            if entry is not None and entry.body.get("start") == self.start:
                await erasable(self._store).discard(entry)

    async def orphans(self) -> AsyncIterator[tuple[RunSummary, str]]:
        """The runs that earlier starts under the name hold, each with the owner of its lease."""
        async for run in list_runs(self._store, "running"):
            if not run.held:
                continue
            try:
                lease = await self._store.acquire(run.run_id, owner=self.owner, seconds=BEAT_SECONDS)
            except RunBusy as busy:
                if busy.owner.startswith(self.name + SEPARATOR) and not busy.owner.startswith(self.owner):
                    yield run, busy.owner
            else:  # its lease ended at this moment
                await self._store.release(lease)

    async def _is_dead(self, entry: Entry) -> bool:
        """Return true if the process that has the name is dead, or silent for too long."""
        lives = lives_here(entry.body)
        if lives is not None:
            return not lives
        await asyncio.sleep(SILENCE_SECONDS)
        again = await self._store.get(KIND, self.name)
        return again is None or (again.version, again.body.get("start")) == (entry.version, entry.body.get("start"))

    def _body(self) -> dict[str, Any]:  # Any: JSON
        pid = os.getpid()
        return {"start": self.start, "beats": self._beats, "host": socket.gethostname(), "pid": pid, **process_of(pid)}


def process_of(pid: int) -> dict[str, str]:
    """Facts that identify a process on this machine for ever; empty where the system does not have them."""
    boot = boot_id()
    with suppress(OSError, IndexError):
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        if state in ("Z", "X"):  # it is dead, and its parent has not noticed
            return {}
        began = fields[18]
        return {"boot": boot or "", "space": str(Path("/proc/self/ns/pid").readlink()), "began": began}
    return {}


def lives_here(body: Mapping[str, Any]) -> bool | None:
    """Return true if the process of this document lives, and None when it is not one of this machine."""
    here = process_of(os.getpid())
    if not here.get("boot") or (body.get("boot"), body.get("space")) != (here["boot"], here["space"]):
        return None
    pid = body.get("pid")
    return isinstance(pid, int) and process_of(pid).get("began") == body.get("began")
