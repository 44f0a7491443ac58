"""`otel_sink` as lynx-agent 2.9 and later have it: one span per event.

`bobcat.sinks.otel` has spans of runs and their steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from bobcat.model.run import AuditEvent
from bobcat.sinks import Sink
from bobcat.sinks.otel_values import clean, nanoseconds
from bobcat.text.json_text import loose_json_text, safe_str

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

_INTEGERS: Final = range(-(2**63), 2**63)
"""Integers that an exporter can encode; another one loses the whole batch."""


def otel_sink(tracer: Tracer | None = None) -> Sink:
    """Create a sink that makes one span per event, which starts and ends at the event's time and is named by its kind.

    The event's fields are attributes `lynx.*`, those of its body `lynx.body.*`; a value that no attribute can have is
    its JSON text. The parent is the current span. Without `tracer`, the tracer `lynx` of the process is used.

    Raises `RuntimeError` when OpenTelemetry is not installed.
    """
    try:
        from opentelemetry import trace
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "opentelemetry":
            raise
        raise RuntimeError("otel_sink requires opentelemetry-api: pip install 'bobcat[otel]'") from error
    used = tracer if tracer is not None else trace.get_tracer("lynx")

    async def sink(event: AuditEvent) -> None:
        at = nanoseconds(event.timestamp)
        span = used.start_span(name=event.kind, start_time=at, attributes=_attributes(event))
        span.end(end_time=at)

    return sink


def _attributes(event: AuditEvent) -> Mapping[str, str | bool | int | float]:
    names = ("correlation_id", "bundle_id", "seq", "kind")
    named: dict[str, Any] = {f"lynx.{name}": getattr(event, name) for name in names}  # Any: values of a body
    named |= {f"lynx.body.{clean(safe_str(name), None)}": value for name, value in event.body.items()}
    return {name: _attribute(value) for name, value in named.items()}


def _attribute(value: object) -> str | bool | int | float:
    if isinstance(value, str):
        return clean(value, None)
    if isinstance(value, float) or (isinstance(value, int) and value in _INTEGERS):
        return value
    return loose_json_text(value)
