"""Proxies of the user's store for simulated workers: a point before and after every write, no writes of dead workers.

A proxy implements the same protocols as the store: the runtime tests them with `isinstance`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from inspect import signature
from typing import Any, TypeVar

from bobcat.journal.records import RunStore, StepRecord
from bobcat.stores.memory import MemoryStore
from bobcat.stores.protocol import (
    DurableStore,
    Lease,
    RunStatus,
    RunSummary,
    Transaction,
    TransactionalStore,
    batching,
)
from bobcat.testing.crashsim.errors import Died
from bobcat.testing.crashsim.loop import SimLoop, here
from bobcat.testing.crashsim.outside import Outside
from bobcat.testing.crashsim.world import ACTION

T = TypeVar("T")


class SimStore:
    """Proxy of a `RunStore` with two methods. `in_place`: the store is called in the worker's own loop."""

    def __init__(self, inner: RunStore, outside: Outside, *, in_place: bool) -> None:
        self.inner: Any = inner  # Any: what the subclasses need of it, they were made for
        self.outside = outside
        self.in_place = in_place
        self.acting: int | None = None
        """The step of the last written intent, of any worker."""

    async def append(self, record: StepRecord) -> None:
        """`RunStore.append`."""
        await self._write(f"append {_named(record)}", lambda: self.inner.append(record))
        self._note(record)

    async def load(self, run_id: str) -> Sequence[StepRecord]:
        """`RunStore.load`."""
        found: Sequence[StepRecord] = await self._read("load", lambda: self.inner.load(run_id))
        return found

    async def _write(self, what: str, call: Callable[[], Awaitable[T]]) -> T:
        loop = here()
        await loop.at(f"before store.{what}")
        try:
            value = await self._do(call)
        except Exception:
            await loop.at(f"after store.{what}, refused")
            raise
        await loop.at(f"after store.{what}")
        return value

    async def _read(self, what: str, call: Callable[[], Awaitable[T]]) -> T:
        await here().at(f"before store.{what}")
        return await self._do(call)

    def _note(self, record: StepRecord) -> None:
        if record.kind == "action.intent" and isinstance(step := record.body.get("step"), int):
            self.acting = step
            ACTION.set(step)

    async def _do(self, call: Callable[[], Awaitable[T]]) -> T:
        return await call() if self.in_place else self.outside.run(call)


class SimDurableStore(SimStore):
    """Proxy of a `DurableStore`. The methods without a body of their own are added below the class."""

    async def append_fenced(self, record: StepRecord, lease: Lease) -> None:
        """`DurableStore.append_fenced`."""
        await self._write(f"append {_named(record)}", lambda: self.inner.append_fenced(record, lease))
        self._note(record)

    async def set_status(
        self, run_id: str, status: RunStatus, *, detail: Mapping[str, Any] | None = None, lease: Lease | None = None
    ) -> None:
        """`DurableStore.set_status`."""
        await self._write(
            f"set_status {status}", lambda: self.inner.set_status(run_id, status, detail=detail, lease=lease)
        )

    async def aclose(self) -> None:
        """Do nothing: the storage outlives the worker. The simulation closes it."""


def _forwarded(name: str, *, writes: bool) -> Callable[..., Awaitable[Any]]:  # Any: what the method returns
    """The proxy of a store's method. The point of a call for documents names their kind."""
    parameters = signature(getattr(DurableStore, name))

    async def call(self: SimStore, *args: Any, **options: Any) -> Any:  # Any: as above
        kind = parameters.bind(self, *args, **options).arguments.get("kind")
        label = name if kind is None else f"{name} {kind}"
        pass_through = self._write if writes else self._read
        return await pass_through(label, lambda: getattr(self.inner, name)(*args, **options))

    call.__name__ = name
    return call


for _name in ("acquire", "renew", "release", "put"):
    setattr(SimDurableStore, _name, _forwarded(_name, writes=True))
for _name in ("load_from", "runs", "run", "get", "scan", "now"):
    setattr(SimDurableStore, _name, _forwarded(_name, writes=False))


