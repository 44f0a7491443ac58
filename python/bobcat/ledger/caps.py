"""Caps, and the accounts that they limit: one for each value of a scope, such as a thread, or a day of a tenant."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from bobcat.errors import LedgerError
from bobcat.ledger.amounts import Money, amount_text, micro_dollars, token_count

ScopeKind: TypeAlias = Literal["run", "thread", "principal", "tenant", "day", "month"]
CapBy: TypeAlias = Literal["run", "thread", "principal", "tenant"]

KINDS: tuple[ScopeKind, ...] = ("run", "thread", "principal", "tenant", "day", "month")
PERIODS = ("day", "month")
OWNERS = ("run", "thread", "principal", "tenant")

Dimension: TypeAlias = tuple[str, ...]
"""The columns of an entry whose values name an account: `("thread",)`, `("day", "tenant")`."""


class Scope(NamedTuple):
    """The values of one reservation; an empty text is no value. Days and months are those of UTC."""

    run: str
    thread: str
    principal: str
    tenant: str
    day: str
    month: str


@dataclass(frozen=True, slots=True, init=False)
class Cap:
    """Limit of what each run, thread, principal, tenant, day or month may spend: `usd`, `tokens`, or both.

    A period may be limited for each owner separately: `Cap("day", usd=100, by="tenant")`. Caps of runs, threads,
    principals and tenants have no end. The attribute `usd` is in micro-dollars. Raises `LedgerError`: `bad_cap` for an
    unknown scope or no limit, `bad_amount` for an invalid amount.
    """

    per: ScopeKind
    usd: int | None
    tokens: int | None
    by: CapBy | None

    def __init__(
        self, per: ScopeKind, *, usd: Money | None = None, tokens: int | None = None, by: CapBy | None = None
    ) -> None:
        if per not in KINDS:
            raise LedgerError("bad_cap", f"a cap is per {', '.join(KINDS)}; got {per!r}")
        if by is not None and (per not in PERIODS or by not in OWNERS):
            raise LedgerError("bad_cap", f"`by` is {', '.join(OWNERS)}, of a day or a month; got {per!r} by {by!r}")
        if usd is None and tokens is None:
            raise LedgerError("bad_cap", f'the cap per {per} has no limit; write Cap("{per}", usd=10)')
        set_ = object.__setattr__
        set_(self, "per", per)
        set_(self, "by", by)
        set_(self, "usd", None if usd is None else micro_dollars(usd, f"usd of the cap per {per}"))
        set_(self, "tokens", None if tokens is None else token_count(tokens, f"tokens of the cap per {per}"))

    @property
    def dimension(self) -> Dimension:
        """The columns that name an account of this cap."""
        return (self.per,) if self.by is None else (self.per, self.by)

    def limits(self) -> list[tuple[str, int]]:
        """Return the units that are limited, each with its limit."""
        return [(unit, limit) for unit, limit in (("usd", self.usd), ("tokens", self.tokens)) if limit is not None]

    def __str__(self) -> str:
        shown = " and ".join(amount_text(unit, limit) for unit, limit in self.limits())
        return f"{shown} per {self.per}{f' and {self.by}' if self.by else ''}"


def account_of(dimension: Dimension, scope: Scope) -> str | None:
    """Return the account of a dimension, as JSON; None where the scope has no value for it."""
    values = [getattr(scope, name) for name in dimension]
    if not all(values):
        return None
    return json.dumps([*dimension, *values], ensure_ascii=True, separators=(",", ":"))


def checked_caps(caps: object) -> tuple[Cap, ...]:
    """Return the caps. Raises `TypeError` for anything else than a sequence of `Cap`."""
    if isinstance(caps, Cap) or not isinstance(caps, Sequence) or not all(isinstance(cap, Cap) for cap in caps):
        raise TypeError(f'caps must be a list of Cap, such as [Cap("day", usd=100)]; got {type(caps).__name__}')
    return tuple(caps)
