"""The metrics of a worker as OpenTelemetry instruments. Needs `pip install 'bobcat[otel]'`.

Counters and gauges are observed when the program's exporter collects them; the state of the store is read once for each
collection. Only the API of OpenTelemetry is used: the app configures the SDK and its exporters.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from bobcat._core import __version__
from bobcat.stores.counts import StoreCounts, count_live
from bobcat.stores.protocol import DurableStore
from bobcat.workers.activity import BOUNDS, LATENCIES, Activity
from bobcat.workers.worker_metrics import TOTALS

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation

FRESH_SECONDS = 1.0
"""Time for which the state of the store is used by the instruments of one collection."""
SCRAPE_SECONDS = 4.0


def export_metrics(
    activity: Activity,
    store: DurableStore,
    *,
    provider: MeterProvider | None = None,
    fresh_seconds: float = FRESH_SECONDS,
) -> None:
    """Register the instruments with the provider, or with that of the process. Called on the event loop of the store.

    Raises `ImportError` if the extra `bobcat[otel]` is not installed.
    """
    try:
        from opentelemetry import metrics
    except ModuleNotFoundError as error:
        raise ImportError(
            "--metrics otel requires the 'opentelemetry-api' package: pip install 'bobcat[otel]'"
        ) from error
    meter = metrics.get_meter("bobcat", __version__, provider)
    state = _StoreState(store, fresh_seconds)
    observed = metrics.Observation

    def claims(_: CallbackOptions) -> Iterable[Observation]:
        return [observed(number, {"bobcat.kind": kind}) for kind, number in activity.claims().items()]

    def attempts(_: CallbackOptions) -> Iterable[Observation]:
        return [
            observed(number, {"bobcat.kind": kind, "bobcat.outcome": outcome})
            for (kind, outcome), number in activity.attempts().items()
        ]

    def runs(_: CallbackOptions) -> Iterable[Observation]:
        counts = state.read()
        if counts is None:
            return []
        return [observed(number, {"bobcat.status": status}) for status, number in counts.runs.items()]

    def of_store(value: Callable[[StoreCounts], float]) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def observe(_: CallbackOptions) -> Iterable[Observation]:
            counts = state.read()
            return [] if counts is None else [observed(value(counts))]

        return observe

    def total(name: str) -> Callable[[CallbackOptions], Iterable[Observation]]:
        return lambda _: [observed(activity.totals()[name])]

    meter.create_observable_counter("bobcat.worker.claims", [claims], description="Runs that this worker took.")
    meter.create_observable_counter("bobcat.worker.attempts", [attempts], description="Attempts that ended.")
    for name, text in TOTALS.items():
        meter.create_observable_counter(f"bobcat.worker.{name}", [total(name)], description=text)
    meter.create_observable_gauge("bobcat.store.runs", [runs], description="Runs that go on, by status.")
    for name, unit, value in (
        ("queue.due", "{run}", lambda counts: counts.due),
        ("queue.oldest", "s", lambda counts: _age(counts, counts.oldest_due)),
        ("store.approvals", "{approval}", lambda counts: counts.approvals),
        ("store.approvals.oldest", "s", lambda counts: _age(counts, counts.oldest_approval)),
        ("store.uncertain", "{run}", lambda counts: counts.uncertain),
    ):
        meter.create_observable_gauge(f"bobcat.{name}", [of_store(value)], unit=unit)
    histograms = {
        name: meter.create_histogram(
            f"bobcat.worker.{name}", unit="s", description=text, explicit_bucket_boundaries_advisory=BOUNDS
        )
        for name, text in LATENCIES.items()
    }
    activity.observer = lambda name, seconds: histograms[name].record(seconds)


class _StoreState:
    """The counts of a store, read from the thread of an exporter."""

    def __init__(self, store: DurableStore, fresh_seconds: float) -> None:
        self._store, self._fresh = store, fresh_seconds
        self._loop = asyncio.get_running_loop()
        self._counts: StoreCounts | None = None
        self._until = -1.0

    def read(self) -> StoreCounts | None:
        """The counts; None when the store does not answer."""
        if time.monotonic() >= self._until:
            self._counts = self._ask()
            self._until = time.monotonic() + self._fresh
        return self._counts

    def _ask(self) -> StoreCounts | None:
        counting = count_live(self._store)
        try:
            future = asyncio.run_coroutine_threadsafe(counting, self._loop)
        except RuntimeError:  # the loop is closed
            counting.close()
            return None
        try:
            return future.result(SCRAPE_SECONDS)
        except Exception:  # the loop has ended or is blocked, or the store is unavailable
            future.cancel()
            return None


def _age(counts: StoreCounts, since: datetime | None) -> float:
    return 0.0 if since is None else max((counts.now - since).total_seconds(), 0.0)
