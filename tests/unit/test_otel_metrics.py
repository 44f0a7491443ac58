"""OpenTelemetry: the metrics of `otel_sink`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bobcat import Budget, Guard, Policy, auto_approve
from bobcat.approvals import Approvals
from bobcat.sinks import otel_metrics
from bobcat.stores import SQLiteStore
from guard import gated
from kernel.scripted import Tools, call
from unit.exported_telemetry import Exported, attributes, event

SEVERAL = """
rules:
  - {id: broken, match: {tool: echo, args.text.gt: 3}, decision: allow, priority: 5}
  - {id: echo, match: {tool: echo}, decision: allow}
"""


@pytest.fixture
def exported() -> Exported:
    return Exported()


def test_decisions_are_counted_by_verdict_rule_and_tool(exported: Exported) -> None:
    calls = (call("echo", text="a"), call("echo", text="b"), call("echo", text="force"), call("query", text="c"))
    exported.run(*calls, call("delete", path="x"), call("restart", targets=[]))
    assert exported.decisions() == {
        ("allow", "echo", "echo"): 2,
        ("deny", "no-force", "echo"): 1,
        ("transform", "limit", "query"): 1,
        ("dry_run", "preview", "delete"): 1,
        ("approve_required", "ask-anyone", "restart"): 1,
    }


def test_a_decision_without_a_rule_counts_under_its_default(exported: Exported) -> None:
    exported.run(call("echo", text="a"), policy="defaults: {on_no_match: deny}\nrules: []")
    assert exported.decisions() == {("deny", "<default:on_no_match>", "echo"): 1}


def test_names_that_a_model_invents_are_one_label(exported: Exported) -> None:
    exported.run(*(call(f"invented-{i}") for i in range(10)))
    assert exported.decisions() == {("deny", "none", "unknown"): 10}
    (point,) = exported.points("bobcat.decisions")
    assert point.attributes["bobcat.code"] == "unknown_tool"


def test_labels_are_capped(exported: Exported, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otel_metrics, "MAX_LABELS", 3)
    exported.send(
        event("run.started", 0, tools={"echo": {}}),
        *(event("policy.evaluated", verdict="allow", matched_rules=[f"rule-{i}"], tool="echo") for i in range(10)),
    )
    assert {rule for _, rule, _ in exported.decisions()} == {"rule-0", "rule-1", "rule-2", "other"}
    assert sum(exported.decisions().values()) == 10


def test_an_edited_call_is_decided_on_twice(exported: Exported) -> None:
    decided = {"verdict": "approve_required", "matched_rules": ["ask"], "tool": "deploy", "seq": 0}
    exported.send(
        event("run.started", 0, tools={"deploy": {}}),
        event("step.proposed", seq=0, tool="deploy", args={}),
        event("policy.evaluated", **decided),
        event("policy.reevaluated", **{**decided, "verdict": "deny", "matched_rules": ["no"]}),
    )
    assert exported.decisions() == {("approve_required", "ask", "deploy"): 1, ("deny", "no", "deploy"): 1}


def test_durations_of_tools_are_recorded_in_seconds(exported: Exported) -> None:
    async def nap() -> None:
        await asyncio.sleep(0.05)

    exported.run(call("slow"), call("delete", path="x"), call("broken", kind="plain"), tools=Tools(during=nap))
    points = {each.attributes["gen_ai.tool.name"]: each for each in exported.points("bobcat.tool.duration")}
    assert {tool: each.attributes["bobcat.outcome"] for tool, each in points.items()} == {
        "slow": "completed",
        "delete": "previewed",
    }
    assert 0.04 < points["slow"].sum < 5
    assert points["slow"].explicit_bounds == otel_metrics.DURATION_BOUNDARIES


def test_an_approval_is_pending_while_it_is_open(exported: Exported) -> None:
    seen: list[dict[str, int]] = []

    async def answer(request: Any) -> Any:
        seen.append(exported.pending())
        return await auto_approve("alice")(request)

    exported.run(call("deploy", version="1"), call("restart", targets=[]), on_approval=answer)
    exported.run(call("deploy", version="1"))
    assert seen == [{"live": 1}, {"live": 1}]
    assert exported.pending() == {}


def test_an_approval_that_outlives_the_run_stays_pending_until_the_run_is_resumed(
    exported: Exported, tmp_path: Path
) -> None:
    store, tools = SQLiteStore(tmp_path / "gate.db"), gated.Tools()
    seen: list[dict[str, int]] = []

    async def main() -> None:
        async with Guard(gated.policy(), tools.toolset(), store=store, sinks=[exported.sink]) as guard:
            waiting = [await guard.submit("deploy", {"target": name}) for name in ("a", "b")]
            seen.append(exported.pending())
            await guard.resume(waiting[0].record_id)  # no answer yet
            seen.append(exported.pending())
            for each in waiting:
                await Approvals(store).grant(each.approvals[0], approver="alice")
                await guard.resume(each.record_id)
                seen.append(exported.pending())

    asyncio.run(main())
    assert seen == [{"suspended": 2}, {"suspended": 2}, {"suspended": 1}, {}]


def test_a_cancelled_wait_is_not_pending(exported: Exported) -> None:
    async def never(request: object) -> Any:
        await asyncio.sleep(60)

    exported.run(call("deploy", version="1"), on_approval=never, budget=Budget(duration_seconds=0.1))
    assert exported.pending() == {}
    assert exported.outcomes("invoke") == [("failed", "ERROR")]


def test_a_decision_of_several_rules_counts_once_under_the_last(exported: Exported) -> None:
    exported.run(call("echo", text="t"), policy=Policy.compile(SEVERAL))
    (evaluated,) = exported.spans("evaluate")
    assert attributes(evaluated)["bobcat.rules"] == ("<rule_error:broken:wrong_type>", "echo")
    assert exported.decisions() == {("allow", "echo", "echo"): 1}
