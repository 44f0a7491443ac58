"""The tables of the ledger, in SQLite and in PostgreSQL: one set of statements for both.

An entry is one reservation. An account has the sums of all entries of one scope, of the dimensions that a cap has ever
limited in this store: processes with other caps count for them too.

INVARIANT: entries and accounts change in one transaction; a check and the reservation that it permits are in the same
one, with the accounts locked. Methods block: callers use threads.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from bobcat.errors import LedgerError
from bobcat.ledger.amounts import amount_text
from bobcat.ledger.caps import KINDS, Cap, Dimension, Scope, account_of
from bobcat.ledger.rows import COLUMNS, EntryRow, Spending
from bobcat.stores.connected import Connected, TableSet
from bobcat.stores.connected_place import database_at

_CREATE = (
    """CREATE TABLE IF NOT EXISTS {prefix}ledger_entries (
        id {text} NOT NULL PRIMARY KEY, state {text} NOT NULL,
        run {text} NOT NULL, thread {text} NOT NULL, principal {text} NOT NULL, tenant {text} NOT NULL,
        day {text} NOT NULL, month {text} NOT NULL, model {text} NOT NULL,
        usd {number} NOT NULL, tokens {number} NOT NULL, asked_usd {number} NOT NULL, asked_tokens {number} NOT NULL,
        created {real} NOT NULL, settled {real} NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS {index}ledger_by_time ON {prefix}ledger_entries (created)",
    "CREATE INDEX IF NOT EXISTS {index}ledger_unsettled ON {prefix}ledger_entries (created) WHERE state = 'reserved'",
    """CREATE TABLE IF NOT EXISTS {prefix}ledger_accounts (
        account {text} NOT NULL PRIMARY KEY,
        usd_spent {number} NOT NULL, usd_reserved {number} NOT NULL,
        tokens_spent {number} NOT NULL, tokens_reserved {number} NOT NULL
    )""",
    "CREATE TABLE IF NOT EXISTS {prefix}ledger_dimensions (dimension {text} NOT NULL PRIMARY KEY)",
)
_TABLES = TableSet(
    "ledger",
    {"DIMENSIONS": "ledger_dimensions", "ENTRIES": "ledger_entries", "ACCOUNTS": "ledger_accounts"},
    _CREATE,
    LedgerError,
    "runs.db",
)
_SUMS = """SUM(CASE WHEN state = 'spent' THEN usd ELSE 0 END), SUM(CASE WHEN state = 'reserved' THEN usd ELSE 0 END),
    SUM(CASE WHEN state = 'spent' THEN tokens ELSE 0 END), SUM(CASE WHEN state = 'reserved' THEN tokens ELSE 0 END)"""


class Sums(NamedTuple):
    """A row of the table of accounts."""

    usd_spent: int = 0
    usd_reserved: int = 0
    tokens_spent: int = 0
    tokens_reserved: int = 0


