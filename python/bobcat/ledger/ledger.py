"""`Ledger`: reserve the worst case before a call, commit what it took, release what did not happen.

ledger = Ledger("runs.db", caps=[Cap("thread", usd=10), Cap("day", usd=100, by="tenant")])
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar
from uuid import uuid4

from bobcat.aio.tasks import wait_shielded
from bobcat.errors import LedgerError
from bobcat.ledger.amounts import MAX_AMOUNT, Money, amount_text, micro_dollars, token_count
from bobcat.ledger.caps import Cap, Scope, account_of, checked_caps
from bobcat.ledger.prices import Price, Prices
from bobcat.ledger.rows import Balance, EntryRow, Reservation, Spending, reservation_of
from bobcat.ledger.store import LedgerStore
from bobcat.model.run import Usage

if TYPE_CHECKING:
    import os

    from bobcat.stores import PostgresStore, SQLiteStore

T = TypeVar("T")
LIMIT = 1000


class Ledger:
    """Keeps what runs spend, in money and tokens, under caps that all processes of a store share.

    `store` is a path of a SQLite file, a URL (`sqlite:///PATH`, `postgres://...`), a SQLiteStore, whose file then has
    the ledger too, or a PostgresStore. `prices` are those of `Prices.stock()` by default. A reservation counts in full
    until it is committed or released: also that of a process that was killed. `clock` supplies the time, with its zone.

    Raises `LedgerError` for a store that cannot be opened, and `TypeError` for invalid arguments.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] | SQLiteStore | PostgresStore,
        caps: Sequence[Cap] = (),
        *,
        prices: Prices | None = None,
        clock: Callable[[], datetime] | None = None,
        must_exist: bool = False,
    ) -> None:
        self.caps = checked_caps(caps)
        if prices is not None and not isinstance(prices, Prices):
            raise TypeError(f"prices must be Prices, got {type(prices).__name__}; write Prices.from_mapping(...)")
        self.prices = Prices.stock() if prices is None else prices
        self._clock = clock
        self._now()
        self._store = LedgerStore(store, must_exist=must_exist)
        self._registered = {cap.dimension for cap in self.caps}
        if self.caps:
            self._store.register(self._registered)

    async def reserve(
        self,
        *,
        model: str = "",
        input_tokens: int = 0,
        output_tokens: int = 0,
        usd: Money | None = None,
        run: str = "",
        thread: str = "",
        principal: str = "",
        tenant: str = "",
        caps: Sequence[Cap] = (),
    ) -> Reservation:
        """Reserve the worst case of a call, if every cap has room for it: tokens at the model's prices, and `usd`.

        `caps` hold for this call beside those of the ledger.

        Raises `LedgerError`, and reserves nothing: `above_cap` when the amount exceeds a whole cap, `exhausted` when
        the rest of a cap is too small, `no_scope` when a cap is of a thread, for example, and none is given,
        `unknown_model`, `bad_amount`, or a code of the store.
        """
        tokens = token_count(input_tokens, "input_tokens") + token_count(output_tokens, "output_tokens")
        amount = 0 if usd is None else micro_dollars(usd, "usd")
        if tokens or model:
            amount += self.prices.of(model).worst(input_tokens, output_tokens)
        row = self._row(model, amount, tokens, Scope(run, thread, principal, tenant, "", ""))
        holding = (*self.caps, *checked_caps(caps))
        for cap in holding:
            check_whole(cap, row)
        new = {cap.dimension for cap in holding} - self._registered
        if new:
            await self._in_thread(lambda: self._store.register(new))
            self._registered |= new
        task = asyncio.ensure_future(asyncio.to_thread(self._store.reserve, row, holding))
        try:
            await wait_shielded(task)
        except asyncio.CancelledError:
            if task.done() and not task.cancelled() and task.exception() is None:
                await wait_shielded(asyncio.to_thread(self._store.settle, row.id, self._released))
            raise
        return reservation_of(row)

    async def commit(
        self, reservation: Reservation | str, usage: Usage | None = None, *, usd: Money | None = None
    ) -> Reservation:
        """Record what a call took, `usage` at the model's prices and `usd`; without either, all that was reserved.

        Returns the reservation with the amounts spent. What exceeds the reservation counts as well: later calls have
        less. Raises `LedgerError`: `unknown`, `settled`, `bad_amount`, `unknown_model`, or a code of the store; the
        reservation then still counts in full.
        """
        extra = None if usd is None else micro_dollars(usd, "usd")

        def change(row: EntryRow) -> EntryRow:
            spent, tokens = row.usd, row.tokens
            if usage is not None or extra is not None:
                spent, tokens = extra or 0, 0
            if usage is not None:
                counts = usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens
                tokens = sum(token_count(count or 0, "a usage") for count in counts)
                spent += self._price_of(usage, row).cost(usage)
            if max(spent, tokens) > MAX_AMOUNT:
                raise LedgerError("bad_amount", "the usage is larger than any call can be")
            return row._replace(state="spent", usd=spent, tokens=tokens, settled=self._now().timestamp())

        row = await self._settle(reservation, change)
        return reservation_of(row._replace(asked_usd=row.usd, asked_tokens=row.tokens))

    async def release(self, reservation: Reservation | str) -> None:
        """Give back a reservation whose call was not made. Raises `LedgerError`: `unknown`, `settled`."""
        await self._settle(reservation, self._released)

    async def unsettled(self, *, older_than_seconds: float = 0.0, limit: int = LIMIT) -> list[Reservation]:
        """Return reservations that are neither committed nor released, the oldest first.

        Those of killed processes stay: commit or release them when the vendor's report says what happened.
        """
        before, limit = self._now().timestamp() - older_than_seconds, _row_limit(limit)
        return [reservation_of(row) for row in await self._in_thread(lambda: self._store.unsettled(before, limit))]

    async def balances(
        self, *, run: str = "", thread: str = "", principal: str = "", tenant: str = ""
    ) -> list[Balance]:
        """Return the state of each limit of the caps, for these scopes, at present."""
        scope = self._row("", 0, 0, Scope(run, thread, principal, tenant, "", "")).scope
        sums = await self._in_thread(lambda: self._store.sums([cap.dimension for cap in self.caps], scope))
        return [
            Balance(cap, unit, limit, getattr(found, f"{unit}_spent"), getattr(found, f"{unit}_reserved"))
            for cap, found in zip(self.caps, sums, strict=True)
            for unit, limit in cap.limits()
        ]

    async def spending(self, by: str = "run", *, since: datetime | None = None, limit: int = LIMIT) -> list[Spending]:
        """Return sums by `run`, `thread`, `principal`, `tenant`, `day`, `month` or `model`, the dearest first.

        Days and months come with the latest first. `since` must have a time zone.
        """
        if since is not None and since.tzinfo is None:
            raise TypeError("since must have a time zone, such as datetime(2026, 11, 1, tzinfo=UTC)")
        start, limit = 0.0 if since is None else since.timestamp(), _row_limit(limit)
        return await self._in_thread(lambda: self._store.spending(by, start, limit))

    def account(
        self,
        *,
        thread: str = "",
        tenant: str = "",
        principal: str = "",
        run: str = "",
        model: str | None = None,
        max_output_tokens: int | None = None,
        overhead_tokens: int = 2_000,
    ) -> LedgerAccount:
        """Return this ledger with the scope of a run, for `run_agent(ledger=...)`."""
        if max_output_tokens is not None:
            token_count(max_output_tokens, "max_output_tokens")
        token_count(overhead_tokens, "overhead_tokens")
        return LedgerAccount(self, thread, tenant, principal, run, model, max_output_tokens, overhead_tokens)

    def close(self) -> None:
        """Close the connection."""
        self._store.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _price_of(self, usage: Usage, row: EntryRow) -> Price:
        """The price of the model that the reply names, if it is known; else that of the reservation's."""
        try:
            return self.prices.of(usage.model or row.model)
        except LedgerError:
            return self.prices.of(row.model)

    def _row(self, model: str, usd: int, tokens: int, scope: Scope) -> EntryRow:
        now = self._now()
        day, month = now.strftime("%Y-%m-%d"), now.strftime("%Y-%m")
        for name, value in zip(Scope._fields[:4], scope[:4], strict=True):
            if not isinstance(value, str) or "\0" in value:
                raise TypeError(f"{name} must be a text, got {value!r}")
        return EntryRow(
            uuid4().hex, "reserved", *scope[:4], day, month, model, usd, tokens, usd, tokens, now.timestamp(), 0.0
        )  # fmt: skip

    def _now(self) -> datetime:
        if self._clock is None:
            return datetime.fromtimestamp(time.time(), UTC)
        now = self._clock()
        if now.tzinfo is None:
            raise TypeError("clock must return a time with its zone, such as datetime.now(UTC)")
        return now.astimezone(UTC)

    def _released(self, row: EntryRow) -> EntryRow:
        return row._replace(state="released", usd=0, tokens=0, settled=self._now().timestamp())

    async def _settle(self, reservation: Reservation | str, change: Callable[[EntryRow], EntryRow]) -> EntryRow:
        id = reservation if isinstance(reservation, str) else reservation.id
        return await self._in_thread(lambda: self._store.settle(id, change))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await wait_shielded(asyncio.to_thread(work))


