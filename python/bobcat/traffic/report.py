"""The report of a replay, as text and as JSON; text of logs is escaped, and secrets are hidden."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from bobcat.model.decision_change import Direction
from bobcat.text.display import safe_json, safe_name, safe_names, safe_text
from bobcat.traffic.changes import Group, Key, Tally
from bobcat.traffic.recorded import REASONS
from bobcat.traffic.redaction import hidden

VALUE_CHARS = 200
SHAPE_NAMES = 12
"""Names of arguments that a line shows."""
_HEADS: dict[str, str] = {
    "loosened": "LOOSENED", "unclear": "UNCLEAR", "tightened": "tightened", "other_rules": "other rules",
}  # fmt: skip


def ordered(tally: Tally, shown: tuple[Direction, ...]) -> list[tuple[Key, Group]]:
    """The groups in these directions, each direction from the most frequent group."""
    found = [(key, group) for key, group in tally.groups.items() if key.direction in shown]
    return sorted(found, key=lambda each: (shown.index(each[0].direction), -each[1].count, each[0][1:6]))


def to_json(tally: Tally, shown: tuple[Direction, ...], redacted: Iterable[str]) -> dict[str, Any]:  # Any: JSON
    """The report as plain data."""
    names = frozenset(redacted)
    return {
        "decided": tally.decided,
        "changed": tally.total("loosened", "unclear", "tightened"),
        **{name: tally.total(name) for name in ("loosened", "unclear", "tightened", "other_rules")},
        "recorded_unlike_old": tally.unlike_old,
        "verdicts": [{"old": old, "new": new, "count": count} for (old, new), count in sorted(tally.verdicts.items())],
        "groups": [_group_json(key, group, names) for key, group in ordered(tally, shown)],
        "not_decided": [
            {"code": code, "reason": REASONS[code], "count": count, "first": tally.first_undecided[code]}
            for code, count in sorted(tally.undecided.items())
        ],
        "damaged": tally.damaged,
        "damage": [{"place": place, "problem": problem} for place, problem in tally.damage],
    }


def _group_json(key: Key, group: Group, names: Collection[str]) -> dict[str, Any]:  # Any: JSON
    return {
        "direction": key.direction,
        "old": key.old,
        "new": key.new,
        "old_rules": list(key.old_rules),
        "new_rules": list(key.new_rules),
        "tool": key.tool,
        "args": None if key.names is None else list(key.names),
        "count": group.count,
        "first": None if group.first is None else group.first.isoformat(),
        "last": None if group.last is None else group.last.isoformat(),
        "examples": [
            {"place": each.place, "id": each.id, "at": each.at, "args": hidden(json.loads(each.args), names)}
            for each in group.examples
        ],
    }


def text_lines(tally: Tally, shown: tuple[Direction, ...], redacted: Iterable[str]) -> Iterator[str]:
    """The report as lines that are safe to display."""
    names = frozenset(redacted)
    groups = ordered(tally, shown)
    for key, group in groups:
        yield from _group_lines(key, group, names)
    if groups:
        yield ""
    yield from _summary(tally)


def _group_lines(key: Key, group: Group, names: Collection[str]) -> Iterator[str]:
    times = f"{group.count:,} {'decision' if group.count == 1 else 'decisions'}"
    if group.first is not None and group.last is not None:
        first, last = _time(group.first), _time(group.last)
        times += f", {first}" if first == last else f", {first} to {last}"
    yield f"{_HEADS[key.direction]}  {safe_text(key.old)} -> {safe_text(key.new)}  {_shape(key)}: {times}"
    yield f"    rules: {_rules(key.old_rules)} -> {_rules(key.new_rules)}"
    for each in group.examples:
        args = safe_json(hidden(json.loads(each.args), names), limit=VALUE_CHARS)
        yield f"    {safe_text(each.place)}  {args}"


def _summary(tally: Tally) -> Iterator[str]:
    changed = tally.total("loosened", "unclear", "tightened")
    parts = [f"{tally.total(name):,} {name}" for name in ("loosened", "unclear", "tightened") if tally.total(name)]
    detail = f" ({', '.join(parts)})" if parts else ""
    yield f"{changed:,} of {tally.decided:,} decisions change{detail}"
    if other := tally.total("other_rules"):
        yield f"{other:,} {'is' if other == 1 else 'are'} decided alike by other rules"
    if tally.unlike_old:
        verdicts = "verdict is not that" if tally.unlike_old == 1 else "verdicts are not those"
        yield f"{tally.unlike_old:,} recorded {verdicts} of the old policy"
    for code, count in sorted(tally.undecided.items()):
        first = safe_text(tally.first_undecided[code])
        yield f"{count:,} not decided again ({code}): {REASONS[code]}; the first is {first}"
    if tally.damaged:
        yield f"{tally.damaged:,} damaged {'line' if tally.damaged == 1 else 'lines'}"


def _shape(key: Key) -> str:
    if key.names is None:
        return "other calls"
    more = f", ... [{len(key.names) - SHAPE_NAMES} more]" if len(key.names) > SHAPE_NAMES else ""
    return f"{safe_name(key.tool, limit=VALUE_CHARS)}({safe_names(key.names[:SHAPE_NAMES])}{more})"


def _rules(names: tuple[str, ...]) -> str:
    return safe_names(names) or "?"


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
