"""Runs that stand still at their points until the database has gone, and go on while it is away.

One outage serves any number of runs: each stands at one point of its own, a write of its journal or its tool.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bobcat import Happened, NotHappened, RunResult, ToolSet, tool
from kernel.crashing_process import AMOUNTS, CrashingStore, attempt


class Outage:
    """Lets runs go on when all of them stand, and the database is away."""

    def __init__(self, runs: int) -> None:
        self._missing = runs
        self._all = asyncio.Event()
        self._away = asyncio.Event()
        if not runs:
            self._all.set()

    def one_less(self) -> None:
        """A run is at its point, or over."""
        self._missing -= 1
        if self._missing == 0:
            self._all.set()

    async def stand(self) -> None:
        """Stand until the database is away."""
        self.one_less()
        await self._away.wait()

    async def happens(self, goes: Callable[[], object], comes: Callable[[], Awaitable[object]]) -> None:
        """Take the database away when all stand, let them go on, and bring it back."""
        await self._all.wait()
        goes()
        self._away.set()
        await comes()


class Point(NamedTuple):
    """Point of an outage: before or after write `at`, from 1; with `in_tool`, before or after payment `at`."""

    at: int
    after: bool
    in_tool: bool = False

    @property
    def name(self) -> str:
        return f"{'tool' if self.in_tool else 'write'}{self.at}{'after' if self.after else 'before'}"


class Halted(CrashingStore):
    """A store on whose write a run stands."""

    def __init__(self, inner: Any, run: Halting) -> None:
        super().__init__(inner)
        self._run, self._point = run, run.point

    async def _reached(self, *, after: bool) -> None:
        if not after:
            self.writes += 1
        if not self._point.in_tool and (self._point.at, self._point.after) == (self.writes, after):
            await self._run.stand()

    async def _write(self, call: Any, *args: Any, **options: Any) -> Any:
        await self._reached(after=False)
        value = await call(*args, **options)
        await self._reached(after=True)
        return value

    def transaction(self, lease: Any) -> AbstractAsyncContextManager[Any]:
        @asynccontextmanager
        async def halted() -> Any:
            async with self._inner.transaction(lease) as found:
                await self._reached(after=False)
                yield found
                await self._reached(after=True)  # what was written, and its record, are not committed yet

        return halted()


@dataclass
class Ledger:
    """Payments: keys by amount. `once` is a receiver that acts once on a key."""

    once: bool
    paid: list[tuple[str, int]] = field(default_factory=list)

    def pay(self, key: str, amount: int) -> None:
        if not self.once or (key, amount) not in self.paid:
            self.paid.append((key, amount))


@dataclass
class Halting:
    """One run that meets an outage."""

    run_id: str
    effect: str
    point: Point
    outage: Outage
    table: str = ""
    """The table of a transactional tool."""
    reconciled: bool = False
    ledger: Ledger = field(init=False)
    stood: bool = False
    ended: bool = False

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.effect == "keyed")

    async def _in_tool(self, amount: int, *, after: bool) -> None:
        if self.point.in_tool and (AMOUNTS[self.point.at - 1], self.point.after) == (amount, after) and not self.ended:
            await self.stand()

    async def stand(self) -> None:
        """The run is at its point."""
        self.stood = True
        await self.outage.stand()

    def tools(self) -> ToolSet:
        if self.effect == "keyed":

            @tool(effect="keyed", name="pay")
            async def pay(amount: int, idempotency_key: str) -> str:
                await self._in_tool(amount, after=False)
                self.ledger.pay(idempotency_key, amount)
                await self._in_tool(amount, after=True)
                return "paid"

        elif self.effect == "transactional":

            @tool(effect="transactional", name="pay")
            async def pay(amount: int, transaction: Any) -> str:
                await self._in_tool(amount, after=False)
                sql = f"INSERT INTO {self.table} VALUES (%s, %s)"
                await transaction.connection.execute(sql.encode(), (self.run_id, amount))
                await self._in_tool(amount, after=True)
                return "paid"

        else:

            @tool(effect=self.effect, name="pay")  # type: ignore[arg-type]
            async def pay(amount: int) -> str:
                await self._in_tool(amount, after=False)
                self.ledger.pay("", amount)
                await self._in_tool(amount, after=True)
                return "paid"

        if self.reconciled:

            @pay.reconcile  # type: ignore[attr-defined]
            async def did_pay(key: str, args: Any) -> Happened | NotHappened:
                paid = {amount for _, amount in self.ledger.paid}
                return Happened("paid, says the bank") if args["amount"] in paid else NotHappened()

        return ToolSet.from_functions(pay)

    async def meet(self, inner: Any, **options: Any) -> RunResult:
        """The attempt that meets the outage."""
        try:
            return await attempt(Halted(inner, self), self.run_id, self.tools(), **options)
        finally:
            self.ended = True
            if not self.stood:
                self.outage.one_less()

    async def resume(self, inner: Any, **options: Any) -> RunResult:
        """An attempt that meets none."""
        self.ended = True
        return await attempt(CrashingStore(inner), self.run_id, self.tools(), **options)


class Account(NamedTuple):
    """The payments of a run, and its report of them."""

    paid: Counter[int]
    said: dict[int, tuple[bool, str]]

    @property
    def doubled(self) -> list[int]:
        return [amount for amount in AMOUNTS if self.paid[amount] > 1]

    @property
    def lost(self) -> list[int]:
        """Payments that were not made, and that the run says were made, or says nothing of."""
        return [amount for amount in AMOUNTS if not self.paid[amount] and self.said.get(amount, (True, ""))[0]]

    @property
    def unsaid(self) -> list[int]:
        """Payments that were made, and that the run says were certainly not."""
        return [
            amount
            for amount in AMOUNTS
            if self.paid[amount]
            and not (reported := self.said.get(amount, (False, "")))[0]
            and "may have" not in reported[1]
        ]


async def account(inner: Any, run: Halting, rows: Sequence[int] = ()) -> Account:
    """The account of a run that is over; `rows` are the amounts that transactions wrote."""
    said = {}
    for record in await inner.load(run.run_id):
        if record.kind == "action.result":
            said[AMOUNTS[record.body["step"]]] = bool(record.body["ok"]), str(record.body.get("message"))
    paid = rows if run.effect == "transactional" else [amount for _, amount in run.ledger.paid]
    return Account(Counter(paid), said)


def points(writes: int, *, every: int = 1) -> list[Point]:
    """Before and after each write, and each payment."""
    at_writes = [Point(at, after) for at in range(1, writes + 1) for after in (False, True)]
    in_tools = [Point(at, after, in_tool=True) for at in range(1, len(AMOUNTS) + 1) for after in (False, True)]
    return (at_writes + in_tools)[::every]
