"""A crashing worker: a store that stops at one of its writes, and payments that are counted outside of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import bobcat
from bobcat import FinalAnswer, Happened, Message, NotHappened, RunResult, ToolCall, ToolSet, tool
from bobcat.stores.protocol import batching

AMOUNTS = (10, 20, 30)
POLICY = bobcat.compile_policy("rules: [{id: pay, match: {tool: pay}, decision: allow}]")


class Died(BaseException):
    """The process is gone."""


class CrashingStore:
    """A `TransactionalStore` over another one, for one worker: it dies before or after write `at`, counted from 1.

    Over a `BatchingStore` it is one too.
    """

    def __new__(cls, inner: Any, *args: Any, **options: Any) -> CrashingStore:
        if batching(inner) is not None and not issubclass(cls, CrashingBatches):
            return object.__new__(type(cls.__name__, (CrashingBatches, cls), {}))
        return object.__new__(cls)

    def __init__(self, inner: Any, at: int = 0, *, after: bool = False) -> None:
        self._inner = inner
        self._at = at
        self._after = after
        self.writes = 0
        self.dead = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def _write(self, call: Any, *args: Any, **options: Any) -> Any:
        if self.dead:
            raise Died
        self.writes += 1
        if self.writes == self._at and not self._after:
            self.dead = True
            raise Died
        value = await call(*args, **options)
        if self.writes == self._at:
            self.dead = True
            raise Died
        return value

    async def append(self, record: Any) -> None:
        await self._write(self._inner.append, record)

    async def append_fenced(self, record: Any, lease: Any) -> None:
        await self._write(self._inner.append_fenced, record, lease)

    async def acquire(self, run_id: str, **options: Any) -> Any:
        return await self._write(self._inner.acquire, run_id, **options)

    async def renew(self, lease: Any, **options: Any) -> Any:
        return await self._write(self._inner.renew, lease, **options)

    async def release(self, lease: Any) -> None:
        await self._write(self._inner.release, lease)

    async def set_status(self, *args: Any, **options: Any) -> None:
        await self._write(self._inner.set_status, *args, **options)

    async def put(self, *args: Any, **options: Any) -> Any:
        return await self._write(self._inner.put, *args, **options)

    def transaction(self, lease: Any) -> AbstractAsyncContextManager[Any]:
        @asynccontextmanager
        async def crashing_process() -> Any:
            if self.dead:
                raise Died
            async with self._inner.transaction(lease) as found:
                self.writes += 1
                if self.writes == self._at and not self._after:
                    self.dead = True
                    raise Died
                yield found
                self.writes += 1  # a death here is one before the commit
                if self.writes == self._at and not self._after:
                    self.dead = True
                    raise Died
            if self.writes == self._at:
                self.dead = True
                raise Died

        return crashing_process()


for _name in ("load", "load_from", "runs", "run", "get", "scan", "now", "aclose"):  # a protocol asks the class

    def _forward(self: CrashingStore, *args: Any, _name: str = _name, **options: Any) -> Any:
        if self.dead:
            raise Died
        return getattr(self._inner, _name)(*args, **options)

    setattr(CrashingStore, _name, _forward)


class CrashingBatches(CrashingStore):
    """Counts each batch as one write."""

    async def begin(self, run_id: str, **options: Any) -> Any:
        return await self._write(self._inner.begin, run_id, **options)

    async def append_group(self, records: Any, lease: Any) -> None:
        await self._write(self._inner.append_group, records, lease)

    async def finish(self, status: Any, **options: Any) -> None:
        await self._write(self._inner.finish, status, **options)

    async def conclude(self, records: Any, status: Any, **options: Any) -> None:
        await self._write(self._inner.conclude, records, status, **options)


class Payer:
    """Makes the three payments, one after the other. It takes its time, so that results are written meanwhile."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        done = sum(message.role == "tool" for message in conversation)
        return ToolCall("pay", {"amount": AMOUNTS[done]}) if done < len(AMOUNTS) else FinalAnswer("all paid")


