"""The records of a log: all of them, one, or the newest that meet a condition, without reading the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice

from bobcat.decision_log.entry import RECORD_KINDS, row_entry
from bobcat.decision_log.medium import Medium
from bobcat.decision_log.pruning import Pruned, pruned_base
from bobcat.decision_log.record import LogRecord, fold

BATCH = 200
"""Records that are read at once."""


def all_records(medium: Medium, matches: Callable[[LogRecord], bool]) -> list[LogRecord]:
    """The records that match, in order of their first entry."""
    while True:
        base = pruned_base(medium)
        rows = chain(base.carried, medium.rows(base.count))
        records = fold(row_entry(row) for row in rows if row.kind in RECORD_KINDS)
        if pruned_base(medium).count == base.count:
            return [record for record in records.values() if matches(record)]


def newest_records(medium: Medium, matches: Callable[[LogRecord], bool], limit: int) -> list[LogRecord]:
    """The `limit` records that match and changed last, in order of their first entry."""
    while True:
        base = pruned_base(medium)
        carried = sorted(base.carried, key=lambda row: row.seq, reverse=True)
        ids = _distinct(chain(medium.newest_ids(), (row.record_id for row in carried)))
        found: list[LogRecord] = []
        while len(found) < limit and (batch := tuple(islice(ids, BATCH))):
            records = _of(medium, base, batch)
            found += [records[id] for id in batch if id in records and matches(records[id])]
        if pruned_base(medium).count == base.count:
            return sorted(found[:limit], key=lambda record: record.first_seq)


def one_record(medium: Medium, record_id: str) -> LogRecord | None:
    """The record with this id."""
    return _of(medium, pruned_base(medium), (record_id,)).get(record_id)


def _distinct(ids: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for id in ids:
        if id and id not in seen:
            seen.add(id)
            yield id


def _of(medium: Medium, base: Pruned, ids: tuple[str, ...]) -> dict[str, LogRecord]:
    carried = (row for row in base.carried if row.record_id in ids)
    return fold(map(row_entry, chain(carried, medium.of_records(ids))))