@dataclass(frozen=True, slots=True)
class LedgerAccount:
    """A ledger with the scope of a run, for `run_agent(ledger=...)`: `ledger.account(thread="acme/42")`.

    `model` and `max_output_tokens` replace those of the agent. `overhead_tokens` are added to the input that the
    conversation and the tools make, for a system prompt that the run does not see.
    """

    ledger: Ledger
    thread: str = ""
    tenant: str = ""
    principal: str = ""
    run: str = ""
    model: str | None = None
    max_output_tokens: int | None = None
    overhead_tokens: int = 2_000


def _row_limit(limit: object) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise LedgerError("bad_amount", f"limit must be an integer of at least 1, got {str(limit)[:60]}")
    return min(limit, MAX_AMOUNT)


def check_whole(cap: Cap, row: EntryRow) -> None:
    """Raise `LedgerError` for a reservation that this cap can never have room for, or that names no account of it."""
    if account_of(cap.dimension, row.scope) is None:
        missing = next(name for name in cap.dimension if not getattr(row, name))
        raise LedgerError("no_scope", f"the cap of {cap} needs a {missing}; give {missing}=...", cap=str(cap))
    for unit, limit in cap.limits():
        asked: int = getattr(row, unit)
        if asked > limit:
            text = f"the call may take {amount_text(unit, asked)}, more than the whole cap of {cap}"
            raise LedgerError("above_cap", text, cap=str(cap), unit=unit, asked=asked)
