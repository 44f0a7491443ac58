"""OpenTelemetry: events out of order, runs that never end, hostile values, many threads. Nothing raises or grows."""

from __future__ import annotations

import asyncio
import random
import threading
from datetime import UTC, datetime
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor

from bobcat import AuditEvent
from bobcat.cli.log import KINDS
from bobcat.sinks import otel_events, otel_spans
from kernel.scripted import Tools, call, run
from unit.exported_telemetry import NOW, Exported, attributes, event

ODD: list[Any] = [
    None, True, -1, 2**70, float("nan"), "", "\ud800", "x" * 100_000, [], [None, "\udfff"], {"a": object()}, object(),
]  # fmt: skip
KEYS = (
    "seq tool args verdict reason matched_rules code declared duration_ms approvers approver ok error intent_key"
    " outcome run_id tools environment records model input_tokens cache_read_tokens sink node next replayed"
).split()


@pytest.fixture
def exported() -> Exported:
    return Exported(record_args=True)


def test_every_kind_with_every_kind_of_value_is_taken(exported: Exported) -> None:
    draw = random.Random(7)
    kinds = [*KINDS, "unknown.kind", "", "run", "run.", "graph.unheard"]
    for _ in range(3000):
        body = {key: draw.choice(ODD) for key in draw.sample(KEYS, draw.randrange(len(KEYS)))}
        kind = draw.choice(kinds)
        exported.send(event(kind, draw.randrange(4), run=draw.choice("abc"), seconds=draw.uniform(-9, 9), **body))
    exported.sink.close()
    assert exported.open_runs == 0
    assert exported.pending().get("live", 0) == 0
    spans = exported.spans()
    assert len(spans) > 100
    assert all(span.end_time >= span.start_time for span in spans)
    for span in spans:
        span.to_json().encode("utf-8")
        for value in attributes(span).values():
            for text in value if isinstance(value, tuple) else (value,):
                str(text).encode("utf-8")


def test_every_kind_of_event_has_a_place(exported: Exported) -> None:
    """But for events that a sink of telemetry does not ask for, and those of triggers, which no run has."""
    handled = {
        *otel_events._STARTS,
        *otel_events._ENDS,
        *otel_events.RELOADS,
        *otel_spans._NOTED,
        *otel_spans.STEP_ENDS,
    }
    assert {kind for kind in KINDS if not kind.startswith("trigger.")} <= {
        *handled,
        "action.result",
        "model.delta",
        "step.proposed",
        "step.usage",
        "policy.evaluated",
        "policy.reevaluated",
        "policy.diverged",
    }


def test_a_span_processor_that_raises_disturbs_neither_the_run_nor_the_sink(
    exported: Exported, capsys: pytest.CaptureFixture[str]
) -> None:
    class Raises(SpanProcessor):
        def on_end(self, span: ReadableSpan) -> None:
            raise RuntimeError("disk full")

    exported.tracers.add_span_processor(Raises())
    done = exported.run(call("echo", text="a"), call("echo", text="b"))
    assert done.result.outcome == "succeeded"
    assert [gap.sink for gap in done.result.audit_gaps] == ["otel_sink"]
    assert "disk full" in capsys.readouterr().err
    assert exported.open_runs == 0
    assert len(exported.spans("execute")) == 2
    assert len(exported.spans("invoke")) == 1


def test_an_unknown_kind_opens_nothing(exported: Exported) -> None:
    exported.send(event("run.imagined", 0), event("audit.gap", 7), event("step.proposed", 1, tool="echo"))
    assert exported.spans() == []
    assert exported.open_runs == 0


def test_a_decision_of_a_run_without_a_start_is_counted(exported: Exported) -> None:
    exported.send(event("policy.evaluated", 2, seq=0, verdict="allow", matched_rules=["echo"], tool="echo"))
    assert exported.decisions() == {("allow", "echo", "unknown"): 1}


def test_a_run_that_another_worker_executes_is_a_span(exported: Exported) -> None:
    exported.send(event("run.superseded", 0, detail="busy"))
    assert exported.outcomes("invoke") == [("superseded", "UNSET")]


