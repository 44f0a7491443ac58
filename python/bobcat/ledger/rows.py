"""Values of the ledger: reservations, balances of caps, and what was spent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TypeAlias

from bobcat.ledger.amounts import MICRO
from bobcat.ledger.caps import Cap, Scope

EntryState: TypeAlias = Literal["reserved", "spent", "released"]


class EntryRow(NamedTuple):
    """A row of the table of entries. Amounts are what counts now: reserved, spent, or 0 after a release."""

    id: str
    state: EntryState
    run: str
    thread: str
    principal: str
    tenant: str
    day: str
    month: str
    model: str
    usd: int
    tokens: int
    asked_usd: int
    asked_tokens: int
    created: float
    settled: float

    @property
    def scope(self) -> Scope:
        """The scope of the entry."""
        return Scope(*self[2:8])


COLUMNS = ", ".join(EntryRow._fields)


@dataclass(frozen=True, slots=True)
class Reservation:
    """The worst case of one call, set aside. `usd` is in micro-dollars. It counts in full until it is settled."""

    id: str
    usd: int
    tokens: int
    model: str
    run: str
    thread: str
    principal: str
    tenant: str
    created: datetime

    # Any: JSON.
    def to_json(self) -> dict[str, Any]:
        """Return the reservation as JSON."""
        shown = {name: getattr(self, name) for name in self.__slots__ if name not in ("usd", "created")}
        return {**shown, "usd": usd_json(self.usd), "created": self.created.isoformat()}


def reservation_of(row: EntryRow) -> Reservation:
    """Return the reservation of a row."""
    created = datetime.fromtimestamp(row.created, UTC)
    return Reservation(
        row.id, row.asked_usd, row.asked_tokens, row.model, row.run, row.thread, row.principal, row.tenant, created
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Balance:
    """The state of one limit of a cap: `unit` is `usd`, with amounts in micro-dollars, or `tokens`."""

    cap: Cap
    unit: str
    limit: int
    spent: int
    reserved: int

    @property
    def remaining(self) -> int:
        """The amount that can still be reserved; never negative."""
        return max(0, self.limit - self.spent - self.reserved)


@dataclass(frozen=True, slots=True)
class Spending:
    """The sums of one run, thread, principal, tenant, day, month or model. Money is in micro-dollars."""

    name: str
    usd: int
    tokens: int
    reserved_usd: int
    reserved_tokens: int
    calls: int

    # Any: JSON.
    def to_json(self) -> dict[str, Any]:
        """Return the sums as JSON: dollars as text, exactly."""
        return {
            "name": self.name, "usd": usd_json(self.usd), "tokens": self.tokens,
            "reserved_usd": usd_json(self.reserved_usd), "reserved_tokens": self.reserved_tokens, "calls": self.calls,
        }  # fmt: skip


def usd_json(micro: int) -> str:
    """Format micro-dollars as a decimal number of dollars with six decimals."""
    return f"{micro // MICRO}.{micro % MICRO:06d}"
