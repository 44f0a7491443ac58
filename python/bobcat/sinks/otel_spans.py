"""Spans of one run or one graph: the run, its present step, and their decisions. Created by `otel_events`.

A run takes one step at a time, so one step is open at most. Every span begins and ends at the time of an event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, Status, StatusCode, Tracer, set_span_in_context

from bobcat.model.run import AuditEvent
from bobcat.sinks.otel_metrics import UNKNOWN, Metrics
from bobcat.sinks.otel_values import Body, Value, attribute, clean, number, text, texts
from bobcat.text.json_text import json_text

ABANDONED: Final = "abandoned"
"""Outcome of a run or step whose end no event reports."""
STEP_ENDS: Final[Mapping[str, str]] = {
    "action.completed": "completed",
    "action.dry_run_completed": "previewed",
    "action.denied": "denied",
    "action.failed": "failed",
}
"""Outcome of a step by the kind of the event that ends it."""

_ERRORS = frozenset(("failed", "exhausted", ABANDONED))
_OPERATION = "gen_ai.operation.name"
_NOTED: Mapping[str, tuple[str, ...]] = {
    "action.dry_run": (),
    "action.reconciled": ("outcome",),
    "action.started": (),
    "action.uncertain": (),
    "approval.denied": ("approver",),
    "approval.granted": ("approver",),
    "approval.requested": ("approvers", "uncertain"),
    "audit.gap": ("sink", "first_seq"),
    "graph.handoff": ("hop", "node", "next", "denials", "ok"),
    "obligation.failed": ("name", "phase", "code"),
    "obligation.performed": ("name", "phase"),
    "run.bundle_changed": ("journaled_bundle_id", "current_bundle_id"),
    "run.resumed": ("records", "attempt"),
    "run.unbounded": (),
    "step.compress_failed": ("seq",),
    "step.compressed": ("seq", "before_chars", "after_chars"),
    "step.replayed": ("seq", "ok", "verdict"),
}
"""Kinds that become events of a span, and the keys of their bodies that become attributes."""
_USAGE: Mapping[str, tuple[str, ...]] = {
    # The conventions count cached tokens as input; events do not.
    "gen_ai.usage.input_tokens": ("input_tokens", "cache_read_tokens", "cache_write_tokens"),
    "gen_ai.usage.output_tokens": ("output_tokens",),
    "gen_ai.usage.cache_read.input_tokens": ("cache_read_tokens",),
    "gen_ai.usage.cache_creation.input_tokens": ("cache_write_tokens",),
}
"""Attributes of usage, and the keys of `step.usage` that they add up."""


class _Step:
    """The open step of a run."""

    __slots__ = ("code", "context", "label", "seq", "span", "waits")

    def __init__(self, seq: object, label: str, span: Span, context: Context) -> None:
        self.seq = seq
        self.label = label
        """The tool's name for metrics and span names."""
        self.span = span
        self.context = set_span_in_context(span, context)
        self.code = ""
        self.waits = False
        """True while an approval is requested and not answered."""


