"""The groups that the differences between decisions are summed up in."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

import msgspec

from bobcat.model.decision import Decision
from bobcat.model.decision_change import Direction, Then
from bobcat.traffic.recorded import Recorded
from bobcat.traffic.usage import Usage

MAX_GROUPS = 10_000
"""Groups that are kept apart; later ones are counted without rules and shape."""
MAX_PLACES = 100
"""Damaged lines that are kept with their places."""


class Key(NamedTuple):
    """What the differences of a group have in common. `names` are those of the arguments; None beyond the cap."""

    direction: Direction | str
    """Or the kind of a divergence on record."""
    old: str
    new: str
    old_rules: tuple[str, ...]
    new_rules: tuple[str, ...]
    tool: str
    names: tuple[str, ...] | None


@dataclass(slots=True)
class Example:
    """One record of a group."""

    place: str
    id: str
    at: str
    args: bytes


@dataclass(slots=True)
class Group:
    """The number of differences, the times of the first and the last, and some examples."""

    count: int = 0
    first: datetime | None = None
    last: datetime | None = None
    examples: list[Example] = field(default_factory=list)

    def add(self, count: int, first: datetime | None, last: datetime | None) -> None:
        """Count differences between two times."""
        self.count += count
        if first is not None and (self.first is None or first < self.first):
            self.first = first
        if last is not None and (self.last is None or last > self.last):
            self.last = last


@dataclass(slots=True)
class Tally:
    """The sums over some records; two tallies are added."""

    lines: int = 0
    decided: int = 0
    alike: int = 0
    """Decisions with the same verdict, arguments and approvals."""
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    undecided: Counter[str] = field(default_factory=Counter)
    first_undecided: dict[str, str] = field(default_factory=dict)
    """The place of the first record for each reason."""
    unlike_old: int = 0
    """Recorded verdicts that differ from those of the policy compared with."""
    groups: dict[Key, Group] = field(default_factory=dict)
    damaged: int = 0
    damage: list[tuple[str, str]] = field(default_factory=list)
    """Places of damaged lines, with the problems."""
    usage: Usage = field(default_factory=Usage)
    marker: bytes | None = None
    """The last entry of a decision log that stands for pruned ones."""

    def count_undecided(self, code: str, place: str) -> None:
        """Count a record that cannot be decided again."""
        self.undecided[code] += 1
        self.first_undecided.setdefault(code, place)

    def count_damage(self, place: str, problem: str) -> None:
        """Count a damaged line."""
        self.damaged += 1
        if len(self.damage) < MAX_PLACES:
            self.damage.append((place, problem))

    def group(self, key: Key) -> Group:
        """The group of a key; beyond the cap, that of all shapes with these verdicts."""
        found = self.groups.get(key)
        if found is None:
            if len(self.groups) >= MAX_GROUPS:
                key = key._replace(old_rules=(), new_rules=(), tool="", names=None)
            found = self.groups.setdefault(key, Group())
        return found

    def add(self, other: Tally, examples: int) -> None:
        """Add a later tally, with at most so many examples of a group."""
        for name in ("lines", "decided", "alike", "unlike_old", "damaged"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.verdicts += other.verdicts
        self.undecided += other.undecided
        self.first_undecided = {**other.first_undecided, **self.first_undecided}
        self.damage = [*self.damage, *other.damage][:MAX_PLACES]
        self.marker = other.marker or self.marker
        self.usage.merge(other.usage)
        for key, group in other.groups.items():
            mine = self.group(key)
            mine.add(group.count, group.first, group.last)
            mine.examples = [*mine.examples, *group.examples][:examples]

    def total(self, *directions: Direction) -> int:
        """The number of differences in these directions."""
        return sum(group.count for key, group in self.groups.items() if key.direction in directions)


def then_of_record(record: Recorded) -> Then:
    """The recorded decision."""
    args = None if record.effective is None else msgspec.json.decode(record.effective)
    return Then(record.verdict, record.rules, args, record.approvals)


def key_of(direction: Direction, record: Recorded, then: Then, now: Decision) -> Key:
    """The group of a difference."""
    names = tuple(sorted(msgspec.json.decode(record.args, type=dict[str, msgspec.Raw])))
    tool = msgspec.json.decode(record.tool, type=str)
    return Key(direction, then.verdict, now.verdict.value, then.rules, tuple(now.matched_rules), tool, names)