class LedgerStore(Connected):
    """Entries and accounts of the database that a path, a URL, a SQLiteStore or a PostgresStore names.

    Raises `LedgerError`, and `TypeError` for any other `place`.
    """

    def __init__(self, place: object, *, must_exist: bool = False) -> None:
        super().__init__(database_at(place, _TABLES, must_exist=must_exist), _TABLES)
        self._lock_rows = self._database.lock_rows

    def register(self, dimensions: Iterable[Dimension]) -> None:
        """Begin to keep accounts of dimensions, from all entries so far."""
        wanted = set(dimensions)
        if wanted <= set(self.read(self._dimensions)):
            return

        def work() -> None:
            self._lock_dimensions(exclusive=True)
            for dimension in sorted(wanted - set(self._dimensions())):
                self.run("INSERT INTO DIMENSIONS (dimension) VALUES (?)", (json.dumps(dimension),))
                names = ", ".join(_column(name) for name in dimension)
                where = " AND ".join(f"{name} <> ''" for name in dimension)
                query = f"SELECT {names}, {_SUMS} FROM ENTRIES WHERE {where} GROUP BY {names}"
                for row in self.run(query, ()).fetchall():
                    values = dict(zip(dimension, row, strict=False))
                    account = account_of(dimension, Scope(*(values.get(kind, "") for kind in KINDS)))
                    sums = [int(value) for value in row[len(dimension) :]]
                    self.run("INSERT INTO ACCOUNTS VALUES (?, ?, ?, ?, ?)", (account, *sums))

        self.write(work)

    def reserve(self, row: EntryRow, caps: Sequence[Cap]) -> None:
        """Insert a reservation if every cap has room for it. Raises `LedgerError` (`exhausted`): nothing changed."""

        def work() -> None:
            self._lock_dimensions(exclusive=False)
            accounts = self._accounts(row.scope)
            there = self._sums(accounts, lock="")
            for account in (each for each in accounts if each not in there):
                self.run("INSERT INTO ACCOUNTS VALUES (?, 0, 0, 0, 0) ON CONFLICT DO NOTHING", (account,))
            found = self._sums(accounts, lock=self._lock_rows)
            for cap in caps:
                check_room(cap, found[account_of(cap.dimension, row.scope) or ""], row)
            self._add(accounts, Sums(usd_reserved=row.usd, tokens_reserved=row.tokens))
            marks = ", ".join("?" * len(row))
            self.run(f"INSERT INTO ENTRIES ({COLUMNS}) VALUES ({marks})", row)

        self.write(work)

    def settle(self, id: str, change: Callable[[EntryRow], EntryRow]) -> EntryRow:
        """Replace a reservation by what `change` makes of it. Raises `LedgerError`: `unknown`, `settled`."""

        def work() -> EntryRow:
            self._lock_dimensions(exclusive=False)
            query = f"SELECT {COLUMNS} FROM ENTRIES WHERE id = ?{self._lock_rows}"
            found = self.run(query, (id,)).fetchone()
            if found is None:
                raise LedgerError("unknown", f"there is no reservation `{id}`")
            old = EntryRow._make(found)
            if old.state != "reserved":
                raise LedgerError("settled", f"reservation `{id}` was settled before: it is {old.state}")
            new = change(old)
            spent = (new.usd, new.tokens) if new.state == "spent" else (0, 0)
            accounts = self._accounts(old.scope)
            self._sums(accounts, lock=self._lock_rows)
            self._add(accounts, Sums(spent[0], -old.usd, spent[1], -old.tokens))
            self.run(
                "UPDATE ENTRIES SET state = ?, usd = ?, tokens = ?, settled = ? WHERE id = ?",
                (new.state, new.usd, new.tokens, new.settled, id),
            )
            return new

        return self.write(work)

    def sums(self, dimensions: Sequence[Dimension], scope: Scope) -> list[Sums]:
        """Return the sums of the accounts of a scope, one for each dimension. Without a value, they are 0."""
        names = [account_of(dimension, scope) for dimension in dimensions]
        found = self.read(lambda: self._sums([name for name in names if name is not None], lock=""))
        return [found.get(name or "", Sums()) for name in names]

    def unsettled(self, before: float, limit: int) -> list[EntryRow]:
        """Return the reservations made before a time that are not settled, the oldest first."""
        query = f"SELECT {COLUMNS} FROM ENTRIES WHERE state = 'reserved' AND created <= ? ORDER BY created, id LIMIT ?"
        return [EntryRow._make(row) for row in self.read(lambda: self.run(query, (before, limit)).fetchall())]

    def spending(self, by: str, since: float, limit: int) -> list[Spending]:
        """Return the sums by a column, of entries made since a time: the dearest first, periods the latest first."""
        name = _column(by)
        order = f"{name} DESC" if by in ("day", "month") else f"2 DESC, 4 DESC, {name}"
        query = f"""SELECT {name}, {_SUMS}, COUNT(*) FROM ENTRIES
            WHERE created >= ? AND state <> 'released' GROUP BY {name} ORDER BY {order} LIMIT ?"""
        found = self.read(lambda: self.run(query, (since, limit)).fetchall())
        return [
            Spending(key, int(usd), int(tokens), int(usd_reserved), int(tokens_reserved), int(calls))
            for key, usd, usd_reserved, tokens, tokens_reserved, calls in found
        ]

    def _lock_dimensions(self, *, exclusive: bool) -> None:
        """Keep the set of dimensions from changing until the end of the transaction. Writers of entries share it."""
        if not self._database.one_writer:
            self.run(f"LOCK TABLE DIMENSIONS IN {'EXCLUSIVE' if exclusive else 'ROW SHARE'} MODE", ())

    def _dimensions(self) -> list[Dimension]:
        return [tuple(json.loads(text)) for (text,) in self.run("SELECT dimension FROM DIMENSIONS", ()).fetchall()]

    def _accounts(self, scope: Scope) -> list[str]:
        """The accounts of a scope, in the order in which all transactions lock them."""
        found = (account_of(dimension, scope) for dimension in self._dimensions())
        return sorted(account for account in found if account is not None)

    def _sums(self, accounts: Sequence[str], *, lock: str) -> dict[str, Sums]:
        if not accounts:
            return {}
        query = f"SELECT * FROM ACCOUNTS WHERE account IN ({', '.join('?' * len(accounts))}) ORDER BY account{lock}"
        return {name: Sums._make(sums) for name, *sums in self.run(query, accounts).fetchall()}

    def _add(self, accounts: Sequence[str], more: Sums) -> None:
        if accounts:
            changes = ", ".join(f"{name} = {name} + ?" for name in Sums._fields)
            marks = ", ".join("?" * len(accounts))
            self.run(f"UPDATE ACCOUNTS SET {changes} WHERE account IN ({marks})", (*more, *accounts))


def _column(name: str) -> str:
    if name not in (*KINDS, "model"):
        raise LedgerError("bad_scope", f"spending is by {', '.join((*KINDS, 'model'))}; got `{name}`")
    return name


def check_room(cap: Cap, sums: Sums, row: EntryRow) -> None:
    """Raise `LedgerError` (`exhausted`) unless a cap has room for a reservation."""
    for unit, limit in cap.limits():
        asked: int = getattr(row, unit)
        spent: int = getattr(sums, f"{unit}_spent")
        reserved: int = getattr(sums, f"{unit}_reserved")
        if spent + reserved + asked > limit:
            raise LedgerError(
                "exhausted",
                f"the cap of {cap} has no room for {amount_text(unit, asked)}: {amount_text(unit, spent)} spent, "
                f"{amount_text(unit, reserved)} reserved",
                cap=str(cap), unit=unit, spent=spent, reserved=reserved, asked=asked,
            )  # fmt: skip
