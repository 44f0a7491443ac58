"""OpenTelemetry: the spans that `otel_sink` makes of runs, graphs and submissions."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

from bobcat import (
    Budget,
    CancelToken,
    FinalAnswer,
    GraphNode,
    Guard,
    MemoryStore,
    Policy,
    ToolCall,
    Usage,
    auto_approve,
    jsonl_sink,
    noop_sink,
    otel_sink,
    run_graph,
)
from bobcat.approvals import Approvals
from bobcat.stores import SQLiteStore
from guard import gated
from kernel.scripted import POLICY, Scripted, Tools, call, run
from unit.exported_telemetry import Exported, attributes


@pytest.fixture
def exported() -> Exported:
    return Exported()


def test_a_run_is_a_trace_of_run_step_and_decision(exported: Exported) -> None:
    done = exported.run(call("echo", text="a"))
    assert {span.name: exported.parent(span) for span in exported.spans()} == {
        "invoke_agent": None,
        "execute_tool echo": "invoke_agent",
        "evaluate_policy": "execute_tool echo",
    }
    assert len({span.context.trace_id for span in exported.spans()}) == 1
    times = {each.kind: round(each.timestamp.timestamp() * 1e6) * 1000 for each in done.events}
    step, decision, whole = (exported.one(name) for name in ("execute", "evaluate", "invoke"))
    assert (whole.start_time, whole.end_time) == (times["run.started"], times["run.succeeded"])
    assert (step.start_time, step.end_time) == (times["step.proposed"], times["action.completed"])
    assert (decision.start_time, decision.end_time) == (times["step.proposed"], times["policy.evaluated"])


def test_spans_carry_the_attributes_of_the_conventions(exported: Exported) -> None:
    result = exported.run(call("echo", text="private"), environment="prod").result
    assert attributes(exported.one("invoke")) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "bobcat",
        "bobcat.correlation_id": result.correlation_id,
        "bobcat.bundle_id": result.bundle_id,
        "bobcat.environment": "prod",
        "bobcat.outcome": "succeeded",
    }
    decided = {"bobcat.verdict": "allow", "bobcat.rules": ("echo",)}
    assert attributes(exported.one("execute")) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "echo",
        "gen_ai.tool.type": "function",
        "bobcat.step": 0,
        **decided,
        "bobcat.outcome": "completed",
    }
    assert attributes(exported.one("evaluate")) == {**decided, "bobcat.bundle_id": result.bundle_id}
    assert [each.name for each in exported.one("execute").events] == ["action.started"]


def test_the_attributes_are_names_of_the_conventions(exported: Exported) -> None:
    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    usage = Usage(10, 20, 3, 4, "model-1")
    Exported(record_args=True).run(call("echo", text="a"))
    exported.run(ToolCall("echo", {"text": "a"}, usage=usage), FinalAnswer("x", Usage(input_tokens=5)))
    found = {name for span in exported.spans() for name in attributes(span) if name.startswith("gen_ai.")}
    assert found <= known
    run_attributes = attributes(exported.one("invoke"))
    assert {name: value for name, value in run_attributes.items() if "usage" in name or "model" in name} == {
        "gen_ai.usage.input_tokens": 22,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 3,
        "gen_ai.usage.cache_creation.input_tokens": 4,
        "gen_ai.response.model": "model-1",
    }


def test_arguments_and_reasons_are_recorded_on_request_only(exported: Exported) -> None:
    script = (call("query", text="secret"), call("echo", text="force"), call("broken", kind="plain"))
    full = Exported(record_args=True)
    for each in (exported, full):
        each.run(*script)
    shown = "".join(span.to_json() for span in exported.spans())
    for text in ("secret", "not like this", "wrong", "task"):
        assert text not in shown.replace("execute_tool", "")
    assert json.loads(attributes(full.one("execute_tool query"))["gen_ai.tool.call.arguments"]) == {
        "text": "secret LIMIT 1"
    }
    assert [attributes(span)["bobcat.reason"] for span in full.spans("evaluate")] == ["", "not like this", ""]
    assert "ValueError: wrong" in str(full.one("execute_tool broken").status.description)


def test_steps_have_outcomes_and_failures_are_errors(exported: Exported) -> None:
    calls = (call("echo", text="force"), call("delete", path="x"), call("broken", kind="plain"), call("delete"))
    exported.run(*calls, call("no such tool"))
    assert exported.outcomes("execute") == [
        ("denied", "UNSET"),
        ("previewed", "UNSET"),
        ("failed", "ERROR"),
        ("failed", "ERROR"),
        ("failed", "ERROR"),
    ]
    steps = exported.spans("execute")
    assert [attributes(span).get("error.type") for span in steps[:3]] == [None, None, "_OTHER"]
    assert attributes(steps[3])["error.type"] == attributes(steps[3])["bobcat.code"]
    assert (steps[4].name, attributes(steps[4])["error.type"]) == ("execute_tool unknown", "unknown_tool")
    assert attributes(steps[4])["gen_ai.tool.name"] == "no such tool"


def test_runs_have_outcomes_and_failures_are_errors(exported: Exported) -> None:
    token = CancelToken()
    token.cancel("stop")
    exported.run(call("echo", text="a"), cancel=token)
    exported.run(call("echo", text="a"), call("echo", text="b"), budget=Budget(steps=1))
    assert exported.outcomes("invoke") == [("cancelled", "UNSET"), ("failed", "ERROR")]
    assert exported.open_runs == 0


def test_approvals_are_events_of_the_step(exported: Exported) -> None:
    exported.run(call("deploy", version="1"), on_approval=auto_approve("alice"))
    exported.run(call("deploy", version="1"), on_approval=auto_approve("mallory"))
    granted, denied = exported.spans("execute")
    assert [each.name for each in granted.events] == ["action.started", "approval.requested", "approval.granted"]
    assert dict(granted.events[1].attributes or {}) == {"bobcat.approvers": ("alice", "oncall")}
    assert dict(granted.events[2].attributes or {}) == {"bobcat.approver": "alice"}
    assert [each.name for each in denied.events][-1] == "approval.denied"
    assert exported.outcomes("execute") == [("completed", "UNSET"), ("denied", "UNSET")]


def test_a_reconciliation_is_an_event_of_the_step(exported: Exported, tmp_path: Path) -> None:
    tools, short = gated.Tools(), Budget(duration_seconds=None, steps=None, step_timeout_seconds=0.3)
    store = f"sqlite:///{tmp_path}/gate.db"

    async def main() -> None:
        async with Guard(gated.policy(), tools.toolset(), store=store, budget=short, sinks=[exported.sink]) as guard:
            for _ in range(2):
                await guard.submit("pay", {"amount": 500}, key="order-1")

    asyncio.run(main())
    cut, settled = exported.spans("execute")
    assert [each.name for each in settled.events] == ["action.uncertain", "action.reconciled"]
    assert dict(settled.events[1].attributes or {}) == {"bobcat.outcome": "happened"}
    assert exported.outcomes("execute") == [("failed", "ERROR"), ("completed", "UNSET")]
    assert [attributes(span)["gen_ai.conversation.id"] for span in exported.spans("invoke")] == [
        attributes(exported.spans("invoke")[0])["gen_ai.conversation.id"]
    ] * 2
    assert cut.context.trace_id != settled.context.trace_id


def test_a_resumed_run_links_to_the_attempt_that_was_suspended(exported: Exported, tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "gate.db")

    async def main() -> None:
        async with Guard(gated.policy(), gated.Tools().toolset(), store=store, sinks=[exported.sink]) as guard:
            waiting = await guard.submit("deploy", {"target": "web"})
            await Approvals(store).grant(waiting.approvals[0], approver="alice")
            await guard.resume(waiting.record_id)

    asyncio.run(main())
    first, second = exported.spans("invoke")
    assert exported.outcomes("invoke") == [("suspended", "UNSET"), ("succeeded", "UNSET")]
    assert exported.outcomes("execute") == [("suspended", "UNSET"), ("completed", "UNSET")]
    assert [link.context.span_id for link in second.links] == [first.context.span_id]
    assert attributes(first)["gen_ai.conversation.id"] == attributes(second)["gen_ai.conversation.id"]
    assert [each.name for each in second.events] == ["run.resumed"]


def test_parallel_runs_keep_their_spans_apart(exported: Exported) -> None:
    async def main() -> None:
        runs = (run(call("slow"), call("echo", text=str(i)), tools=tools(), sinks=(exported.sink,)) for i in range(20))
        await asyncio.gather(*runs)

    def tools() -> Tools:
        return Tools(during=lambda: asyncio.sleep(0.01))

    asyncio.run(main())
    traces: dict[int, list[str]] = {}
    for span in exported.spans():
        traces.setdefault(span.context.trace_id, []).append(span.name)
    expected = ["evaluate_policy"] * 2 + ["execute_tool echo", "execute_tool slow", "invoke_agent"]
    assert [sorted(names) for names in traces.values()] == [expected] * 20
    assert exported.open_runs == 0


def test_runs_are_children_of_the_span_of_their_caller(exported: Exported) -> None:
    async def main() -> None:
        with exported.tracers.get_tracer("web").start_as_current_span("POST /chat"):
            await run(call("echo", text="a"), sinks=(exported.sink, noop_sink()))

    asyncio.run(main())
    assert exported.parent(exported.one("invoke")) == "POST /chat"


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("run_id", ["g", "a::b", None])
@pytest.mark.parametrize("second", ["second", "se::cond"])
def test_nodes_of_a_graph_are_children_of_its_span(
    exported: Exported, stored: bool, run_id: str | None, second: str
) -> None:
    policy = Policy.compile(POLICY)
    nodes = {
        name: GraphNode(Scripted(call("echo", text=name)), Tools().toolset(), policy) for name in ("first", second)
    }

    def route(outcome: Any) -> str | None:
        return second if outcome.node == "first" else None

    async def main() -> None:
        options = {"store": MemoryStore(), "run_id": run_id or "g"} if stored else {"run_id": run_id}
        await run_graph(nodes, "task", start="first", router=route, sinks=[exported.sink], **options)

    asyncio.run(main())
    assert [exported.parent(span) for span in exported.spans("invoke_agent")] == ["invoke_workflow"] * 2
    whole = exported.one("invoke_workflow")
    assert attributes(whole)["bobcat.outcome"] == "succeeded"
    assert [dict(each.attributes or {})["bobcat.node"] for each in whole.events] == ["first", second]


def test_graphs_at_once_keep_their_nodes(exported: Exported) -> None:
    async def one(name: str) -> None:
        node = GraphNode(Scripted(call("echo", text=name)), Tools().toolset(), Policy.compile(POLICY))
        await run_graph({"n": node}, "task", start="n", router=lambda _: None, sinks=[exported.sink])

    async def main() -> None:
        await asyncio.gather(*(one(f"g{number}") for number in range(3)))

    asyncio.run(main())
    traces = [span.context.trace_id for span in exported.spans("invoke_agent")]
    assert len(set(traces)) == 3
    assert {exported.parent(span) for span in exported.spans("invoke_agent")} == {"invoke_workflow"}


def test_a_step_has_the_id_of_its_call_where_the_provider_gave_one(exported: Exported) -> None:
    calls = (ToolCall("echo", {"text": "a"}, "call_7"), call("echo", text="b"), ToolCall("nothing", {}, "call_8"))
    done = exported.run(*calls)
    assert [body.get("call_id") for body in done.bodies("policy.evaluated")] == ["call_7", None, "call_8"]
    found = [attributes(span).get("gen_ai.tool.call.id") for span in exported.spans("execute")]
    assert found == ["call_7", None, "call_8"]
    assert gen_ai_attributes.GEN_AI_TOOL_CALL_ID == "gen_ai.tool.call.id"


def test_a_guard_sends_a_trace_for_each_submission(exported: Exported) -> None:
    async def main() -> None:
        async with Guard(
            gated.policy(), gated.Tools().toolset(), sinks=[exported.sink, jsonl_sink(sys.stdout)]
        ) as guard:
            await guard.submit("echo", {"text": "a"})
            await guard.submit("nothing", {})

    asyncio.run(main())
    assert [span.name for span in exported.spans("execute")] == ["execute_tool echo", "execute_tool unknown"]
    assert len({span.context.trace_id for span in exported.spans()}) == 2


def test_the_providers_of_the_process_are_the_default() -> None:
    assert otel_sink()._tracer.__class__ is trace.get_tracer("x").__class__


def test_a_missing_package_is_named() -> None:
    program = (
        "import sys; sys.modules['opentelemetry'] = None; import bobcat\n"
        "try: bobcat.otel_sink()\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (
        "otel_sink requires the 'opentelemetry-api' package. Install with: pip install 'bobcat[otel]'"
    )
