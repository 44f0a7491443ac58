"""Benchmark results as values. Times are nanoseconds; `relative` is in steps of the reference loop.

INVARIANT: a saved result is this as JSON; a change to a field that a comparison reads must raise `FORMAT`.
"""

from __future__ import annotations

from typing import Any

import msgspec

FORMAT = 1


class Struct(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the values of a report."""


class MachineInfo(Struct, frozen=True):
    """The machine of a benchmark."""

    system: str
    processor: str
    cores: int
    python: str


class BenchmarkSubject(Struct, frozen=True):
    """The subject of a benchmark: the digests of the policy and the requests."""

    policy: str
    profile: str
    rules: int
    requests: int
    source: str
    requests_digest: str


class Decisions(Struct, frozen=True):
    """Time per decision. `mean` and `per_second` are from whole passes over the requests, the percentiles from single
    calls.

    `relative` is the median over the rounds of decision / reference step, `spread` the interquartile range of the
    rounds as a fraction of `relative`.
    """

    mean: float
    p50: float
    p99: float
    per_second: float
    relative: float
    spread: float
    rounds: int
    samples: int


class Bucket(Struct, frozen=True):
    """Number of single calls that took at least `low` and less than `high`."""

    low: float
    high: float
    count: int


class RuleCost(Struct, frozen=True):
    """The requests that a rule or a default decides. `share` is its fraction of the total time.

    `alone` is the cost of the rule in a program without other rules; None if not measured.
    """

    rule: str
    requests: int
    mean: float
    share: float
    alone: float | None


class ClauseCost(Struct, frozen=True):
    """The cost that a clause adds to a program without rules, on the requests of its rule. Equal clauses are merged."""

    rule: str
    clause: str
    place: str
    cost: float
    rules: int


class SlowCall(Struct, frozen=True):
    """One of the slowest requests. `place` is its line, or its number from 1."""

    place: int
    tool: str
    verdict: str
    rule: str
    time: float


class BaselineComparison(Struct, frozen=True):
    """Comparison with a baseline. `change` is 1.2 if decisions take 20 % more reference steps."""

    relative: float
    change: float
    fail_over: float | None
    regression: bool
    notes: tuple[str, ...] = ()


class BenchmarkReport(Struct, frozen=True):
    """A complete benchmark result."""

    format: int
    reference: int
    bobcat: str
    machine: MachineInfo
    subject: BenchmarkSubject
    decisions: Decisions
    histogram: tuple[Bucket, ...]
    rules: tuple[RuleCost, ...]
    clauses: tuple[ClauseCost, ...]
    clauses_left_out: int
    slowest: tuple[SlowCall, ...]
    comparison: BaselineComparison | None = None

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the report as plain JSON data."""
        built: dict[str, Any] = msgspec.to_builtins(self)  # Any: JSON
        return built
