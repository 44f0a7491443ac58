"""The storage behind a decision log: one implementation each for SQLite, JSONL and PostgreSQL.

A medium stores rows and a head apart from them. It decides about locks and durability, never about hashes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple, Protocol

from bobcat.decision_log.entry import Head, Row


class Located(NamedTuple):
    """A stored row and its place; `row` is None where the text at the place is no entry, and `problem` says why."""

    place: int
    """The line of a file, or the position of a row, counted from 1."""
    row: Row | None
    problem: str = ""
    unfinished: bool = False
    """The text ends without a line end, as after a crash while it was written."""


class Stored(NamedTuple):
    """The facts that a medium keeps apart from its rows. `head` is None where they are missing or unreadable."""

    head: Head | None
    problem: str = ""
    damaged: bool = False
    """The facts were there, and are unreadable."""
    exact: bool = True
    """The head is written together with the rows; otherwise it may be behind them, never ahead."""


class Medium(Protocol):
    """The storage of one log. Every method may be called from any thread and process."""

    unit: str
    """The noun of a place: `line` or `entry`."""

    def append(self, make: Callable[[Head], Row]) -> Row:
        """Store the row that `make` returns for the present head; it is durable on return, or nothing is stored."""
        ...

    def rows(self, after: int = 0, until: int | None = None) -> Iterator[Row]:
        """Yield the rows with a position above `after` and at most `until`, in order."""
        ...

    def last_marker(self) -> Row | None:
        """The last entry of kind `pruned`."""
        ...

    def of_records(self, record_ids: Collection[str]) -> Iterator[Row]:
        """Yield the rows of these records, in order of position."""
        ...

    def newest_ids(self) -> Iterator[str]:
        """Yield the record id of every row, the last row first; ids may come again."""
        ...

    def located(self) -> Iterator[Located]:
        """Yield every stored row with its place, damaged ones included, for a verification."""
        ...

    def stored(self) -> Stored:
        """Read the facts apart from the rows."""
        ...

    def prune(self, through: int, make: Callable[[Head], Row]) -> Row:
        """Append the row that `make` returns and remove the rows up to `through`, both or neither."""
        ...

    def close(self) -> None:
        """Release files and connections."""
        ...