@dataclass
class Bank:
    """The bank: payments and their keys. `once` is a bank that acts once on a key."""

    once: bool = False
    paid: list[tuple[str, int]] = field(default_factory=list)

    def pay(self, key: str, amount: int) -> None:
        if not self.once or key not in dict(self.paid):
            self.paid.append((key, amount))


def tools(bank: Bank, effect: Any, *, reconciled: bool, run_id: str = "") -> ToolSet:
    """`pay`, of some effect. The test passes the key as the amount."""
    if effect == "keyed":

        @tool(effect="keyed", name="pay")
        async def pay(amount: int, idempotency_key: str) -> str:
            bank.pay(idempotency_key, amount)
            return "paid"

    elif effect == "transactional":

        @tool(effect="transactional", name="pay")
        async def pay(amount: int, transaction: Any) -> str:
            sql = "insert into paid (run, amount) values (?, ?)"
            transaction.connection.execute(sql, (run_id, amount))
            return "paid"

    else:

        @tool(effect=effect, name="pay")
        async def pay(amount: int) -> str:
            bank.pay(str(amount), amount)
            return "paid"

    if reconciled:

        @pay.reconcile  # type: ignore[attr-defined]
        async def did_pay(key: str, args: Any) -> Happened | NotHappened:
            paid = {amount for _, amount in bank.paid}
            return Happened("paid") if args["amount"] in paid else NotHappened()

    return ToolSet.from_functions(pay)


class Death(NamedTuple):
    """Before or after a write of one attempt."""

    at: int
    after: bool


class Outcome(NamedTuple):
    """Outcome of a crashed run: payments by amount, and those that it reports as possible."""

    result: RunResult
    paid: Counter[int]
    uncertain: set[int]
    reported: dict[int, bool]

    @property
    def doubled(self) -> int:
        return sum(count - 1 for count in self.paid.values() if count > 1)

    @property
    def lost(self) -> int:
        """Payments that the run says were made, or about which it says nothing, and that were not."""
        return sum(self.paid[amount] == 0 and amount not in self.uncertain for amount in AMOUNTS)


async def attempt(store: Any, run_id: str, found: ToolSet, **options: Any) -> RunResult:
    """One attempt of a worker."""
    given = {"owner": "worker", **options}
    return await bobcat.run_agent(Payer(), "pay", tools=found, policy=POLICY, store=store, run_id=run_id, **given)


async def survive(
    inner: Any, run_id: str, deaths: Sequence[Death], effect: Any, *, reconciled: bool = False
) -> Outcome:
    """A run whose worker dies once for each of `deaths`, and then no more."""
    bank = Bank(once=effect == "keyed")
    found = tools(bank, effect, reconciled=reconciled, run_id=run_id)
    for death in deaths:
        try:
            await attempt(CrashingStore(inner, death.at, after=death.after), run_id, found)
        except Died:
            continue
    result = await attempt(CrashingStore(inner), run_id, found)
    records = await inner.load(run_id)
    results = {record.body["step"]: record.body for record in records if record.kind == "action.result"}
    uncertain = {AMOUNTS[step] for step, body in results.items() if body.get("uncertain_retry")}
    reported = {AMOUNTS[step]: body["ok"] for step, body in results.items()}
    return Outcome(result, Counter(amount for _, amount in bank.paid), uncertain, reported)


async def writes_of_a_run(inner: Any, effect: Any = "unsafe", run_id: str = "whole") -> int:
    """The number of writes of a run without a crash."""
    store = CrashingStore(inner)
    await attempt(store, run_id, tools(Bank(), effect, reconciled=False, run_id=run_id))
    return store.writes


async def all_of(makes: Sequence[Any], at_once: int = 64) -> list[Any]:
    """The values of coroutines, a number of them at once: a store then commits for many."""
    gate = asyncio.Semaphore(at_once)

    async def one(make: Any) -> Any:
        async with gate:
            return await make

    return list(await asyncio.gather(*map(one, makes)))