class RunSpans:
    """The open spans of one run or graph. `latest` is the time of its last event."""

    __slots__ = (
        "_metrics", "_record_args", "_step", "_tools", "_tracer", "_usage", "bundle_id", "context", "latest", "run_id",
        "span",
    )  # fmt: skip

    def __init__(
        self,
        tracer: Tracer,
        metrics: Metrics,
        event: AuditEvent,
        at: int,
        *,
        parent: Context,
        links: Sequence[Link] = (),
        record_args: bool = False,
    ) -> None:
        self._tracer = tracer
        self._metrics = metrics
        self._record_args = record_args
        self._step: _Step | None = None
        tools = event.body.get("tools")
        self._tools = frozenset(tools) if isinstance(tools, Mapping) else frozenset()
        self._usage = dict.fromkeys(_USAGE, 0)
        self.bundle_id = clean(event.bundle_id)
        self.run_id = text(event.body, "run_id")
        self.latest = at
        graph = event.kind.startswith("graph.")
        name = "invoke_workflow" if graph else "invoke_agent"
        attributes: dict[str, Value] = {
            _OPERATION: name,
            "gen_ai.provider.name": "bobcat",
            "bobcat.correlation_id": clean(event.correlation_id),
        }
        if not graph:
            attributes["bobcat.bundle_id"] = self.bundle_id
        if self.run_id:
            attributes["gen_ai.conversation.id"] = self.run_id
        if text(event.body, "environment"):
            attributes["bobcat.environment"] = text(event.body, "environment")
        self.span = tracer.start_span(name, parent, attributes=attributes, links=links, start_time=at)
        self.context = set_span_in_context(self.span, parent)

    @property
    def waits(self) -> bool:
        """True while the present step waits for an approval."""
        return self._step is not None and self._step.waits

    def receive(self, kind: str, body: Body, at: int) -> None:
        """Take one event that does not end the run. An unknown kind does nothing."""
        at, before = max(at, self.latest), self.latest
        self.latest = at
        if kind == "step.proposed":
            self._start_step(body, at)
            return
        step = self._step if self._step is not None and self._step.seq == body.get("seq") else None
        if step is not None and not _is_further(body):
            self._set_args(step, body)
        if kind in ("policy.evaluated", "policy.reevaluated"):
            self._add_decision(step, body, before, at)
        elif kind == "step.usage":
            self._add_usage(body)
        elif kind in STEP_ENDS:
            self._end_action(step, kind, body, at)
        elif kind in _NOTED:
            (self.span if step is None else step.span).add_event(kind, self._noted(kind, body), at)
            if step is not None and kind.startswith("approval."):
                self._set_waits(step, kind == "approval.requested")

    def end(self, outcome: str, body: Body, at: int) -> None:
        """End the run, and the step that is open."""
        at = max(at, self.latest)
        try:
            if self._step is not None:
                self._end_step(self._step, outcome, body, at)
            if body.get("replayed") is True:
                self.span.set_attribute("bobcat.replayed", True)
        finally:  # a span processor may raise
            self._end_span(self.span, outcome, "", body, at)

    def _start_step(self, body: Body, at: int) -> None:
        if self._step is not None:
            self._end_step(self._step, ABANDONED, {}, at)
        name = text(body, "tool")
        label = self._label(body)
        attributes: dict[str, Value] = {
            _OPERATION: "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.type": "function",
            "bobcat.step": number(body, "seq"),
        }
        span = self._tracer.start_span(f"execute_tool {label}", self.context, attributes=attributes, start_time=at)
        self._step = _Step(body.get("seq"), label, span, self.context)
        self._set_args(self._step, body)

    def _add_decision(self, step: _Step | None, body: Body, before: int, at: int) -> None:
        verdict, rules, code = text(body, "verdict"), texts(body, "matched_rules"), text(body, "code")
        attributes: dict[str, Value] = {"bobcat.verdict": verdict, "bobcat.rules": rules}
        if code:
            attributes["bobcat.code"] = code
        if step is not None and not _is_further(body):
            step.code = code
            step.span.set_attributes(attributes)
            if text(body, "call_id"):
                step.span.set_attribute("gen_ai.tool.call.id", text(body, "call_id"))
        if self._record_args:
            attributes["bobcat.reason"] = text(body, "reason")
        attributes["bobcat.bundle_id"] = self.bundle_id
        parent = self.context if step is None else step.context
        span = self._tracer.start_span("evaluate_policy", parent, attributes=attributes, start_time=before)
        span.end(at)
        self._metrics.count_decision(verdict, rules, self._label(body) if step is None else step.label, code)

    def _add_usage(self, body: Body) -> None:
        for name, keys in _USAGE.items():
            self._usage[name] += sum(number(body, key) for key in keys)
        self.span.set_attributes(self._usage)
        if text(body, "model"):
            self.span.set_attribute("gen_ai.response.model", text(body, "model"))

    def _end_action(self, step: _Step | None, kind: str, body: Body, at: int) -> None:
        if step is None:
            return
        outcome = STEP_ENDS[kind]
        if isinstance(body.get("duration_ms"), int):
            self._metrics.record_duration(number(body, "duration_ms") / 1000, step.label, outcome)
        self._end_step(step, outcome, body, at)

    def _end_step(self, step: _Step, outcome: str, body: Body, at: int) -> None:
        self._step = None
        self._set_waits(step, False)
        self._end_span(step.span, outcome, step.code, body, at)

    def _end_span(self, span: Span, outcome: str, code: str, body: Body, at: int) -> None:
        span.set_attribute("bobcat.outcome", outcome)
        if outcome in _ERRORS:
            span.set_attribute("error.type", code or (ABANDONED if outcome == ABANDONED else "_OTHER"))
            reason = text(body, "reason") if self._record_args else ""
            span.set_status(Status(StatusCode.ERROR, reason or None))
        span.end(at)

    def _set_args(self, step: _Step, body: Body) -> None:
        """Record the arguments: each later event with arguments has the more effective ones."""
        if self._record_args and "args" in body and step.span.is_recording():
            step.span.set_attribute("gen_ai.tool.call.arguments", clean(json_text(body["args"]), None))

    def _set_waits(self, step: _Step, waits: bool) -> None:
        if step.waits is not waits:
            step.waits = waits
            self._metrics.add_pending(1 if waits else -1, "live")

    def _noted(self, kind: str, body: Body) -> dict[str, Value]:
        keys = (*_NOTED[kind], *(("reason", "error", "detail") if self._record_args else ()))
        found = {f"bobcat.{key}": attribute(body.get(key)) for key in keys}
        if kind in ("action.uncertain", "step.replayed"):
            found["gen_ai.tool.name"] = text(body, "tool")
        return {key: value for key, value in found.items() if value is not None}

    def _label(self, body: Body) -> str:
        """The tool's name, if the run has that tool: any other name is a model's text."""
        name = body.get("tool")
        return clean(name) if isinstance(name, str) and name in self._tools else UNKNOWN


def _is_further(body: Body) -> bool:
    """True of a decision on a further request of the running action: the step's own decision stays that of the call."""
    return body.get("during") == "execution"
