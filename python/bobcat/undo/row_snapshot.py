"""Rows of databases by key, and the snapshots that hold them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import msgspec

from bobcat.model.snapshot import Snapshot

Cells: TypeAlias = tuple[Any, ...]  # Any: values of SQLite, or texts of PostgreSQL, or None
Key: TypeAlias = tuple[str, Cells]
"""A table, and the values of its primary key."""
Rows: TypeAlias = dict[Key, Cells | None]
"""Rows by key, None for an absent one."""


def snapshot_of(database: str, before: Rows, after: Rows, **more: Any) -> Snapshot:  # Any: JSON
    """Return a snapshot of rows, in the order of `before`. `more` is kept beside them."""
    rows = [[*key, before[key], after[key]] for key in before]
    tables = ",".join(sorted({key[0] for key in before}))
    size = len(msgspec.msgpack.encode(rows))
    return Snapshot(f"{database}:{tables}", {"database": database, "rows": rows, **more}, (), None, size=size)


def known(snapshot: Snapshot | None) -> Snapshot:
    """Return the snapshot with its fingerprints."""
    assert snapshot is not None
    return replace(snapshot, before=(digest(rows_of(snapshot, 0)),), after=(digest(rows_of(snapshot, 1)),))


def rows_of(snapshot: Snapshot, side: int) -> Rows:
    """Return the rows of a snapshot by key, before (0) or after (1)."""
    return {
        (table, tuple(key)): None if sides[side] is None else tuple(sides[side])
        for table, key, *sides in snapshot.data["rows"]
    }


def digest(rows: Mapping[Key, Cells | None]) -> str:
    """Return the fingerprint of rows."""
    encoded = sorted(msgspec.msgpack.encode([table, key, row]) for (table, key), row in rows.items())
    return "rows-" + hashlib.sha256(b"".join(encoded)).hexdigest()


def note(before: Rows, after: Rows, old: tuple[Key, Cells] | None, new: tuple[Key, Cells] | None) -> None:
    """Add one change of a row to those before it."""
    if old is not None:
        before.setdefault(old[0], old[1])
        after[old[0]] = None
    if new is not None:
        before.setdefault(new[0], None)
        after[new[0]] = new[1]


def shown(row: Cells) -> list[Any]:  # Any: JSON
    """Return a row as JSON."""
    return [each.hex() if isinstance(each, bytes) else each for each in row]


def quoted(name: str) -> str:
    """Return a name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'
