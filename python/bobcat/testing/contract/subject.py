"""What a clause gets to work with: the store under test, names of its own, and words for what it sees."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from bobcat.journal import RunStore, StepRecord, step_record_to_json
from bobcat.plain_json import describe
from bobcat.stores.durable import DurableStore, TransactionalStore

Make: TypeAlias = Callable[[], RunStore | Awaitable[RunStore]]
Crash: TypeAlias = Callable[[], Awaitable[None] | None]

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


class Violated(Exception):
    """A clause is violated; the text says what was seen."""


class NotApplicable(Exception):
    """A clause says nothing about this store; the text says why."""


def demand(kept: object, seen: str) -> None:
    """The clause is violated unless `kept`."""
    if not kept:
        raise Violated(seen)


async def refusal(call: Awaitable[object]) -> Exception | None:
    """The exception that a call ends with, or None."""
    try:
        await call
    except Exception as error:
        return error
    return None


async def demand_refused(call: Awaitable[object], wanted: type[Exception], what: str) -> Exception:
    """The clause is violated unless the call raises `wanted`."""
    error = await refusal(call)
    demand(isinstance(error, wanted), f"{what} {'went through' if error is None else 'raised ' + describe(error)}")
    assert error is not None
    return error


@dataclass(slots=True)
class Subject:
    """The store under test. `other()` is a second object over the same storage: another worker."""

    make: Make
    shared: bool
    writers: int
    crash: Crash | None
    label: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    _made: list[RunStore] = field(default_factory=list)

    async def store(self) -> RunStore:
        """The store object of this clause."""
        return self._made[0] if self._made else await self.other()

    async def durable(self) -> DurableStore:
        """The store, when it fences; else the clause says nothing about it."""
        store = await self.store()
        if not isinstance(store, DurableStore):
            missing = [name for name in _METHODS if not hasattr(store, name)]
            raise NotApplicable(f"the store is no DurableStore: it has no {', '.join(missing)}")
        return store

    async def transactional(self) -> TransactionalStore:
        """The store, when it has transactions."""
        store = await self.durable()
        if not isinstance(store, TransactionalStore):
            raise NotApplicable("the store has no transactions")
        return store

    async def other(self) -> RunStore:
        """Another object over the same storage, or the same one where objects share nothing."""
        if self._made and not self.shared:
            return self._made[0]
        made = self.make()
        store = await made if inspect.isawaitable(made) else made
        self._made.append(store)
        return store

    async def close(self) -> None:
        """Let go of every store that was made."""
        for store in self._made:
            close = getattr(store, "aclose", None)
            if close is not None:
                with contextlib.suppress(Exception):
                    await close()
        self._made.clear()

    def run_id(self, name: str = "run") -> str:
        """A run id that no other clause uses."""
        return f"contract-{self.label}-{name}"


_METHODS = (
    "acquire renew release append_fenced load_from set_status runs run get put scan now aclose"
).split()  # fmt: skip


def record(run_id: str, seq: int, body: Mapping[str, Any] | None = None, **changes: Any) -> StepRecord:
    """A record as the kernel writes them."""
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
    """The JSON line of a record as it reads back: what has to be equal."""
    line = json.loads(step_record_to_json(kept))
    line["timestamp"] = datetime.fromisoformat(line["timestamp"]).astimezone(UTC).isoformat()
    return json.dumps(line, sort_keys=True)


def demand_same(found: Sequence[StepRecord], wanted: Sequence[StepRecord], what: str) -> None:
    """The clause is violated unless both are the same records in the same order."""
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
    """Let the event loop go round a number of times."""
    for _ in range(count):
        await asyncio.sleep(0)
