"""The metrics of a worker, with the official SDK of OpenTelemetry."""

from __future__ import annotations

import asyncio
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from bobcat import MemoryStore
from bobcat.workers import Jobs, Runner, StoreDispatcher
from bobcat.workers.otel_metrics import export_metrics
from bobcat.workers.store_meter import measure_appends
from operations.operated_app import workers


def points(reader: InMemoryMetricReader) -> dict[str, dict[tuple[str, ...], Any]]:
    """The values by instrument and attributes; of a histogram its count."""
    data = reader.get_metrics_data()
    assert data is not None
    return {
        metric.name: {
            tuple(map(str, (point.attributes or {}).values())): point.count if hasattr(point, "count") else point.value
            for point in metric.data.data_points
        }
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


def test_instruments_have_what_the_worker_counted_and_what_the_store_holds() -> None:
    async def main() -> dict[str, dict[tuple[str, ...], Any]]:
        store, reader = MemoryStore(), InMemoryMetricReader()
        runner = Runner(workers, store)
        export_metrics(runner.activity, store, provider=MeterProvider([reader], shutdown_on_exit=False))
        measure_appends(store, runner.activity)
        jobs = Jobs(store)
        for name in ("answer", "fail", "ask"):
            await jobs.enqueue(name, {})
        await StoreDispatcher(until_idle=True).work(runner, concurrency=4, stop=asyncio.Event(), grace_seconds=0)
        await jobs.enqueue("answer", {}, version="9")
        return await asyncio.to_thread(points, reader)

    found = asyncio.run(main())
    assert found["bobcat.worker.attempts"] == {
        ("answer", "succeeded"): 1,
        ("fail", "queued"): 1,
        ("fail", "dead"): 1,
        ("ask", "suspended"): 1,
    }
    assert found["bobcat.worker.attempt"] == {(): 4}
    assert found["bobcat.worker.append"][()] >= 6
    assert found["bobcat.worker.lease_losses"] == {(): 0}
    assert found["bobcat.store.runs"] == {("queued",): 1, ("running",): 0, ("suspended",): 1}
    assert found["bobcat.queue.due"] == {(): 1}
    assert found["bobcat.store.approvals"] == {(): 1}
    assert found["bobcat.store.uncertain"] == {(): 0}


def test_a_loop_that_ended_exports_the_counters_without_the_store() -> None:
    async def main() -> InMemoryMetricReader:
        store, reader = MemoryStore(), InMemoryMetricReader()
        runner = Runner(workers, store)
        provider = MeterProvider([reader], shutdown_on_exit=False)
        export_metrics(runner.activity, store, provider=provider, fresh_seconds=60)
        runner.activity.count_lease_loss()
        return reader

    found = points(asyncio.run(main()))
    assert found["bobcat.worker.lease_losses"] == {(): 1}
    assert "bobcat.store.runs" not in found