def test_the_oldest_of_too_many_open_runs_is_ended(exported: Exported, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otel_events, "MAX_OPEN_RUNS", 3)
    for number in range(5):
        exported.send(
            event("run.started", 0, run=str(number), tools={"echo": {}}),
            event("step.proposed", 1, run=str(number), seconds=1, seq=0, tool="echo"),
            event("approval.requested", 2, run=str(number), seconds=2, seq=0),
        )
    assert exported.open_runs == 3
    assert exported.pending() == {"live": 3}
    assert exported.outcomes("invoke") == exported.outcomes("execute") == [("abandoned", "ERROR")] * 2
    first = exported.spans("invoke")[0]
    assert (first.end_time or 0) - (first.start_time or 0) == 2_000_000_000
    exported.send(event("approval.granted", 3, run="0", seq=0), event("run.succeeded", 4, run="0"))
    assert exported.pending() == {"live": 3}
    assert len(exported.spans("invoke")) == 2


def test_suspended_runs_are_remembered_up_to_a_cap(exported: Exported, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otel_events, "MAX_SUSPENDED_RUNS", 3)
    for number in range(5):
        name = str(number)
        exported.send(
            event("run.started", 0, run=name, run_id=name),
            event("step.proposed", 1, run=name, seq=0, tool="echo"),
            event("approval.requested", 2, run=name, seq=0),
            event("run.suspended", 3, run=name, seq=0, approvals=["a"]),
        )
    assert exported.pending() == {"suspended": 3}


def test_an_attempt_with_the_same_id_ends_the_one_before(exported: Exported) -> None:
    exported.send(event("run.started", 0), event("run.started", 0), event("run.succeeded", 1))
    assert exported.outcomes("invoke") == [("abandoned", "ERROR"), ("succeeded", "UNSET")]
    assert exported.open_runs == 0


def test_a_step_that_never_ends_is_ended_by_the_next_one(exported: Exported) -> None:
    exported.send(
        event("run.started", 0),
        event("step.proposed", 1, seq=0, tool="a"),
        event("step.proposed", 2, seq=1, tool="b"),
        event("action.completed", 3, seq=0, duration_ms=5),
        event("run.succeeded", 4),
    )
    assert exported.outcomes("execute") == [("abandoned", "ERROR"), ("succeeded", "UNSET")]
    assert list(exported.points("bobcat.tool.duration")) == []


def test_a_cancelled_task_leaves_a_run_that_close_ends(exported: Exported) -> None:
    async def main() -> None:
        tools, begun = Tools(), asyncio.Event()

        async def during() -> None:
            begun.set()
            await asyncio.sleep(60)

        tools.during = during
        task = asyncio.create_task(run(call("slow"), tools=tools, sinks=(exported.sink,)))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert exported.open_runs == 1
    exported.sink.close()
    exported.sink.close()
    assert exported.open_runs == 0
    assert exported.outcomes("execute") == exported.outcomes("invoke") == [("abandoned", "ERROR")]


@pytest.mark.parametrize("time", [datetime.min, datetime.max, datetime(1950, 1, 1, tzinfo=UTC), datetime(2026, 1, 1)])
def test_any_time_is_taken(exported: Exported, time: datetime) -> None:
    exported.send(AuditEvent("r", "b", 0, "run.started", time, {}), AuditEvent("r", "b", 1, "run.succeeded", NOW, {}))
    span = exported.one("invoke")
    assert span.start_time is not None
    assert span.end_time is not None
    assert 0 <= span.start_time <= span.end_time


def test_one_sink_serves_runs_in_many_threads(exported: Exported) -> None:
    threads = [
        threading.Thread(target=lambda: asyncio.run(run(call("echo", text="a"), sinks=(exported.sink,))))
        for _ in range(8)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert exported.outcomes("invoke") == [("succeeded", "UNSET")] * 8
    assert exported.decisions() == {("allow", "echo", "echo"): 8}
    assert exported.open_runs == 0
