"""The decision log: appends chained entries and reads them as entries or as records.

`bobcat.Guard` appends; the command line reads. A log that cannot be written raises: the caller must not run an effect.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Self

from bobcat.decision_log.checkpoint import Checkpoint, check_key, entry_leaf, sign_checkpoint
from bobcat.decision_log.entry import (
    RECORD_KINDS,
    Head,
    LogEntry,
    Row,
    check_record_id,
    entry_row,
    row_entry,
    time_text,
)
from bobcat.decision_log.listing import all_records, newest_records, one_record
from bobcat.decision_log.medium import Medium
from bobcat.decision_log.merkle import MerkleTree
from bobcat.decision_log.proofs import ConsistencyProof, InclusionProof, prove_consistency, prove_inclusion
from bobcat.decision_log.pruning import Pruned, PrunedMeanwhile, intact_rows, prune, pruned_base
from bobcat.decision_log.record import LogRecord
from bobcat.decision_log.target import Target, parse_target
from bobcat.errors import DecisionLogError
from bobcat.logs import logger
from bobcat.text.json_text import json_text

log = logger("decision_log")


def open_log(
    target: str | os.PathLike[str], signing_key: bytes | str | None = None, *, must_exist: bool = False,
    read_only: bool = False, checkpoint_every: int = 1000,
) -> DecisionLog:  # fmt: skip
    """Open the decision log at a path (`.jsonl` is JSONL, any other SQLite) or a URL; a new file has the mode 0600.

    `signing_key` is an Ed25519 private key (32 bytes or 64 hexadecimal digits): with it, a checkpoint follows every
    `checkpoint_every` entries, and the last entry when the log is closed. Raises `DecisionLogError`.
    """
    where = parse_target(target)
    if signing_key is not None:
        check_key(signing_key)
    return DecisionLog(_medium(where, must_exist=must_exist, read_only=read_only), signing_key=signing_key,
                       checkpoint_every=checkpoint_every)  # fmt: skip


class DecisionLog:
    """A log of decisions and outcomes. Safe for any number of threads and processes."""

    def __init__(self, medium: Medium, *, signing_key: bytes | str | None = None, checkpoint_every: int = 1000) -> None:
        self.medium = medium
        self._signing_key, self._checkpoint_every = signing_key, checkpoint_every
        self._unsigned = False
        """This object appended entries since its last checkpoint."""
        self._lock = threading.Lock()
        self._grown: tuple[Pruned, MerkleTree, Head] | None = None
        """The tree of the last checkpoint of this object, and its end: the next one reads later entries only."""

    def append(self, record_id: str, kind: str, body: Mapping[str, Any]) -> LogEntry:
        """Append an entry; it is durable on return. Raises `DecisionLogError`, and then nothing was appended.

        `kind` is `decision`, `outcome` or `resume`. Any: values that JSON lacks are stored as `json_text` writes them.
        """
        return self._append(record_id, kind, body, lambda: None)

    def append_open(
        self, record_id: str, kind: str, body: Mapping[str, Any], *, when: Callable[[], bool]
    ) -> LogEntry | None:
        """Append an entry as `append` does; where `when` is true, only if the record is not final, else return None.

        For a process that may have been overtaken: what another one has completed stays its last entry. `when` is
        called under the lock of the log.
        """

        def check() -> None:
            record = one_record(self.medium, record_id) if when() else None
            if record is not None and record.is_final:
                raise _Final

        try:
            return self._append(record_id, kind, body, check)
        except _Final:
            return None

    def _append(self, record_id: str, kind: str, body: Mapping[str, Any], check: Callable[[], None]) -> LogEntry:
        """Append an entry if `check`, which is called under the lock of the log, does not raise."""
        if kind not in RECORD_KINDS:
            raise DecisionLogError("bad_kind", f"`{kind}` is not a kind of entry: {', '.join(sorted(RECORD_KINDS))}")
        if not isinstance(body, Mapping):
            raise DecisionLogError("bad_body", f"the body of an entry is a mapping, not {type(body).__name__}")
        text = json_text(dict(body))
        check_record_id(record_id)

        def make(head: Head) -> Row:
            check()
            return entry_row(head, record_id, kind, at=time_text(datetime.now(UTC)), body=text)

        entry = row_entry(self.medium.append(make))
        if self._signing_key is not None:
            self._unsigned = True
            if entry.seq % self._checkpoint_every == 0:
                self._try_checkpoint()
        return entry

    def entries(self, since: datetime | None = None, *, after: int = 0) -> Iterator[LogEntry]:
        """Yield the entries in order of position: those at `since` or later, behind position `after`."""
        for row in self.medium.rows(after):
            entry = row_entry(row)
            if since is None or entry.at >= aware(since):
                yield entry

    def records(
        self, status: str | Collection[str] | None = None, tool: str | Collection[str] | None = None,
        principal: str | None = None, since: datetime | None = None, limit: int | None = None, *,
        diverged: bool = False,
    ) -> list[LogRecord]:  # fmt: skip
        """The records that meet every condition, in order of their first entry; with `limit`, those that changed last.

        Several statuses or tools mean any of them. `principal` is an id or `kind:id`; `since` is compared with the
        time of a record's last entry. `diverged`: a candidate policy would have decided otherwise.
        """
        statuses, tools, after = _names(status), _names(tool), None if since is None else aware(since)

        def matches(record: LogRecord) -> bool:
            return record.matches(statuses, tools, principal, after, diverged=diverged)

        return all_records(self.medium, matches) if limit is None else newest_records(self.medium, matches, limit)

    def record(self, record_id: str) -> LogRecord | None:
        """The record of one submission; None if the log has no entry of it."""
        return one_record(self.medium, record_id)

    def checkpoint(self) -> Checkpoint:
        """Append a checkpoint over all entries so far, signed with `signing_key`. Raises `DecisionLogError`."""
        if self._signing_key is None:
            raise DecisionLogError("no_key", "a checkpoint needs the `signing_key` of `open_log`")
        key = self._signing_key
        with self._lock:
            self._grow()  # without a lock on the log
            signed: list[Checkpoint] = []

            def make(head: Head) -> Row:
                tree, time = self._grow(), time_text(datetime.now(UTC))
                signed[:] = [sign_checkpoint(head, tree.root(), time=time, key=key)]
                return entry_row(head, "", "checkpoint", at=time, body=json_text(signed[0].to_json()))

            self.medium.append(make)
            self._unsigned = False
        return signed[0]

    def prove_inclusion(self, seq: int, size: int | None = None) -> InclusionProof:
        """Prove that entry `seq` is in the log of `size` entries, all by default. Raises `DecisionLogError`."""
        return prove_inclusion(self.medium, seq, size)

    def prove_consistency(self, old: int, size: int | None = None) -> ConsistencyProof:
        """Prove that the log of `old` entries is the beginning of that of `size`. Raises `DecisionLogError`."""
        return prove_consistency(self.medium, old, size)

    def prune(self, before: datetime) -> LogEntry | None:
        """Remove the entries before a time and append a marker; None if nothing is older. Raises `DecisionLogError`.

        Entries of records that have later entries, that wait, or that are uncertain stay in the marker.
        """
        row = prune(self.medium, aware(before), time_text(datetime.now(UTC)))
        return None if row is None else row_entry(row)

    def close(self) -> None:
        """Close the log; with a signing key, after a checkpoint over the entries that this object appended."""
        if self._unsigned:
            self._try_checkpoint()
        self.medium.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _grow(self) -> MerkleTree:
        """Add the entries since the last checkpoint to the tree; from the beginning if they were pruned meanwhile."""
        while True:
            base, tree, end = self._grown or _grown_from(pruned_base(self.medium))
            try:
                for row in intact_rows(self.medium, base, end):
                    tree.add(entry_leaf(row.hash))
                    end = Head(row.seq, row.hash)
            except PrunedMeanwhile:
                self._grown = None
                continue
            except BaseException:
                self._grown = None  # the tree has entries that `end` lacks
                raise
            self._grown = base, tree, end
            return tree

    def _try_checkpoint(self) -> None:
        """Append a checkpoint; a failure is logged: it concerns no entry."""
        try:
            self.checkpoint()
        except DecisionLogError as error:
            log.warning("no checkpoint was written: %s", error, extra={"code": error.code})


class _Final(Exception):
    """The record has its final entry."""


def _names(names: str | Collection[str] | None) -> Collection[str] | None:
    return (names,) if isinstance(names, str) else names


def _grown_from(base: Pruned) -> tuple[Pruned, MerkleTree, Head]:
    return base, base.tree(), Head(base.count, base.hash)


def aware(moment: datetime) -> datetime:
    """The time in UTC if it has no offset."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _medium(target: Target, *, must_exist: bool, read_only: bool) -> Medium:
    if target.medium == "sqlite":
        from bobcat.decision_log.sqlite import SQLiteLog

        return SQLiteLog(target.location, must_exist=must_exist, read_only=read_only)
    if target.medium == "postgres":
        try:
            from bobcat.decision_log.postgres import PostgresLog
        except ImportError as error:
            raise DecisionLogError("no_driver", "a log on PostgreSQL needs `pip install 'bobcat[postgres]'`") from error
        return PostgresLog(target.location, must_exist=must_exist, read_only=read_only)
    from bobcat.decision_log.jsonl import JsonlLog

    return JsonlLog(target.location, must_exist=must_exist, read_only=read_only)
