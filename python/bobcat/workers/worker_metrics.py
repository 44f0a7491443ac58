"""Metrics of a worker in the text format of Prometheus: its own counters, and the state of the store's queue.

INVARIANT: label values are kinds of runs, outcomes and statuses, never text that a model or a tenant chose.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from bobcat.stores.counts import StoreCounts
from bobcat.text.prometheus import Sample, histogram_samples, metric_text
from bobcat.workers.activity import BOUNDS, LATENCIES, Activity

TOTALS = {
    "lease_losses": "Leases that ended, or that another worker took, while this one executed the run.",
    "records": "Records that the store acknowledged.",
    "pruned_runs": "Runs that retention removed.",
    "statements": "Statements, scripts or changes of files that the worker asked of its store.",
    "commits": "Transactions, round trips of Redis or synced files that they took.",
}


def metrics_text(activity: Activity, counts: StoreCounts | None, *, concurrency: int) -> str:
    """All metrics; without `counts`, as when the store does not answer, those of the worker itself."""
    found = [
        _gauge("worker_concurrency", "Runs that this worker may execute at once.", concurrency),
        _gauge("worker_running_runs", "Runs that this worker executes.", len(activity.run_ids)),
        metric_text("worker_claims_total", "counter", "Runs that this worker took, by kind.",
                    [("", {"kind": kind}, number) for kind, number in sorted(activity.claims().items())]),
        metric_text("worker_attempts_total", "counter", "Attempts that ended, by kind and outcome.",
                    [("", {"kind": kind, "outcome": outcome}, number)
                     for (kind, outcome), number in sorted(activity.attempts().items())]),
    ]  # fmt: skip
    found += [
        metric_text(f"worker_{name}_total", "counter", TOTALS[name], [("", {}, number)])
        for name, number in activity.totals().items()
    ]
    for name, text in LATENCIES.items():
        samples = histogram_samples(BOUNDS, *activity.histogram(name))
        found.append(metric_text(f"worker_{name}_seconds", "histogram", text, samples))
    found.append(_gauge("store_up", "1 if the store answered this scrape.", counts is not None))
    return "".join([*found, *(() if counts is None else _of_store(counts))])


def _of_store(counts: StoreCounts) -> Iterable[str]:
    yield metric_text("runs", "gauge", "Runs that go on, by status.",
                      [("", {"status": status}, number) for status, number in counts.runs.items()])  # fmt: skip
    yield metric_text("queued_runs", "gauge", "Queued runs by kind.", _queued(counts))
    yield _gauge("queue_due_runs", "Queued runs whose time has come.", counts.due)
    yield _gauge("queue_oldest_seconds", "Time since the first of them could start.", _age(counts, counts.oldest_due))
    yield _gauge("approvals_pending", "Approvals that suspended runs wait for.", counts.approvals)
    yield _gauge("approvals_oldest_seconds", "Time that the first of them waits.", _age(counts, counts.oldest_approval))
    yield _gauge("uncertain_runs", "Suspended runs of which an action may have happened.", counts.uncertain)


def _queued(counts: StoreCounts) -> list[Sample]:
    return [("", {"kind": kind}, number) for kind, number in sorted(counts.queued.items())]


def _age(counts: StoreCounts, since: datetime | None) -> float:
    return 0.0 if since is None else max((counts.now - since).total_seconds(), 0.0)


def _gauge(name: str, text: str, value: float) -> str:
    return metric_text(name, "gauge", text, [("", {}, value)])
