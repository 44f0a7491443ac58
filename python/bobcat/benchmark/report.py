"""What a benchmark found, as values. Times are nanoseconds; `relative` is in steps of the reference loop.

INVARIANT: a saved result is this, as JSON; whoever changes a field that a comparison reads raises `FORMAT`.
"""

from __future__ import annotations

from typing import Any

import msgspec

FORMAT = 1


class Struct(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the values of a report."""


class Machine(Struct, frozen=True):
    """What it ran on."""

    system: str
    processor: str
    cores: int
    python: str


class Subject(Struct, frozen=True):
    """What was measured: the policy by its digest, and the requests by theirs."""

    policy: str
    profile: str
    rules: int
    requests: int
    source: str
    requests_digest: str


class Decisions(Struct, frozen=True):
    """One decision. `mean` and `per_second` are of whole passes over the requests, the percentiles of single calls.

    `relative` is the median over the rounds of decision / reference step, `spread` the distance of the quartiles of the
    rounds from each other, as a part of `relative`.
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
    """How many single calls took at least `low` and less than `high`."""

    low: float
    high: float
    count: int


class RuleCost(Struct, frozen=True):
    """The requests that a rule, or a default, decides. `share` is its part of the whole time.

    `alone` is what the rule costs in a program without other rules; None where that was not measured.
    """

    rule: str
    requests: int
    mean: float
    share: float
    alone: float | None


class ClauseCost(Struct, frozen=True):
    """What a clause adds to a program that has no rule, on the requests of its rule. Equal clauses are one."""

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


class Comparison(Struct, frozen=True):
    """A result beside a baseline. `change` is 1.2 where decisions have become a fifth slower, in reference steps."""

    relative: float
    change: float
    fail_over: float | None
    regression: bool
    notes: tuple[str, ...] = ()


class Report(Struct, frozen=True):
    """A whole result."""

    format: int
    reference: int
    bobcat: str
    machine: Machine
    subject: Subject
    decisions: Decisions
    histogram: tuple[Bucket, ...]
    rules: tuple[RuleCost, ...]
    clauses: tuple[ClauseCost, ...]
    clauses_left_out: int
    slowest: tuple[SlowCall, ...]
    comparison: Comparison | None = None

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """The report as plain JSON data."""
        built: dict[str, Any] = msgspec.to_builtins(self)  # Any: JSON
        return built
