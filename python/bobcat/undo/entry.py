"""Undo entries: one snapshot, its state, and the row that a store keeps of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from bobcat.model.plain_fields import fields_to_json

EntryState: TypeAlias = Literal["prepared", "done", "uncertain", "applying", "applied"]
"""State of an entry.

`prepared`: the snapshot is durable, and the effect may happen. `done`: the effect happened. `uncertain`: the effect may
have happened, wholly or in part, and the state after it is unknown. `applying`: it is being undone. `applied`: it was.
"""
STATES: tuple[EntryState, ...] = get_args(EntryState)


class Row(NamedTuple):
    """One row of a store. Times are seconds since 1970; `snapshot` and `outcome` are sealed bytes.

    `origin` is the tool that the undo of an undo leads back to; it is `tool` for others. `other` is the `to` of a move.
    """

    id: str
    state: EntryState
    tool: str
    origin: str
    target: str
    other: str
    kind: str
    size: int
    created: float
    updated: float
    expires: float
    key: str
    undoes: str
    owner: str
    sealed: int
    snapshot: bytes
    outcome: bytes


COLUMNS = ", ".join(Row._fields)
LISTED = ", ".join(name for name in Row._fields if name not in ("snapshot", "outcome"))


@dataclass(frozen=True, slots=True)
class UndoEntry:
    """One change that can be undone, or was.

    `tool` made it to `target`; a move made it `to` another name. `size` counts the bytes of the snapshot's content.
    `undoes` is the id of the entry that this change has undone, where it was an undo itself.
    """

    id: str
    tool: str
    target: str
    to: str
    kind: str
    state: EntryState
    size: int
    created: datetime
    expires: datetime
    undoes: str | None = None

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the entry as JSON."""
        times = {"created": self.created, "expires": self.expires}
        return fields_to_json(self) | {name: time.isoformat(timespec="milliseconds") for name, time in times.items()}


def entry_of(row: Row) -> UndoEntry:
    """Return the entry of a row."""
    return UndoEntry(
        row.id,
        row.tool,
        row.target,
        row.other,
        row.kind,
        row.state,
        row.size,
        datetime.fromtimestamp(row.created, UTC),
        datetime.fromtimestamp(row.expires, UTC),
        row.undoes or None,
    )
