"""The whole benchmark: rounds against the reference loop, single calls, rules, clauses, and the comparison."""

from __future__ import annotations

import math
import os
import platform
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from bobcat._core import __version__, evaluate_many
from bobcat.benchmark import reference
from bobcat.benchmark.baseline import compared
from bobcat.benchmark.calls import Calls
from bobcat.benchmark.page import counted
from bobcat.benchmark.parts import CostAttribution
from bobcat.benchmark.report import (
    FORMAT,
    BenchmarkReport,
    BenchmarkSubject,
    Bucket,
    ClauseCost,
    Decisions,
    MachineInfo,
    RuleCost,
    SlowCall,
)
from bobcat.benchmark.timing import Rounds, no_collector, rounds, samples
from bobcat.bundle import Policy
from bobcat.ir.schema import AnyRule, IrRule
from bobcat.model.decision import ActionRequest, Decision

SLOWEST = 10
"""Number of slowest requests in the report."""
REPEATS = 2
"""Number of repeated measurements before a regression is reported."""


def bench(
    bundle: Policy,
    calls: Calls,
    *,
    seconds: float = 2.0,
    baseline: BenchmarkReport | None = None,
    fail_over: float | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> BenchmarkReport:
    """Measure for about `seconds`, half of the time decisions, half of it rules and clauses.

    With a baseline, an apparent regression is measured again, and the best measurement counts.
    """
    requests = calls.requests
    progress(f"deciding {counted(len(requests), 'request')} with {counted(bundle.rule_count, 'rule')}")
    best = rounds(bundle, requests, seconds / 2)
    for _ in range(REPEATS if baseline is not None and fail_over is not None else 0):
        if baseline is None or fail_over is None or best.relative / baseline.decisions.relative <= fail_over:
            break
        progress("slower than the baseline; measuring again")
        again = rounds(bundle, requests, seconds / 2)
        best = min(best, again, key=lambda made: made.relative)
    progress("timing single calls")
    taken = samples(bundle, requests)
    decisions = evaluate_many(bundle, requests)
    progress("measuring rules and clauses alone")
    costs, clauses, left_out = _costs(bundle, requests, decisions, taken, seconds / 2)
    report = BenchmarkReport(
        format=FORMAT,
        reference=reference.VERSION,
        bobcat=__version__,
        machine=machine(),
        subject=BenchmarkSubject(
            policy=bundle.id,
            profile=bundle.profile,
            rules=bundle.rule_count,
            requests=len(requests),
            source=calls.source,
            requests_digest=calls.digest,
        ),
        decisions=_figures(best, taken),
        histogram=_histogram([one for times in taken for one in times]),
        rules=costs,
        clauses=clauses,
        clauses_left_out=left_out,
        slowest=_slowest(calls, decisions, taken),
    )
    if baseline is None:
        return report
    return msgspec.structs.replace(report, comparison=compared(report, baseline, fail_over))


def machine() -> MachineInfo:
    """Return data about the machine."""
    processor = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                processor = line.partition(":")[2].strip()
                break
    return MachineInfo(
        system=platform.system(),
        processor=processor,
        cores=os.cpu_count() or 1,
        python=f"{platform.python_implementation()} {platform.python_version()}",
    )


def _figures(made: Rounds, taken: Sequence[Sequence[int]]) -> Decisions:
    every = sorted(one for times in taken for one in times)
    mean = statistics.median(made.decision)
    low, _, high = statistics.quantiles(made.ratios, n=4)
    return Decisions(
        mean=mean * 1e9,
        p50=float(_percentile(every, 50)),
        p99=float(_percentile(every, 99)),
        per_second=1 / mean,
        relative=made.relative,
        spread=(high - low) / made.relative,
        rounds=len(made.decision),
        samples=len(every),
    )


def _percentile(ordered: Sequence[int], percent: int) -> int:
    return ordered[min(len(ordered) - 1, math.ceil(len(ordered) * percent / 100) - 1)]


def _histogram(times: Sequence[int]) -> tuple[Bucket, ...]:
    """Build buckets that grow by the square root of two, from the first non-empty one to the last."""
    counts: dict[int, int] = {}
    for taken in times:
        step = math.floor(2 * math.log2(max(taken, 1)))
        counts[step] = counts.get(step, 0) + 1
    return tuple(
        Bucket(low=2 ** (step / 2), high=2 ** ((step + 1) / 2), count=counts.get(step, 0))
        for step in range(min(counts), max(counts) + 1)
    )


def decided_by(decision: Decision) -> str:
    """Return the rule, default or marker that determined the decision."""
    return str(decision.matched_rules[-1]) if decision.matched_rules else "<none>"


def _costs(
    bundle: Policy,
    requests: Sequence[ActionRequest],
    decisions: Sequence[Decision],
    taken: Sequence[Sequence[int]],
    budget: float,
) -> tuple[tuple[RuleCost, ...], tuple[ClauseCost, ...], int]:
    """Return the costs of rules and clauses, highest first, and the number of unmeasured clauses."""
    typical = [statistics.median(times) for times in taken]
    whole = sum(typical) or 1.0
    groups: dict[str, list[int]] = {}
    for number, decision in enumerate(decisions):
        groups.setdefault(decided_by(decision), []).append(number)
    total = {name: sum(typical[number] for number in numbers) for name, numbers in groups.items()}
    indexes = {_rule_name(rule): index for index, rule in enumerate(bundle.ir.rules)}
    order = sorted(groups, key=lambda name: -total[name])
    decided = {indexes[name]: [requests[number] for number in groups[name]] for name in order if name in indexes}
    rest = (index for index in range(len(indexes)) if index not in decided)
    with no_collector():
        parts = CostAttribution(bundle, requests)
        alone = parts.rules(decided, budget / 2)
        clauses, left_out = parts.clauses({**decided, **dict.fromkeys(rest, ())}, budget / 2)
    costs = tuple(
        RuleCost(
            rule=name,
            requests=len(groups[name]),
            mean=total[name] / len(groups[name]),
            share=total[name] / whole,
            alone=alone.get(indexes.get(name, -1)),
        )
        for name in order
    )
    return costs, clauses, left_out


def _rule_name(rule: AnyRule) -> str:
    return str(rule.id) if isinstance(rule, IrRule) else rule.name


def _slowest(calls: Calls, decisions: Sequence[Decision], taken: Sequence[Sequence[int]]) -> tuple[SlowCall, ...]:
    typical = [statistics.median(times) for times in taken]
    slow = sorted(range(len(typical)), key=lambda number: (-typical[number], number))[:SLOWEST]
    return tuple(
        SlowCall(
            place=calls.places[number],
            tool=calls.requests[number].tool,
            verdict=str(decisions[number].verdict),
            rule=decided_by(decisions[number]),
            time=float(typical[number]),
        )
        for number in slow
    )
