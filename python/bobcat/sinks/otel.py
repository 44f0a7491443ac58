"""`otel_sink`: audit events as OpenTelemetry spans and metrics. Needs `pip install 'bobcat[otel]'`.

The names are those of the GenAI semantic conventions, and `bobcat.*` for what the conventions do not have. Only the
API of OpenTelemetry is used: the program configures the SDK and its exporters. `docs/how-to/audit-a-run.md` has an
example and the tables of spans, attributes and metrics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from bobcat._core import __version__
from bobcat.sinks.base import Sink, marked

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider


class OtelSink(Sink, Protocol):
    """A sink that holds open spans."""

    def close(self) -> None:
        """End the spans of open runs with the outcome `abandoned`. The sink can be used further."""


def otel_sink(
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    *,
    record_args: bool = False,
) -> OtelSink:
    """Create a sink that makes OpenTelemetry spans and metrics of events, for any number of runs at once.

    A run is a span `invoke_agent` with a span `execute_tool NAME` for each step and a span `evaluate_policy` for each
    decision; a graph is a span `invoke_workflow`. The metrics are `bobcat.decisions`, `bobcat.tool.duration` and
    `bobcat.approvals.pending`. Without providers, those of the process are used. With `record_args`, spans carry the
    arguments of calls, and reasons and errors, which may quote arguments; names and identifiers are always there.

    Raises `ImportError` if the extra `bobcat[otel]` is not installed.
    """
    try:
        from opentelemetry import metrics, trace

        from bobcat.sinks.otel_events import Telemetry
        from bobcat.sinks.otel_metrics import Metrics
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "opentelemetry":
            raise
        raise ImportError(
            "otel_sink requires the 'opentelemetry-api' package. Install with: pip install 'bobcat[otel]'"
        ) from error
    tracer = trace.get_tracer(_SCOPE, __version__, tracer_provider)
    meter = metrics.get_meter(_SCOPE, __version__, meter_provider)
    return marked(Telemetry(tracer, Metrics(meter), record_args=record_args), required=False)


_SCOPE = "bobcat"
"""Name of the instrumentation scope."""
