"""Delivery of audit events to the spans of their runs. The sink that `otel_sink` returns.

The key of a run is its policy and its correlation id. Memory is bounded: of more than `MAX_OPEN_RUNS` open runs the
oldest is ended as `abandoned`, such as a run whose task was cancelled, for which no event reports the end. An event of
an unknown kind, or of a run that is not open, makes no span; decisions are counted nevertheless.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final, NamedTuple

from opentelemetry.context import get_current
from opentelemetry.trace import Link, SpanContext, Tracer

from bobcat.model.run import AuditEvent
from bobcat.sinks.otel_metrics import UNKNOWN, Metrics
from bobcat.sinks.otel_spans import ABANDONED, RunSpans
from bobcat.sinks.otel_values import nanoseconds, text, texts

MAX_OPEN_RUNS: Final = 1000
"""Runs and graphs with open spans in one sink."""
MAX_SUSPENDED_RUNS: Final = 10_000
"""Suspended runs that one sink remembers: their number, and the span that a resumed run links to."""

_STARTS = frozenset(("run.started", "graph.started"))
_ENDS = frozenset(
    f"{what}.{outcome}"
    for what in ("run", "graph")
    for outcome in ("succeeded", "finished", "failed", "exhausted", "cancelled", "suspended", "superseded")
)
RELOADS: Final = {"policy.reloaded": "reloaded", "policy.reload_refused": "refused"}
"""Outcomes of a policy's reload by the kind of the event, which no run has."""
_GRAPH = "graph"
"""The `bundle_id` of a graph's events."""
_Key = tuple[str, str]


class _Suspended(NamedTuple):
    """A run that ended until its approvals are answered, and their number in the metrics."""

    span: SpanContext
    pending: int


class Telemetry:
    """Makes spans and metrics of events. Safe in several threads: each run's events come one at a time."""

    def __init__(self, tracer: Tracer, metrics: Metrics, *, record_args: bool) -> None:
        self._tracer = tracer
        self._metrics = metrics
        self._record_args = record_args
        self._open: OrderedDict[_Key, RunSpans] = OrderedDict()
        self._suspended: OrderedDict[str, _Suspended] = OrderedDict()
        self._lock = threading.Lock()
        """Held for the two dictionaries only: a span processor may block when a span ends."""
        self.__qualname__ = "otel_sink"  # the name in failure reports

    async def __call__(self, event: AuditEvent) -> None:
        """Take one event."""
        key, kind, at = (event.bundle_id, event.correlation_id), event.kind, nanoseconds(event.timestamp)
        # A run that another worker executes reports its end first.
        if kind in _STARTS or (event.seq == 0 and kind in _ENDS):
            run = self._start(key, event, at)
        else:
            with self._lock:
                found = self._open.get(key)
            if found is None:
                self._count_only(event)
                return
            run = found
        if kind in _ENDS:
            self._end(key, run, event, at)
        else:
            run.receive(kind, event.body, at)

    def close(self) -> None:
        """End the spans of open runs with the outcome `abandoned`."""
        with self._lock:
            runs = list(self._open.values())
            self._open.clear()
        for run in runs:
            run.end(ABANDONED, {}, run.latest)

    def _start(self, key: _Key, event: AuditEvent, at: int) -> RunSpans:
        run_id = text(event.body, "run_id")
        with self._lock:
            parent = self._graph_of(run_id or event.correlation_id)
            earlier = self._suspended.pop(run_id, None)
        if earlier is not None:
            self._metrics.add_pending(-earlier.pending, "suspended")
        run = RunSpans(
            self._tracer,
            self._metrics,
            event,
            at,
            parent=get_current() if parent is None else parent.context,
            links=() if earlier is None else (Link(earlier.span),),
            record_args=self._record_args,
        )
        left = []
        with self._lock:
            replaced = self._open.pop(key, None)
            if replaced is not None:
                left.append(replaced)
            self._open[key] = run
            while len(self._open) > MAX_OPEN_RUNS:
                left.append(self._open.popitem(last=False)[1])
        for each in left:
            each.end(ABANDONED, {}, each.latest)
        return run

    def _graph_of(self, id: str) -> RunSpans | None:
        """The open graph whose node has this id: `GRAPH::HOP:NODE`. Needs the lock."""
        end = id.rfind("::")
        while end >= 0:
            graph = self._open.get((_GRAPH, id[:end]))
            if graph is not None:
                return graph
            end = id.rfind("::", 0, end)
        return None

    def _end(self, key: _Key, run: RunSpans, event: AuditEvent, at: int) -> None:
        outcome = event.kind.partition(".")[2]
        pending = int(run.waits)
        with self._lock:
            if self._open.get(key) is run:
                del self._open[key]
        run.end("succeeded" if outcome == "finished" else outcome, event.body, at)
        if outcome == "suspended" and run.run_id:
            self._remember(run.run_id, _Suspended(run.span.get_span_context(), pending))

    def _remember(self, run_id: str, suspended: _Suspended) -> None:
        gone = []
        with self._lock:
            replaced = self._suspended.pop(run_id, None)
            if replaced is not None:
                gone.append(replaced)
            self._suspended[run_id] = suspended
            while len(self._suspended) > MAX_SUSPENDED_RUNS:
                gone.append(self._suspended.popitem(last=False)[1])
        self._metrics.add_pending(suspended.pending - sum(each.pending for each in gone), "suspended")

    def _count_only(self, event: AuditEvent) -> None:
        """Count the decision of a run without spans."""
        if event.kind in ("policy.evaluated", "policy.reevaluated"):
            body = event.body
            rules, code = texts(body, "matched_rules"), text(body, "code")
            self._metrics.count_decision(text(body, "verdict"), rules, UNKNOWN, code)
        elif event.kind in RELOADS:
            self._metrics.count_reload(RELOADS[event.kind], text(event.body, "code"))
