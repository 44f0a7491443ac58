"""The tables of a decision log in a database: entries, and the head that changes in the transaction of each append."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from bobcat.decision_log.entry import Head, Row
from bobcat.decision_log.medium import Located, Stored
from bobcat.errors import DecisionLogError

T = TypeVar("T")
VERSION = 1
COLUMNS = "seq, record_id, kind, at, body, previous, hash"
LAST = (1 << 63) - 1
"""The greatest position."""


class LogTables(ABC):
    """Storage whose connections have `execute`. `name` is that of the log in messages."""

    unit = "entry"
    name: str
    entries: str
    head: str
    mark: str
    """The placeholder of the driver."""
    page: int
    """Rows that are read at once."""

    @abstractmethod
    def repeated(self, work: Callable[[Any], T]) -> T:  # Any: a connection of the driver
        """Call `work` with the connection of this process."""

    def rows(self, after: int = 0, until: int | None = None) -> Iterator[Row]:
        """Yield rows by position."""
        last = LAST if until is None else until
        where = f"WHERE seq > {self.mark} AND seq <= {self.mark} ORDER BY seq LIMIT {self.page}"
        while page := self.read(where, (after, last)):
            yield from page
            after = page[-1].seq

    def last_marker(self) -> Row | None:
        """Find the last row of kind `pruned` by its index; None if a column of it has another type."""
        query = f"SELECT {COLUMNS} FROM {self.entries} WHERE kind = 'pruned' ORDER BY seq DESC LIMIT 1"
        found = self.fetched(query)
        return located(found[0]).row if found else None

    def newest_ids(self) -> Iterator[str]:
        """Yield the record ids of the rows from the end."""
        query = f"SELECT seq, record_id FROM {self.entries} WHERE seq < {self.mark} ORDER BY seq DESC LIMIT {self.page}"
        before = LAST
        while page := self.fetched(query, (before,)):
            yield from (record_id for _, record_id in page)
            before = page[-1][0]

    def stored(self) -> Stored:
        """Read the head's table."""
        found = self.fetched(f"SELECT seq, hash FROM {self.head}")
        if len(found) != 1 or type(found[0][0]) is not int or type(found[0][1]) is not str:
            return Stored(None, "the table of the head is damaged", damaged=True)
        return Stored(Head(*found[0]))

    def read(self, where: str, values: Sequence[object]) -> list[Row]:
        """Return the rows of a condition."""
        return [Row(*found) for found in self.fetched(f"SELECT {COLUMNS} FROM {self.entries} {where}", values)]

    def fetched(self, query: str, values: Sequence[object] = ()) -> list[Any]:  # Any: columns
        """Return what a query finds."""
        return self.repeated(lambda connection: list(connection.execute(query, values).fetchall()))

    # Any: a connection of the driver, inside of a transaction that excludes other writers.
    def add(self, connection: Any, make: Callable[[Head], Row]) -> Row:
        """Insert the row that follows the head."""
        row = make(self._checked_head(connection))
        marks = ", ".join([self.mark] * len(row))
        connection.execute(f"INSERT INTO {self.entries} ({COLUMNS}) VALUES ({marks})", row)
        connection.execute(f"UPDATE {self.head} SET seq = {self.mark}, hash = {self.mark}", (row.seq, row.hash))
        return row

    def replace(self, connection: Any, through: int, make: Callable[[Head], Row]) -> Row:
        """Insert a row, as `add` does, and delete those up to `through`."""
        row = self.add(connection, make)
        connection.execute(f"DELETE FROM {self.entries} WHERE seq <= {self.mark}", (through,))
        return row

    def _checked_head(self, connection: Any) -> Head:
        """The head, checked against the last row: nothing is added behind a tail that was removed."""
        found = connection.execute(
            f"SELECT head.version, head.seq, head.hash, entry.hash, (SELECT max(seq) FROM {self.entries})"
            f" FROM {self.head} AS head LEFT JOIN {self.entries} AS entry ON entry.seq = head.seq"
        ).fetchall()
        if len(found) != 1:
            raise DecisionLogError("damaged", f"{self.name}: the table of the head has {len(found)} rows, not 1")
        version, seq, hash, stored, last = found[0]
        if version != VERSION:
            raise DecisionLogError("too_new", f"{self.name} has version {version}: upgrade bobcat")
        if (last or 0) != seq or (seq and stored != hash):
            raise DecisionLogError("damaged", f"{self.name}: entry {seq}, which was written last, is not the last one")
        return Head(seq, hash)


def located(found: tuple[object, ...]) -> Located:
    """Return a row with its place, which is its position."""
    seq, *texts = found
    assert isinstance(seq, int)  # the primary key
    if all(type(text) is str for text in texts):
        return Located(seq, Row(seq, *map(str, texts)))
    return Located(seq, None, "a column has another type")
