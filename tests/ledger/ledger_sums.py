"""The sums of accounts, and the entries that they are the sums of, as a store has them."""

from __future__ import annotations

from typing import Any

from bobcat import Ledger


def sums_of(ledger: Ledger) -> tuple[dict[str, tuple[int, ...]], tuple[int, ...]]:
    """Return the rows of all accounts, and the totals of the entries: usd spent and reserved, tokens likewise."""
    store: Any = ledger._store
    totals = """SELECT COALESCE(SUM(CASE WHEN state = 'spent' THEN usd END), 0),
        COALESCE(SUM(CASE WHEN state = 'reserved' THEN usd END), 0),
        COALESCE(SUM(CASE WHEN state = 'spent' THEN tokens END), 0),
        COALESCE(SUM(CASE WHEN state = 'reserved' THEN tokens END), 0) FROM ENTRIES"""
    accounts = store.read(lambda: store.run("SELECT * FROM ACCOUNTS", ()).fetchall())
    (entries,) = store.read(lambda: store.run(totals, ()).fetchall())
    return {name: tuple(map(int, sums)) for name, *sums in accounts}, tuple(map(int, entries))
