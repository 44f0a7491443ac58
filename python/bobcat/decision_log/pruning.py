"""Pruning: the removal of old entries, and the marker entry that keeps the rest verifiable.

The marker carries the count of all removed entries, the hash of the last of them, and the peaks of their Merkle tree,
so that the chain, checkpoints and later proofs stay verifiable. Entries before the cut that belong to records with
later entries, or that still wait or are uncertain, are carried in the marker: no record is cut in half.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bobcat.decision_log.checkpoint import entry_leaf, tree_peaks
from bobcat.decision_log.entry import RECORD_KINDS, Head, Row, entry_row, row_entry, row_hash, time_text
from bobcat.decision_log.medium import Medium
from bobcat.decision_log.merkle import MerkleTree
from bobcat.decision_log.record import OPEN, UNCERTAIN
from bobcat.errors import DecisionLogError
from bobcat.text.json_text import json_text


@dataclass(frozen=True, slots=True)
class Pruned:
    """The content of a marker: `count` entries up to the one with `hash` are gone, except for `carried`."""

    count: int
    hash: str
    peaks: tuple[bytes, ...]
    carried: tuple[Row, ...] = ()

    def tree(self) -> MerkleTree:
        """The tree of the removed entries."""
        return MerkleTree(self.count, self.peaks)

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Pruned:
        """Read the body of a marker. Raises `ValueError` for a malformed one. Any: JSON."""
        try:
            peaks = tuple(bytes.fromhex(peak) for peak in body["tree"])
            carried = tuple(Row(**{**row, "body": json_text(row["body"])}) for row in body["carried"])
            found = cls(body["count"], body["hash"], peaks, carried)
            if len(bytes.fromhex(found.hash)) != 32 or any(len(peak) != 32 for peak in peaks):
                raise ValueError("a hash has another length")
            for row in carried:
                row_entry(row)
                if row.seq > found.count or row_hash(row) != row.hash:
                    raise ValueError(f"the carried entry {row.seq} was changed")
            found.tree()
        except (KeyError, TypeError, AttributeError, DecisionLogError) as error:
            raise ValueError(f"malformed: {error!r}") from error
        return found


NOTHING = Pruned(0, "0" * 64, ())


def pruned_base(medium: Medium) -> Pruned:
    """The content of the latest marker; `NOTHING` for a log that was never pruned. Raises `DecisionLogError`."""
    first = next(medium.rows(), None)
    if first is None or first.seq == 1:
        return NOTHING
    marker = medium.last_marker()
    if marker is None:
        raise DecisionLogError("damaged", f"entries 1 to {first.seq - 1} are missing, and no entry says so")
    try:
        return Pruned.from_json(json.loads(marker.body))
    except ValueError as error:
        raise DecisionLogError(
            "damaged", f"entry {marker.seq}, which says what was pruned, is damaged: {error}"
        ) from error


class PrunedMeanwhile(Exception):
    """Another process pruned the log after its marker was read: read it again."""


def intact_rows(medium: Medium, base: Pruned, head: Head, until: int | None = None) -> Iterator[Row]:
    """Yield the rows behind `head`, checking the chain: a damaged log is neither signed nor pruned.

    Raises `DecisionLogError` (`damaged`), or `PrunedMeanwhile` if `base` is not the latest marker any more.
    """
    for row in medium.rows(head.seq, until):
        if row.seq != head.seq + 1 or row.previous != head.hash or row_hash(row) != row.hash:
            if pruned_base(medium).count != base.count:
                raise PrunedMeanwhile
            raise DecisionLogError("damaged", f"entry {head.seq + 1} is damaged or missing: verify the log")
        head = Head(row.seq, row.hash)
        yield row


def prune(medium: Medium, before: datetime, now: str) -> Row | None:
    """Remove the entries before the first one at `before` or later; return the marker, or None if nothing is older."""
    while True:
        with suppress(PrunedMeanwhile):
            return _prune(medium, before, now)


def _prune(medium: Medium, before: datetime, now: str) -> Row | None:
    base = pruned_base(medium)
    tree, last = base.tree(), Head(base.count, base.hash)
    records = _Records()
    for row in base.carried:
        records.add(row, removed=True)
    limit, counting = time_text(before), True
    end = last
    for row in intact_rows(medium, base, last):
        counting = counting and row.at < limit
        if counting:
            tree.add(entry_leaf(row.hash))
            last = Head(row.seq, row.hash)
        records.add(row, removed=counting)
        end = Head(row.seq, row.hash)
    if last.seq == base.count:
        return None

    def make(head: Head) -> Row:
        if pruned_base(medium).count != base.count:
            raise PrunedMeanwhile
        for row in intact_rows(medium, base, end):  # appended since
            records.add(row, removed=False)
        ids = records.to_carry()
        carried = [
            row for row in (*base.carried, *medium.of_records(ids)) if row.record_id in ids and row.seq <= last.seq
        ]
        body = {
            "count": last.seq,
            "removed": last.seq - base.count,
            "before": limit,
            "hash": last.hash,
            "tree": tree_peaks(tree),
            "carried": [{**row._asdict(), "body": json.loads(row.body)} for row in carried],
        }
        return entry_row(head, "", "pruned", at=now, body=json_text(body))

    return medium.prune(last.seq, make)


class _Records:
    """The records that have removed entries, those that have later ones, and those that are open."""

    def __init__(self) -> None:
        self._removed: dict[str, None] = {}
        self._later: set[str] = set()
        self._open: set[str] = set()

    def add(self, row: Row, *, removed: bool) -> None:
        if row.kind not in RECORD_KINDS:
            return
        if removed:
            self._removed[row.record_id] = None
        else:
            self._later.add(row.record_id)
        status = json.loads(row.body).get("status") if row.kind == "outcome" else UNCERTAIN
        (self._open.add if status in OPEN else self._open.discard)(row.record_id)

    def to_carry(self) -> dict[str, None]:
        return {id: None for id in self._removed if id in self._later or id in self._open}
