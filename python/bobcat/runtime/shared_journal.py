"""A journal that several runs and processes share: the calls that were permitted, and their ends.

A call is on record before anything runs: of two processes that decide at the same time, one appends first, and the
other reads that record and decides again. A call whose process died stays counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

from bobcat.journal.records import DuplicateRecord, StepRecord
from bobcat.model.decision import ActionRequest
from bobcat.model.frozen import FrozenDict
from bobcat.model.request_json import context_data, declared_data, request_from_json
from bobcat.runtime.memory_values import exact
from bobcat.stores.protocol import DurableStore

CALL, RESULT, RELEASED = "memory.call", "memory.result", "memory.released"
PAGE = 512

Json = Any  # Any: JSON


class _Waiting(NamedTuple):
    """A record that `refresh` writes. Without a `key`, it is about the open call of this name.

    The time of a release is that of its call. A release by name needs a `fence` that is not before that of the call.
    """

    kind: str
    name: str
    key: str = ""
    body: Mapping[str, Json] = FrozenDict()
    at: datetime | None = None
    fence: int = 0


class OpenCall(NamedTuple):
    """A call without an end on record: its name, the time of its decision, and the fence of its run's lease."""

    name: str
    at: datetime
    fence: int


class TakenOver(Exception):
    """Another worker, with a later lease of the same run, has decided the call."""


class SharedJournal:
    """One such journal, as far as it was read. Used by one event loop.

    A call has a name, which its run gives it, and a key, which no other call has. An open call has no end on record.
    """

    keeps_values = False
    """True if the records of results have the values of calls."""

    def __init__(self, store: DurableStore, run_id: str) -> None:
        self.lock = asyncio.Lock()
        """Held from the reading of the journal to the record of the call that was decided."""
        self.run_id = run_id
        self._store = store
        self._seq = 0
        self._open: dict[str, OpenCall] = {}
        """The open calls by their keys."""
        self._keys: dict[str, str] = {}
        """The key of the last open call of a name."""
        self._waiting: list[_Waiting] = []

    @property
    def position(self) -> int:
        """Number of records that were read."""
        return self._seq

    @property
    def waits(self) -> bool:
        """Return true if outcomes wait to be recorded."""
        return bool(self._waiting)

    async def refresh(self, name: str = "", fence: int = 0) -> None:
        """Read what other processes recorded, record the outcomes that wait, and take back the open call `name`.

        A call that is decided again must not count beside itself. Raises `TakenOver` for one with a later `fence`.
        """
        await self._read()
        while self._waiting:
            await self._write(self._waiting[0])
            self._waiting.pop(0)
        key = self._keys.get(name, "")
        while (call := self._open.get(key)) is not None:
            if call.fence > fence:
                raise TakenOver(f"another worker has decided the call {name!r}")
            if not await self._try(RELEASED, key, {}, call.at):
                await self._read()

    async def reserve(self, request: ActionRequest, name: str, fence: int) -> str:
        """Record a permitted call and return its key; empty if another process recorded something since `refresh`."""
        key, body = self._new_key(name), _call_body(request, name, fence)
        return key if await self._try(CALL, key, body, request.context.timestamp) else ""

    def put_call(self, request: ActionRequest, name: str, fence: int) -> None:
        """Take in a call that may have happened. `refresh` records it, unless its name is on record."""
        body = _call_body(request, name, fence)
        self._waiting.append(_Waiting(CALL, name, "", body, request.context.timestamp))

    def put_result(self, name: str, key: str, body: Mapping[str, Json], at: datetime) -> None:
        """Take in the outcome of a call. `refresh` records it, if the call is open."""
        self._waiting.append(_Waiting(RESULT, name, key, body, at))

    def take_back(self, name: str, *, key: str = "", fence: int = 0) -> None:
        """Take in that a call did not happen. `refresh` records it, if the call is open."""
        self._waiting.append(_Waiting(RELEASED, name, key, fence=fence))

    def is_known(self, name: str) -> bool:
        """Return true if a call of this name is on record, and was not taken back."""
        return name in self._keys

    def counts(self, request: ActionRequest) -> bool:
        """Return true if a call must be on record here before it runs."""
        raise NotImplementedError

    def took(self, record: StepRecord) -> None:
        """Take in a call, or the end of an open call, in the order of the journal."""
        raise NotImplementedError

    def _new_key(self, name: str) -> str:
        return f"{name}~{self._seq}"

    async def _write(self, waiting: _Waiting) -> None:
        while True:
            if waiting.kind == CALL:
                key, at = "" if self.is_known(waiting.name) else self._new_key(waiting.name), waiting.at
            else:
                key = waiting.key or self._keys.get(waiting.name, "")
                call = self._open.get(key)
                at = None if call is None or _is_later(call, waiting) else waiting.at or call.at
            if not key or at is None or await self._try(waiting.kind, key, waiting.body, at):
                return
            await self._read()

    async def _read(self) -> None:
        while page := await self._store.load_from(self.run_id, seq=self._seq, limit=PAGE):
            self._take(page)

    async def _try(self, kind: str, key: str, body: Mapping[str, Json], at: datetime) -> bool:
        """Write a record at the next position; false if another process has taken it."""
        record = StepRecord(self.run_id, self._seq, kind, key, body, at)
        try:
            await self._store.append(record)
        except DuplicateRecord:
            return False
        self._take((record,))
        if record.seq == 0:  # it is no run that a worker could continue
            with suppress(Exception):
                await self._store.set_status(self.run_id, "suspended", detail={"memory": True})
        return True

    def _take(self, page: Sequence[StepRecord]) -> None:
        for record in page:
            key = record.idempotency_key
            if record.kind == CALL:
                call = OpenCall(record.body["call"], record.timestamp, int(record.body.get("fence", 0)))
                self.took(record)  # raises for a record that cannot be read, which the next reading meets again
                self._open[key] = call
                self._keys[call.name] = key
            elif record.kind in (RESULT, RELEASED) and key in self._open:
                self.took(record)
                name = self._open.pop(key).name
                if self._keys.get(name) == key:
                    self._ended(name, record.kind)
            self._seq = record.seq + 1

    def _ended(self, name: str, kind: str) -> None:
        """Forget the name of a call that was taken back."""
        if kind == RELEASED:
            del self._keys[name]


def request_of(record: StepRecord) -> ActionRequest:
    """The request of a call on record. Raises `RequestError`."""
    return request_from_json({name: record.body[name] for name in ("tool", "args", "declared", "context")})


def _is_later(call: OpenCall, waiting: _Waiting) -> bool:
    return waiting.kind == RELEASED and not waiting.key and call.fence > waiting.fence


def _call_body(request: ActionRequest, name: str, fence: int) -> dict[str, Json]:
    return {
        "call": name,
        "fence": fence,
        "tool": request.tool,
        "args": exact(request.args),
        "declared": declared_data(request.declared),
        "context": context_data(request.context),
    }
