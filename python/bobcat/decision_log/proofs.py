"""Proofs about a log: an entry is in it, or an earlier state is its beginning. They verify without the log.

An auditor who has a checkpoint needs the entry and a proof of a few hashes, not the other entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bobcat.decision_log.checkpoint import entry_leaf
from bobcat.decision_log.entry import Head, LogEntry, Row, row_entry, row_hash, time_text
from bobcat.decision_log.medium import Medium
from bobcat.decision_log.merkle import LeafRange, verify_consistency, verify_inclusion
from bobcat.decision_log.pruning import PrunedMeanwhile, intact_rows, pruned_base
from bobcat.errors import DecisionLogError
from bobcat.model.plain_fields import fields_to_json
from bobcat.text.json_text import json_text


@dataclass(frozen=True, slots=True)
class InclusionProof:
    """Proof that `entry` is one of the first `size` entries of the log with the Merkle root `root`."""

    entry: LogEntry
    size: int
    root: str
    path: tuple[str, ...]

    def verify(self, root: str) -> bool:
        """Check the proof against a root that the caller trusts, such as that of a signed checkpoint."""
        entry = self.entry
        text = json_text(dict(entry.body))
        row = Row(entry.seq, entry.record_id, entry.kind, time_text(entry.at), text, entry.previous, entry.hash)
        return row_hash(row) == entry.hash and verify_inclusion(
            entry_leaf(entry.hash),
            index=entry.seq - 1,
            size=self.size,
            path=_bytes(self.path),
            root=bytes.fromhex(root),
        )

    def to_json(self) -> dict[str, Any]:
        """The proof as plain data. Any: JSON."""
        return {"entry": self.entry.to_json(), "size": self.size, "root": self.root, "path": list(self.path)}


@dataclass(frozen=True, slots=True)
class ConsistencyProof:
    """Proof that the log of `old` entries with the root `old_root` is the beginning of that of `size` entries."""

    old: int
    size: int
    old_root: str
    root: str
    path: tuple[str, ...]

    def verify(self, old_root: str, root: str) -> bool:
        """Check the proof against two roots that the caller trusts."""
        roots = bytes.fromhex(old_root), bytes.fromhex(root)
        return verify_consistency(
            old=self.old, size=self.size, old_root=roots[0], root=roots[1], path=_bytes(self.path)
        )

    def to_json(self) -> dict[str, Any]:
        """The proof as plain data. Any: JSON."""
        return fields_to_json(self)


def prove_inclusion(medium: Medium, seq: int, size: int | None = None) -> InclusionProof:
    """Prove that entry `seq` is in the log of `size` entries, all by default. Raises `DecisionLogError`."""
    leaves, end = _leaves(medium, size)
    found = next(medium.rows(seq - 1, seq), None)
    try:
        if found is None:
            raise ValueError(f"there is no entry {seq}")
        return InclusionProof(row_entry(found), end, leaves.root(end).hex(), _hex(leaves.inclusion(seq - 1, end)))
    except ValueError as error:
        raise DecisionLogError("no_proof", str(error)) from error


def prove_consistency(medium: Medium, old: int, size: int | None = None) -> ConsistencyProof:
    """Prove that the log of `old` entries is the beginning of that of `size` entries. Raises `DecisionLogError`."""
    leaves, end = _leaves(medium, size)
    try:
        path = _hex(leaves.consistency(old, end))
        return ConsistencyProof(old, end, leaves.root(old).hex(), leaves.root(end).hex(), path)
    except ValueError as error:
        raise DecisionLogError("no_proof", str(error)) from error


def _leaves(medium: Medium, size: int | None) -> tuple[LeafRange, int]:
    base = pruned_base(medium)
    try:
        leaves = [entry_leaf(row.hash) for row in intact_rows(medium, base, Head(base.count, base.hash), size)]
    except PrunedMeanwhile:
        return _leaves(medium, size)
    end = base.count + len(leaves)
    if size is not None and size != end:
        raise DecisionLogError("no_proof", f"size {size} is not among the sizes {base.count} to {end}")
    return LeafRange(leaves, start=base.count, peaks=base.peaks), end


def _bytes(path: tuple[str, ...]) -> list[bytes]:
    return [bytes.fromhex(node) for node in path]


def _hex(path: list[bytes]) -> tuple[str, ...]:
    return tuple(node.hex() for node in path)
