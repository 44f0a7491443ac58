"""`bobcat log --diverged`: the divergences of a candidate policy in a decision log, grouped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from datetime import datetime

    from bobcat.decision_log import LogRecord
    from bobcat.traffic.changes import Group, Key

_KINDS = ("error", "loosened", "unclear", "tightened")
VALUE_CHARS = 200


class _Key(NamedTuple):
    """A group of differences, and the candidate that makes them."""

    difference: Key
    bundle: str


def show_divergences(records: Iterable[LogRecord], output_format: str) -> None:
    """Print the groups, errors and looser decisions first, and each from the most frequent group."""
    from bobcat.traffic.changes import Example, Group

    groups: dict[_Key, Group] = {}
    for record in records:
        for key in _keys(record):
            group = groups.setdefault(key, Group())
            if group.first is None or record.at < group.first:
                group.examples = [Example(record.record_id, record.record_id, record.at.isoformat(), b"")]
            group.add(1, record.at, record.at)
    ordered = sorted(groups.items(), key=lambda each: (_rank(each[0].difference.direction), -each[1].count, each[0]))
    count = sum(group.count for group in groups.values())
    if output_format == "json":
        from bobcat.cli.output import write_json

        write_json({"diverged": count, "groups": [_json(*each) for each in ordered]})
        return
    for key, group in ordered:
        for line in _lines(key, group):
            click.echo(line)
    click.echo(f"{count:,} {'decision diverges' if count == 1 else 'decisions diverge'}")


def _keys(record: LogRecord) -> Iterator[_Key]:
    from bobcat.traffic.changes import Key

    found, args = record.body.get("diverged"), record.body.get("args")
    names = tuple(sorted(map(str, args))) if isinstance(args, dict) else ()
    for each in found if isinstance(found, list) else ():
        if isinstance(each, dict):
            old, new = str(record.body.get("verdict", "?")), str(each.get("verdict") or "error")
            rules = _names(record.body.get("matched_rules")), _names(each.get("matched_rules"))
            difference = Key(str(each.get("kind", "?")), old, new, *rules, record.tool or "?", names)
            yield _Key(difference, str(each.get("bundle_id", "?")))


def _names(value: Any) -> tuple[str, ...]:  # Any: JSON
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _rank(kind: str) -> int:
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS)


def _json(key: _Key, group: Group) -> dict[str, Any]:  # Any: JSON
    found = key.difference
    return {
        "kind": found.direction, "old": found.old, "new": found.new, "old_rules": list(found.old_rules),
        "new_rules": list(found.new_rules), "tool": found.tool, "args": list(found.names or ()),
        "bundle_id": key.bundle, "count": group.count, "first": _iso(group.first), "last": _iso(group.last),
        "record_id": group.examples[0].id,
    }  # fmt: skip


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _lines(key: _Key, group: Group) -> Iterator[str]:
    from bobcat.text.display import safe_name, safe_names, safe_text

    found = key.difference
    count = f"{group.count:,} {'decision' if group.count == 1 else 'decisions'}"
    head = safe_text(found.direction.upper() if found.direction in _KINDS[:3] else found.direction)
    call = f"{safe_name(found.tool, limit=VALUE_CHARS)}({safe_names((found.names or ())[:12])})"
    verdicts = f"{safe_text(found.old)} -> {safe_text(found.new)}"
    yield f"{head}  {verdicts}  {call}: {count}, the first is {safe_text(group.examples[0].id)}"
    yield f"    rules: {safe_names(found.old_rules) or '?'} -> {safe_names(found.new_rules) or '?'}"
