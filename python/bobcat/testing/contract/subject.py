"""Test context of a clause: the store under test, unique names, and assertions."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias, TypeVar

from bobcat.journal.records import RunStore, StepRecord, step_record_to_json
from bobcat.stores.protocol import METHODS, DurableStore, TransactionalStore
from bobcat.text.json_text import format_exception

T = TypeVar("T")

Make: TypeAlias = Callable[[], RunStore | Awaitable[RunStore]]
Crash: TypeAlias = Callable[[], Awaitable[None] | None]

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


class Violated(Exception):
    """A clause is violated; the message describes the observed behaviour."""


class NotApplicable(Exception):
    """A clause does not apply to this store; the message gives the reason."""


def demand(kept: object, seen: str) -> None:
    """Raise `Violated` unless `kept`."""
    if not kept:
        raise Violated(seen)


async def refusal(call: Awaitable[object]) -> Exception | None:
    """Return the exception of a call, or None."""
    try:
        await call
    except Exception as error:
        return error
    return None


async def demand_refused(call: Awaitable[object], wanted: type[Exception], what: str) -> Exception:
    """Raise `Violated` unless the call raises `wanted`."""
    error = await refusal(call)
    demand(
        isinstance(error, wanted), f"{what} {'went through' if error is None else 'raised ' + format_exception(error)}"
    )
    assert error is not None
    return error


async def demand_accepted(call: Awaitable[object], what: str) -> None:
    """Raise `Violated` if the call raises."""
    error = await refusal(call)
    demand(error is None, f"{what} raised {format_exception(error) if error else ''}")


async def demand_one_winner(calls: Iterable[Awaitable[T]], loss: type[Exception], what: str) -> tuple[int, T]:
    """Return the number and the result of the only concurrent call that succeeds. Raises `Violated` if another one
    succeeds too, or raises anything but `loss`.
    """
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    unexpected = [each for each in outcomes if isinstance(each, Exception) and not isinstance(each, loss)]
    demand(not unexpected, f"{what}: a loser got {format_exception(unexpected[0]) if unexpected else ''}")
    winners = [(number, each) for number, each in enumerate(outcomes) if not isinstance(each, BaseException)]
    demand(len(winners) == 1, f"{what}: {len(winners)} of {len(outcomes)} succeeded")
    return winners[0]


def present(found: T | None, what: str) -> T:
    """Return what was found. Raises `Violated` for None."""
    if found is None:
        raise Violated(f"{what} is missing")
    return found


async def append_all(store: RunStore, records: Iterable[StepRecord]) -> None:
    """Append the records, one after the other."""
    for each in records:
        await store.append(each)


@dataclass(slots=True)
class StoreUnderTest:
    """The store under test. `other()` is a second object over the same storage: another worker."""

    make: Make
    shared: bool
    writers: int
    crash: Crash | None
    label: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    _opened: list[RunStore] = field(default_factory=list)

    async def store(self) -> RunStore:
        """The store object of this clause."""
        return self._opened[0] if self._opened else await self.other()

    async def durable(self) -> DurableStore:
        """Return the store if it has leases; otherwise raise `NotApplicable`."""
        store = await self.store()
        if not isinstance(store, DurableStore):
            missing = [name for name in METHODS if not hasattr(store, name)]
            raise NotApplicable(f"the store is no DurableStore: it has no {', '.join(missing)}")
        return store

    async def transactional(self) -> TransactionalStore:
        """Return the store if it has transactions; otherwise raise `NotApplicable`."""
        store = await self.durable()
        if not isinstance(store, TransactionalStore):
            raise NotApplicable("the store has no transactions")
        return store

    async def other(self) -> RunStore:
        """Return another object over the same storage, or the same one if objects share nothing."""
        if self._opened and not self.shared:
            return self._opened[0]
        opening = self.make()
        store = await opening if inspect.isawaitable(opening) else opening
        self._opened.append(store)
        return store

    async def pair(self) -> tuple[DurableStore, DurableStore]:
        """Return two objects over the same storage if they have leases; otherwise raise `NotApplicable`."""
        first, second = await self.durable(), await self.other()
        assert isinstance(second, DurableStore)
        return first, second

    async def close(self) -> None:
        """Close every store that was created."""
        for store in self._opened:
            close = getattr(store, "aclose", None)
            if close is not None:
                with contextlib.suppress(Exception):
                    await close()
        self._opened.clear()

    def run_id(self, name: str = "run") -> str:
        """Return a run id that no other clause uses."""
        return f"contract-{self.label}-{name}"


def record(run_id: str, seq: int, body: Mapping[str, Any] | None = None, **changes: Any) -> StepRecord:
    """Return a record in the form of the runtime."""
    values: dict[str, Any] = {
        "run_id": run_id,
        "seq": seq,
        "kind": "action.intent",
        "idempotency_key": "0123456789abcdef0123456789abcdef",
        "body": {"step": seq} if body is None else body,
        "timestamp": MOMENT + timedelta(microseconds=seq),
    }
    return StepRecord(**{**values, **changes})


def text(kept: StepRecord) -> str:
    """Return the JSON line of a loaded record, for comparison."""
    line = json.loads(step_record_to_json(kept))
    line["timestamp"] = datetime.fromisoformat(line["timestamp"]).astimezone(UTC).isoformat()
    return json.dumps(line, sort_keys=True)


def demand_same(found: Sequence[StepRecord], wanted: Sequence[StepRecord], what: str) -> None:
    """Raise `Violated` unless both are the same records in the same order."""
    seqs, expected = [each.seq for each in found], [each.seq for each in wanted]
    demand(seqs == expected, f"{what}: positions {_short(seqs)} instead of {_short(expected)}")
    for one, other in zip(found, wanted, strict=True):
        if (seen := text(one)) != (due := text(other)):
            at = next((i for i, (a, b) in enumerate(zip(seen, due, strict=False)) if a != b), min(len(seen), len(due)))
            start = max(at - 30, 0)
            raise Violated(
                f"{what}: record {one.seq} reads back differently from character {at} on: "
                f"`{seen[start : at + 40]}` instead of `{due[start : at + 40]}`"
            )


def _short(positions: list[int]) -> str:
    shown = ", ".join(map(str, positions[:12]))
    return f"[{shown}{', …' if len(positions) > 12 else ''}] ({len(positions)})"


async def steps(count: int) -> None:
    """Yield to the event loop `count` times."""
    for _ in range(count):
        await asyncio.sleep(0)
