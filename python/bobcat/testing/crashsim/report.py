"""Results of a campaign by point: as values, as a table, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields

from bobcat.testing.crashsim.schedule import parse_schedule
from bobcat.testing.crashsim.verdict import Row
from bobcat.text.display import safe_json_text, safe_names, safe_text

SHOWN = 20
"""Rows that a failed check shows."""
_COLUMNS = ("runs", "double", "lost", "guessed", "uncertain", "failed", "not ended")


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over some rows: runs, and effects by outcome."""

    runs: int
    double: int
    lost: int
    guessed: int
    uncertain: int
    failed: int
    not_ended: int

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Tally:
        """Return the sums over these rows."""
        each = [
            (1, *map(len, (row.double, row.lost, row.guessed, row.uncertain, row.failed)), int(not row.ended))
            for row in rows
        ]
        return cls(*(sum(column) for column in zip(*each, strict=True))) if each else cls(0, 0, 0, 0, 0, 0, 0)


class CrashSimError(AssertionError):
    """A campaign found double, lost or guessed effects, or runs that did not end. `report` has every row."""

    def __init__(self, message: str, report: Report) -> None:
        super().__init__(message)
        self.report = report


@dataclass(frozen=True, slots=True)
class Report:
    """Results of a campaign. `points` is the number of points of the fault-free run, `rows` has every run.

    `complete` is False if the limit omitted runs.
    """

    scenario: str
    points: int
    rows: tuple[Row, ...]
    complete: bool

    @property
    def total(self) -> Tally:
        """Return the sums over all runs."""
        return Tally.of(self.rows)

    @property
    def runs(self) -> int:
        """Return the number of runs."""
        return len(self.rows)

    @property
    def double(self) -> int:
        """Count the surplus effects, over all runs."""
        return self.total.double

    @property
    def lost(self) -> int:
        """Count the effects that did not happen but were reported as done."""
        return self.total.lost

    @property
    def guessed(self) -> int:
        """Count the effects that happened but were reported as not done."""
        return self.total.guessed

    @property
    def uncertain(self) -> int:
        """Count the effects that may have happened and that the run reports as uncertain."""
        return self.total.uncertain

    @property
    def failed(self) -> int:
        """Count the effects that did not happen and that the run reports as failed."""
        return self.total.failed

    @property
    def not_ended(self) -> int:
        """Count the runs that ended neither with an answer nor waiting for an approval."""
        return self.total.not_ended

    @property
    def faults(self) -> tuple[Row, ...]:
        """Return the runs with faults."""
        return tuple(row for row in self.rows if not row.clean)

    def table(self) -> str:
        """Return one line for each kind and first point, with the sums over the runs with a fault there."""
        groups: dict[tuple[str, int, str], list[Row]] = {}
        for row in self.rows:
            how, at = parse_schedule(row.schedule)
            label: str = f"{how} twice" if how == "kill" and len(at) > 1 else how
            key = label, at[0] if at else 0, safe_text(row.places[0]) if row.places else ""
            groups.setdefault(key, []).append(row)
        lines: list[tuple[str, ...]] = [("", "point", *_COLUMNS, "where")]
        for (label, number, place), rows in groups.items():
            lines.append((label, str(number or ""), *_cells(Tally.of(rows)), place))
        lines.append(("all", "", *_cells(self.total), ""))
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(_aligned(line, widths) for line in lines)

    def __str__(self) -> str:
        total = self.total
        rest = "" if self.complete else ", not all of them"
        return (
            f"{safe_text(self.scenario)}: {self.points} points, {total.runs} runs{rest}: {total.double} double, "
            f"{total.lost} lost, {total.guessed} guessed, {total.uncertain} uncertain, {total.failed} failed, "
            f"{total.not_ended} not ended"
        )

    def to_json(self) -> str:
        """Return the totals and the rows."""
        head = {"scenario": self.scenario, "points": self.points, "complete": self.complete}
        rows = [{key: value for key, value in asdict(row).items() if value} for row in self.rows]
        text = json.dumps({**head, **asdict(self.total), "rows": rows}, indent=1, ensure_ascii=False)
        return safe_json_text(text)

    def check(self) -> Report:
        """Return this report if there are no faults. Raises `CrashSimError` with each fault and its replay."""
        if self.faults:
            again = f"print(crashsim.replay({self.scenario}, {self.faults[0].schedule!r}))"
            raise CrashSimError(f"{self}\n\n{self.faults_text(again)}", self)
        return self

    def faults_text(self, again: str) -> str:
        """Format the first faults, line by line, and `again`, the way to replay one."""
        lines = []
        for row in self.faults[:SHOWN]:
            kinds = {"double": row.double, "lost": row.lost, "guessed": row.guessed}
            what = [f"{kind} {safe_names(names)}" for kind, names in kinds.items() if names]
            if not row.ended:
                what.append(safe_text(f"{row.status}: {row.error}"))
            lines.append(f"  {safe_text(row.schedule)}: {'; '.join(what)}")
            lines += [f"      {safe_text(place)}" for place in row.places]
        if len(self.faults) > SHOWN:
            lines.append(f"  and {len(self.faults) - SHOWN} more")
        return "\n".join([*lines, "", f"to replay one: {safe_text(again)}"])


def _cells(tally: Tally) -> tuple[str, ...]:
    return tuple(str(getattr(tally, each.name)) for each in fields(Tally))


def _aligned(line: tuple[str, ...], widths: list[int]) -> str:
    first, *numbers, last = line
    middle = [text.rjust(width) for text, width in zip(numbers, widths[1:-1], strict=True)]
    return "  ".join([first.ljust(widths[0]), *middle, last]).rstrip()
