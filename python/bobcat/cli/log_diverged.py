"""`bobcat log --diverged`: the divergences of a candidate policy in a decision log, grouped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from bobcat.decision_log import LogRecord

_KINDS = ("error", "loosened", "unclear", "tightened")
VALUE_CHARS = 200


class _Key(NamedTuple):
    kind: str
    old: str
    new: str
    old_rules: tuple[str, ...]
    new_rules: tuple[str, ...]
    tool: str
    names: tuple[str, ...]
    bundle: str


@dataclass(slots=True)
class _Group:
    """Divergences with the same key: their number, the times of the first and the last, and the first record."""

    first: datetime
    last: datetime
    record_id: str
    count: int = 0

    def add(self, record: LogRecord) -> None:
        self.count += 1
        self.last = max(self.last, record.at)
        if record.at < self.first:
            self.first, self.record_id = record.at, record.record_id


def show_divergences(records: Iterable[LogRecord], output_format: str) -> None:
    """Print the groups, errors and looser decisions first, and each from the most frequent group."""
    groups: dict[_Key, _Group] = {}
    for record in records:
        for key in _keys(record):
            groups.setdefault(key, _Group(record.at, record.at, record.record_id)).add(record)
    ordered = sorted(groups.items(), key=lambda each: (_rank(each[0].kind), -each[1].count, each[0]))
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
    found, args = record.body.get("diverged"), record.body.get("args")
    names = tuple(sorted(map(str, args))) if isinstance(args, dict) else ()
    for each in found if isinstance(found, list) else ():
        if isinstance(each, dict):
            old, new = str(record.body.get("verdict", "?")), str(each.get("verdict") or "error")
            rules = _names(record.body.get("matched_rules")), _names(each.get("matched_rules"))
            yield _Key(
                str(each.get("kind", "?")), old, new, *rules, record.tool or "?", names, str(each.get("bundle_id", "?"))
            )


def _names(value: Any) -> tuple[str, ...]:  # Any: JSON
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _rank(kind: str) -> int:
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS)


def _json(key: _Key, group: _Group) -> dict[str, Any]:  # Any: JSON
    return {
        "kind": key.kind, "old": key.old, "new": key.new, "old_rules": list(key.old_rules),
        "new_rules": list(key.new_rules), "tool": key.tool, "args": list(key.names), "bundle_id": key.bundle,
        "count": group.count, "first": group.first.isoformat(), "last": group.last.isoformat(),
        "record_id": group.record_id,
    }  # fmt: skip


def _lines(key: _Key, group: _Group) -> Iterator[str]:
    from bobcat.text.display import safe_name, safe_names, safe_text

    count = f"{group.count:,} {'decision' if group.count == 1 else 'decisions'}"
    head = safe_text(key.kind.upper() if key.kind in _KINDS[:3] else key.kind)
    call = f"{safe_name(key.tool, limit=VALUE_CHARS)}({safe_names(key.names[:12])})"
    verdicts = f"{safe_text(key.old)} -> {safe_text(key.new)}"
    yield f"{head}  {verdicts}  {call}: {count}, the first is {safe_text(group.record_id)}"
    yield f"    rules: {safe_names(key.old_rules) or '?'} -> {safe_names(key.new_rules) or '?'}"
