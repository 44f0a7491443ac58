"""Verification of a decision log: finds the first damaged entry and says what is wrong with it.

It recomputes every hash, follows the chain, compares the end with the head that the medium keeps apart, and recomputes
the Merkle root of every checkpoint. Without a public key, and without a checkpoint kept elsewhere, it detects damage
and edits by a writer who does not recompute the chain; with one of them, any rewriting of what the checkpoint covers.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bobcat.decision_log.checkpoint import Checkpoint, entry_leaf
from bobcat.decision_log.entry import EMPTY, KINDS, Head, Row, row_hash, time_text
from bobcat.decision_log.log import open_log
from bobcat.decision_log.medium import Medium, Stored
from bobcat.decision_log.merkle import MerkleTree
from bobcat.decision_log.pruning import NOTHING, Pruned
from bobcat.errors import DecisionLogError
from bobcat.model.plain_fields import fields_to_json
from bobcat.text.json_text import json_text


@dataclass(frozen=True, slots=True)
class Damage:
    """The first damaged place. `place` counts from 1, in lines of a file or positions of entries, as `unit` says."""

    unit: str
    place: int
    seq: int
    """The position of the entry that belongs there."""
    problem: str

    def __str__(self) -> str:
        entry = "" if self.unit == "entry" else f" (entry {self.seq})"
        return f"{self.unit} {self.place}{entry}: {self.problem}"


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a verification. `damage` is None for a good log."""

    entries: int
    """The number of entries that were verified."""
    first: int
    last: int
    pruned: int
    """The number of entries that were removed before the first one."""
    head: str
    """The hash of the last entry that was verified."""
    checkpoints: int
    covered: int
    """The number of entries, from the first, that a verified checkpoint covers."""
    damage: Damage | None = None
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True for a good log."""
        return self.damage is None

    def to_json(self) -> dict[str, Any]:
        """The report as plain data. Any: JSON."""
        return {"ok": self.ok, **fields_to_json(self)}


def verify(
    target: str | os.PathLike[str], public_key: bytes | str | None = None, *, checkpoint: Checkpoint | None = None
) -> Report:
    """Verify the log at a path or a URL, which must exist. Raises `DecisionLogError` if it cannot be read at all.

    With `public_key`, there must be a checkpoint, and each must have a valid signature by this key. `checkpoint` is one
    that was kept elsewhere: the log must contain the tree that it signs.
    """
    if checkpoint is not None:
        try:
            checkpoint.check_signature(public_key)
        except ValueError as error:
            raise DecisionLogError("bad_signature", f"the given checkpoint has {error}") from error
    with open_log(target, must_exist=True, read_only=True) as log:
        report = _Verification(log.medium, public_key, checkpoint).run()
        if report.ok:
            return report
        # Entries that are pruned during the verification look like damage: once more.
        return _Verification(log.medium, public_key, checkpoint).run()


class _Problem(Exception):
    """The problem with one entry."""


class _WrongBeginning(Exception):
    """The first entry is not the first one: an earlier one follows it."""


class _Verification:
    """One pass over a log."""

    def __init__(self, medium: Medium, public_key: bytes | str | None, kept: Checkpoint | None) -> None:
        self._medium, self._public_key, self._kept = medium, public_key, kept
        self._head, self._base = EMPTY, NOTHING
        self._tree = MerkleTree()
        self._entries = self._checkpoints = self._covered = self._place = 0
        self._notes: list[str] = []
        self._kept_found = False
        self._unaccounted: Damage | None = None
        """The missing beginning, for which no valid marker was found: a damaged marker is named first."""

    def run(self) -> Report:
        before = self._medium.stored()
        try:
            damage = self._rows(before) or self._end(before)
        except DecisionLogError as error:  # of a damaged file, behind a readable beginning
            if error.code != "damaged":
                raise
            damage = self._damage(self._place + 1, str(error))
        first = self._base.count + 1 if self._entries else 0
        return Report(
            self._entries, first, self._head.seq, self._base.count, self._head.hash, self._checkpoints, self._covered,
            damage, tuple(self._notes),
        )  # fmt: skip

    def _rows(self, stored: Stored) -> Damage | None:
        reached = stored.head
        self._kept_found = self._kept is not None and self._kept.size == 0
        for place, row, problem, unfinished in self._medium.located():
            self._place = place
            try:
                if row is None:
                    if unfinished and (reached is not None and reached.seq <= self._head.seq):
                        self._notes.append(f"{self._medium.unit} {place} is incomplete: it was never acknowledged")
                        return None
                    raise _Problem(problem)
                self._check(row)
                if reached is not None and row.seq == reached.seq and row.hash != reached.hash:
                    raise _Problem("the entry is not the one that was written last: the head has another hash")
            except _Problem as found:
                reached_it = row is not None and row.seq == self._head.seq
                return Damage(self._medium.unit, place, self._head.seq + (0 if reached_it else 1), str(found))
            except _WrongBeginning:
                return self._unaccounted
            self._entries += 1
        return self._unaccounted

    def _check(self, row: Row) -> None:
        if not self._entries and row.seq > 1:
            self._begin(row)
        expected = self._head.seq + 1
        if row.seq < expected and self._unaccounted is not None:
            raise _WrongBeginning
        if row.seq != expected:
            missing = f"entries {expected} to {row.seq - 1} are missing" if row.seq > expected + 1 else (
                f"entry {expected} is missing" if row.seq > expected else f"entry {expected} is expected")  # fmt: skip
            raise _Problem(f"{missing}: here is entry {row.seq}")
        _check_fields(row)
        if row.previous != self._head.hash:
            raise _Problem("the entry does not follow the one before it: its `previous` is another hash")
        if row_hash(row) != row.hash:
            raise _Problem("the entry was changed: its content does not have its hash")
        body = _body(row)
        if row.kind == "checkpoint":
            self._check_checkpoint(body)
        elif row.kind == "pruned":
            self._check_marker(body)
        self._tree.add(entry_leaf(row.hash))
        self._head = Head(row.seq, row.hash)
        self._check_kept()

    def _begin(self, row: Row) -> None:
        """Begin behind pruned entries, if a marker accounts for them."""
        marker = self._medium.last_marker()
        try:
            intact = marker is not None and row_hash(marker) == marker.hash
            base = Pruned.from_json(json.loads(marker.body)) if marker is not None and intact else None
        except ValueError:
            base = None
        if base is None or (base.count, base.hash) != (row.seq - 1, row.previous):
            problem = f"entries 1 to {row.seq - 1} are missing, and no entry says that they were pruned"
            self._unaccounted = Damage(self._medium.unit, self._place, 1, problem)
            self._base, self._head = NOTHING, Head(row.seq - 1, row.previous)
            return
        self._base, self._tree, self._head = base, base.tree(), Head(base.count, base.hash)
        self._check_kept()

    def _check_checkpoint(self, body: dict[str, Any]) -> None:
        try:
            found = Checkpoint.from_json(body)
            found.check_signature(self._public_key)
        except ValueError as error:
            raise _Problem(f"the checkpoint has {error}") from error
        if self._unaccounted is not None:
            return
        if found.size != self._head.seq or found.hash != self._head.hash or found.root != self._tree.root().hex():
            raise _Problem("the checkpoint does not describe the entries before it")
        self._checkpoints += 1
        self._covered = found.size

    def _check_marker(self, body: dict[str, Any]) -> None:
        try:
            found = Pruned.from_json(body)
        except ValueError as error:
            raise _Problem(f"the marker of pruned entries is invalid: {error}") from error
        if found.count > self._head.seq:
            raise _Problem("the marker of pruned entries counts entries behind it")
        if found.count > self._base.count and self._unaccounted is None:
            raise _Problem(f"the marker says that entries up to {found.count} were pruned, and some are still there")

    def _check_kept(self) -> None:
        kept = self._kept
        if kept is None or kept.size != self._head.seq or self._unaccounted is not None:
            return
        if kept.root != self._tree.root().hex() or kept.hash != self._head.hash:
            raise _Problem(f"the {kept.size} entries up to here are not those of the given checkpoint")
        self._kept_found = True
        self._covered = max(self._covered, kept.size)

    def _end(self, before: Stored) -> Damage | None:
        """Compare the end with the head, and with the kept checkpoint."""
        head, last = before.head, self._head.seq
        following = self._place + 1
        if head is None:
            if before.exact or before.damaged:
                return self._damage(following, before.problem)
            self._notes.append(before.problem)
        elif head.seq > last:
            gone = f"entries {last + 1} to {head.seq} are" if head.seq > last + 1 else f"entry {head.seq} is"
            return self._damage(following, f"{gone} missing at the end: entry {head.seq} was written last")
        elif before.exact:
            now = self._medium.stored().head
            if now is None or now.seq < last:
                return Damage(self._medium.unit, self._place, last, "the entry was added without the head")
        kept = self._kept
        if kept is not None and not self._kept_found:
            if kept.size > last:
                return self._damage(following, f"the given checkpoint has {kept.size} entries, and the log {last}")
            self._notes.append(f"the given checkpoint is older than the prune of {self._base.count} entries")
        if self._public_key is not None and not self._checkpoints and not self._kept_found:
            return self._damage(following, "there is no checkpoint, and the public key can verify nothing")
        return None

    def _damage(self, place: int, problem: str) -> Damage:
        return Damage(self._medium.unit, place, self._head.seq + 1, problem)


def _check_fields(row: Row) -> None:
    if row.kind not in KINDS:
        raise _Problem(f"`{row.kind}` is not a kind of entry")
    if any(len(hash) != 64 or set(hash) - set("0123456789abcdef") for hash in (row.previous, row.hash)):
        raise _Problem("a hash is not 64 hexadecimal digits")
    try:
        valid = time_text(datetime.fromisoformat(row.at)) == row.at
    except ValueError:
        valid = False
    if not valid:
        raise _Problem("its time is malformed")


def _body(row: Row) -> dict[str, Any]:
    try:
        body = json.loads(row.body)
    except (ValueError, RecursionError) as error:
        raise _Problem("its body is not JSON") from error
    if not isinstance(body, dict) or json_text(body) != row.body:
        raise _Problem("its body is not canonical JSON of an object")
    return body
