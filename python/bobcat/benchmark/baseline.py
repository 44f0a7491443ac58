"""Baselines: a saved report, read back with everything checked, and the comparison with a new one."""

from __future__ import annotations

import json

import msgspec

from bobcat.benchmark import reference
from bobcat.benchmark.report import FORMAT, Comparison, Report


class BaselineError(ValueError):
    """A file is no baseline, or one that cannot be compared with."""


def read_baseline(data: bytes, name: str) -> Report:
    """The report in the JSON of `--save` or `--format json`. Raises `BaselineError`."""
    try:
        header = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        found = {key: msgspec.json.decode(header[key], type=int) for key in ("format", "reference") if key in header}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BaselineError(f"`{name}` is no baseline: {error}; make one with `bobcat bench --save`") from error
    known = {"format": FORMAT, "reference": reference.VERSION}
    if found != known:
        raise BaselineError(f"`{name}` is no baseline of this version of Bobcat; make one with `bobcat bench --save`")
    try:
        report = msgspec.json.decode(data, type=Report)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BaselineError(f"`{name}` is no baseline: {error}; make one with `bobcat bench --save`") from error
    if not report.decisions.relative > 0:
        raise BaselineError(f"`{name}` is no baseline: its decisions take no time; make one with `bobcat bench --save`")
    return report


def as_json(report: Report) -> str:
    """A report as it is saved: without the comparison that it was part of."""
    alone = msgspec.structs.replace(report, comparison=None)
    return json.dumps(alone.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def compared(report: Report, baseline: Report, fail_over: float | None) -> Comparison:
    """A report beside a baseline; `notes` say what makes the comparison doubtful."""
    change = report.decisions.relative / baseline.decisions.relative
    return Comparison(
        relative=baseline.decisions.relative,
        change=change,
        fail_over=fail_over,
        regression=fail_over is not None and change > fail_over,
        notes=tuple(_notes(report, baseline)),
    )


def _notes(report: Report, baseline: Report) -> list[str]:
    notes = []
    if report.subject.requests_digest != baseline.subject.requests_digest:
        notes.append("the baseline was measured on other requests; give the same file with `--requests`")
    mine, other = report.machine, baseline.machine
    if _minor(mine.python) != _minor(other.python):
        notes.append(f"the baseline was measured on {other.python}, this on {mine.python}")
    if (mine.system, mine.processor) != (other.system, other.processor):
        notes.append(f"the baseline was measured on another machine ({other.system}, {other.processor})")
    return notes


def _minor(python: str) -> str:
    return python.rpartition(".")[0]
