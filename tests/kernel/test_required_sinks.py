"""A run with a sink that it requires: when the sink fails, nothing further is executed, and the run says why."""

from __future__ import annotations

import asyncio
import io

import pytest

import bobcat
from bobcat import AuditEvent, MemoryStore, auto_approve, callback_sink, jsonl_sink
from kernel.scripted import POLICY, Scripted, Tools, call, seen


def failing(at: str, *, times: int = 1) -> object:
    """A required sink that fails on events of one kind."""
    left = times

    async def fails(event: AuditEvent) -> None:
        nonlocal left
        if event.kind == at and left:
            left -= 1
            raise OSError("disk full")

    return callback_sink(fails, required=True)


@pytest.mark.parametrize(
    ("kind", "ran"),
    [
        ("run.started", 0),
        ("step.proposed", 0),
        ("policy.evaluated", 0),
        ("action.started", 0),
        ("action.completed", 1),
    ],
)
@pytest.mark.parametrize("journaled", [False, True])
def test_nothing_is_executed_once_a_required_sink_has_failed(kind: str, ran: int, journaled: bool) -> None:
    options = {"store": MemoryStore(), "run_id": "r"} if journaled else {}
    run = seen(call("echo", text="a"), call("echo", text="b"), sinks=[failing(kind)], **options)
    assert len(run.ran) == ran
    assert run.result.final_answer is None
    assert run.result.error is not None
    assert "OSError: disk full" in run.result.error
    assert run.result.error.startswith("required sink ")
    assert run.kinds[-1] == "run.failed"
    assert f"failed on event '{kind}'" in run.result.error


def test_the_journal_says_of_an_action_that_it_was_not_executed() -> None:
    store = MemoryStore()
    run = seen(call("echo", text="a"), sinks=[failing("action.started")], store=store, run_id="r")
    records = asyncio.run(store.load("r"))
    assert [record.kind for record in records] == [
        "run.started", "model.output", "action.intent", "action.result", "run.failed",
    ]  # fmt: skip
    assert records[-2].body["message"].startswith("[error] not executed: required sink ")
    assert run.ran == []


def test_no_approver_is_asked_once_a_required_sink_has_failed() -> None:
    asked: list[object] = []

    async def approver(request: object) -> None:
        asked.append(request)

    run = seen(call("deploy", version="1"), sinks=[failing("policy.evaluated")], on_approval=approver)
    assert asked == []
    assert run.ran == []
    assert run.bodies("approval.denied")[0]["error"].startswith("denied: required sink ")


def test_the_calls_of_one_reply_that_are_left_are_not_executed() -> None:
    calls = [call("echo", text="a"), call("echo", text="b"), call("echo", text="c")]
    run = seen(calls, sinks=[failing("action.completed")])
    assert [args["text"] for _, args in run.ran] == ["a"]
    assert run.result.error is not None


def test_a_required_sink_that_works_changes_nothing() -> None:
    stream = io.StringIO()
    run = seen(
        call("deploy", version="1"), sinks=[jsonl_sink(stream, required=True)], on_approval=auto_approve("alice")
    )
    assert run.result.final_answer == "done"
    assert len(stream.getvalue().splitlines()) == len(run.kinds)


def test_a_required_sink_that_hangs_stops_the_run() -> None:
    async def hangs(event: AuditEvent) -> None:
        await asyncio.sleep(60)

    run = seen(call("echo", text="a"), sinks=[callback_sink(hangs, required=True)], compat=_hasty())
    assert run.ran == []
    assert run.result.error is not None
    assert "no answer within 0.1s" in run.result.error


@pytest.mark.parametrize(("kind", "nodes"), [("graph.started", 0), ("step.proposed", 1), ("graph.handoff", 1)])
def test_a_graph_hands_nothing_on_once_a_required_sink_has_failed(kind: str, nodes: int) -> None:
    tools = Tools()
    policy = bobcat.compile_policy(POLICY)
    node = bobcat.GraphNode(Scripted(call("echo", text="a")), tools.toolset(), policy)
    other = bobcat.GraphNode(Scripted(call("echo", text="b")), tools.toolset(), policy)
    router = bobcat.compile_graph("start: one\nedges: [{from: one, to: two}]")
    result = asyncio.run(
        bobcat.run_graph({"one": node, "two": other}, "t", router=router, sinks=[failing(kind)])  # type: ignore[list-item]
    )
    assert [outcome.node for outcome in result.path] == ["one"][:nodes]
    assert [args["text"] for _, args in tools.ran] == (["a"] if kind == "graph.handoff" else [])
    assert result.error is not None
    assert result.error.startswith("required sink ")


def _hasty() -> object:
    import msgspec

    from bobcat.runtime.compat import DEFAULTS

    return msgspec.structs.replace(DEFAULTS, sink_timeout_seconds=0.1)