class SimBatchingStore(SimDurableStore):
    """Proxy of a `BatchingStore`: a batch is one write."""

    async def begin(self, run_id: str, *, owner: str, seconds: float) -> tuple[Lease, RunSummary]:
        """`BatchingStore.begin`."""
        return await self._write("begin", lambda: self.inner.begin(run_id, owner=owner, seconds=seconds))

    async def append_group(self, records: Sequence[StepRecord], lease: Lease) -> None:
        """`GroupingStore.append_group`."""
        await self._write(f"append {_all_named(records)}", lambda: self.inner.append_group(records, lease))
        self._note_all(records)

    async def finish(self, status: RunStatus, *, detail: Mapping[str, Any], lease: Lease) -> None:
        """`GroupingStore.finish`."""
        await self._write(f"finish {status}", lambda: self.inner.finish(status, detail=detail, lease=lease))

    async def conclude(
        self, records: Sequence[StepRecord], status: RunStatus, *, detail: Mapping[str, Any], lease: Lease
    ) -> None:
        """`BatchingStore.conclude`."""
        call = f"conclude {_all_named(records)}"
        await self._write(call, lambda: self.inner.conclude(records, status, detail=detail, lease=lease))
        self._note_all(records)

    def _note_all(self, records: Sequence[StepRecord]) -> None:
        for record in records:
            self._note(record)


class SimTransactionalStore(SimDurableStore):
    """Proxy of a `TransactionalStore`."""

    def __init__(self, inner: RunStore, outside: Outside, *, in_place: bool) -> None:
        super().__init__(inner, outside, in_place=in_place)
        self._open: dict[AbstractAsyncContextManager[Transaction], SimLoop] = {}

    def transaction(self, lease: Lease) -> AbstractAsyncContextManager[Transaction]:
        """`TransactionalStore.transaction`."""
        return self._transaction(lease)

    @asynccontextmanager
    async def _transaction(self, lease: Lease) -> AsyncIterator[Transaction]:
        loop = here()
        manager = self.inner.transaction(lease)
        found = await self._write("transaction, begin", manager.__aenter__)
        self._open[manager] = loop
        try:
            yield _SimTransaction(found, self)
            await loop.at("before store.transaction, commit")
        except BaseException as error:
            raised = error
            if self._open.pop(manager, None) is not None:
                await self._do(lambda: _undo(manager, raised))
            raise
        del self._open[manager]
        await self._do(lambda: manager.__aexit__(None, None, None))
        await loop.at("after store.transaction, commit")

    def forget(self, loop: SimLoop) -> None:
        """Roll back the uncommitted transactions of a dead worker, as a database does."""
        for manager in [each for each, owner in self._open.items() if owner is loop]:
            del self._open[manager]
            self.outside.run(lambda manager=manager: _undo(manager, Died()))  # type: ignore[misc]


class SimTransactionalBatchingStore(SimTransactionalStore, SimBatchingStore):
    """Proxy of a store that is both."""


class _SimTransaction:
    def __init__(self, inner: Transaction, store: SimStore) -> None:
        self._inner, self._store = inner, store

    @property
    def connection(self) -> Any:  # Any: as in `Transaction`
        return self._inner.connection

    async def append(self, record: StepRecord) -> None:
        await self._store._write(f"transaction, append {_named(record)}", lambda: self._inner.append(record))


async def _undo(manager: AbstractAsyncContextManager[Transaction], error: BaseException) -> None:
    try:
        await manager.__aexit__(type(error), error, None)
    except BaseException as raised:
        if raised is not error:
            raise


def simulated(store: RunStore, outside: Outside, *, in_place: bool | None = None) -> SimStore:
    """Return the proxy of a store. A `MemoryStore` or a subclass is called inline; any other store runs outside, in its
    own thread and event loop.
    """
    where = isinstance(store, MemoryStore) if in_place is None else in_place
    batches = isinstance(store, DurableStore) and batching(store) is not None
    if isinstance(store, TransactionalStore):
        made = SimTransactionalBatchingStore if batches else SimTransactionalStore
        return made(store, outside, in_place=where)
    if isinstance(store, DurableStore):
        return (SimBatchingStore if batches else SimDurableStore)(store, outside, in_place=where)
    return SimStore(store, outside, in_place=where)


def _all_named(records: Sequence[StepRecord]) -> str:
    return ", ".join(map(_named, records)) or "nothing"


def _named(record: StepRecord) -> str:
    step = record.body.get("step")
    return record.kind if step is None else f"{record.kind} of step {step}"
