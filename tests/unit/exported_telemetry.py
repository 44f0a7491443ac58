"""A sink of `otel_sink` with the official SDK, and what it has exported so far."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from bobcat import AuditEvent, otel_sink
from kernel.scripted import Seen, seen

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


class Exported:
    """The spans and metrics of `sink`, and of further sinks with the same providers."""

    def __init__(self, **options: Any) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers = TracerProvider(shutdown_on_exit=False)
        self.meters = MeterProvider([self.reader], shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.sink: Any = otel_sink(self.tracers, self.meters, **options)

    def spans(self, prefix: str = "") -> list[ReadableSpan]:
        """The spans that ended, in the order of their ends."""
        return [span for span in self.exporter.get_finished_spans() if span.name.startswith(prefix)]

    def one(self, prefix: str) -> ReadableSpan:
        (span,) = self.spans(prefix)
        return span

    def outcomes(self, prefix: str) -> list[tuple[str, str]]:
        """Outcome and status of each span."""
        return [(attributes(span)["bobcat.outcome"], span.status.status_code.name) for span in self.spans(prefix)]

    def parent(self, span: ReadableSpan) -> str | None:
        """Name of the parent, among the spans that ended."""
        above = None if span.parent is None else span.parent.span_id
        return next((each.name for each in self.spans() if each.context.span_id == above), None)

    def points(self, name: str) -> Iterator[Any]:
        """The data points of a metric."""
        data = self.reader.get_metrics_data()
        for resource in data.resource_metrics if data is not None else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    if metric.name == name:
                        yield from metric.data.data_points

    def decisions(self) -> dict[tuple[str, ...], int]:
        """The count of decisions by verdict, rule and tool."""
        names = ("bobcat.verdict", "bobcat.rule", "gen_ai.tool.name")
        return {tuple(each.attributes[name] for name in names): each.value for each in self.points("bobcat.decisions")}

    def pending(self) -> dict[str, int]:
        """The pending approvals by state of their runs."""
        points = list(self.points("bobcat.approvals.pending"))
        return {each.attributes["bobcat.wait"]: each.value for each in points if each.value}

    @property
    def open_runs(self) -> int:
        return len(self.sink._open)

    def run(self, *replies: object, **options: Any) -> Seen:
        """Run a scripted agent with the sink."""
        return seen(*replies, sinks=(self.sink,), **options)

    def send(self, *events: AuditEvent) -> None:
        """Send single events to the sink."""

        async def all_of() -> None:
            for each in events:
                await self.sink(each)

        asyncio.run(all_of())


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def event(kind: str, count: int = 1, /, *, run: str = "r", seconds: float = 0, **body: Any) -> AuditEvent:
    """An event that no run has sent."""
    return AuditEvent(run, "bundle", count, kind, NOW + timedelta(seconds=seconds), body)
