"""Baselines: reading a saved report with validation, and comparison with a new one."""

from __future__ import annotations

import json

import msgspec

from bobcat.benchmark import reference
from bobcat.benchmark.report import FORMAT, BaselineComparison, BenchmarkReport


class BaselineError(ValueError):
    """A file is not a baseline, or cannot be compared with."""


def read_baseline(data: bytes, name: str) -> BenchmarkReport:
    """Read the report in the JSON of `--save` or `--format json`. Raises `BaselineError`."""
    try:
        header = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        found = {key: msgspec.json.decode(header[key], type=int) for key in ("format", "reference") if key in header}
        if found != {"format": FORMAT, "reference": reference.VERSION}:
            raise BaselineError(
                f"`{name}` is not a baseline of this version of Bobcat; make one with `bobcat bench --save`"
            )
        report = msgspec.json.decode(data, type=BenchmarkReport)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BaselineError(f"`{name}` is not a baseline: {error}; make one with `bobcat bench --save`") from error
    if not report.decisions.relative > 0:
        raise BaselineError(
            f"`{name}` is not a baseline: its decisions take no time; make one with `bobcat bench --save`"
        )
    return report


def as_json(report: BenchmarkReport) -> str:
    """Return a report as saved: without its own comparison."""
    alone = msgspec.structs.replace(report, comparison=None)
    return json.dumps(alone.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def compared(report: BenchmarkReport, baseline: BenchmarkReport, fail_over: float | None) -> BaselineComparison:
    """Compare a report with a baseline; `notes` list reasons why the comparison may mislead."""
    change = report.decisions.relative / baseline.decisions.relative
    return BaselineComparison(
        relative=baseline.decisions.relative,
        change=change,
        fail_over=fail_over,
        regression=fail_over is not None and change > fail_over,
        notes=tuple(_notes(report, baseline)),
    )


def _notes(report: BenchmarkReport, baseline: BenchmarkReport) -> list[str]:
    notes = []
    if report.subject.requests_digest != baseline.subject.requests_digest:
        notes.append("the baseline was measured on other requests; pass the same file with `--requests`")
    current, other = report.machine, baseline.machine
    if _minor(current.python) != _minor(other.python):
        notes.append(f"the baseline was measured on {other.python}, this on {current.python}")
    if (current.system, current.processor) != (other.system, other.processor):
        notes.append(f"the baseline was measured on another machine ({other.system}, {other.processor})")
    return notes


def _minor(python: str) -> str:
    return python.rpartition(".")[0]
