"""`extra=`: what a run knows about the world, as rules read it under `context.extra`."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bobcat
from bobcat import (
    ActionRequest,
    ApprovalDecision,
    CancelToken,
    GraphNode,
    MemoryStore,
    RunResult,
    ToolSet,
    auto_approve,
    compile_policy,
    decide_again,
    run_agent,
    run_graph,
    tool,
)
from bobcat.runtime import extra as extras
from bobcat.workers import Workers
from kernel.scripted import Scripted, call, seen
from kernel.test_uncertain_outcomes import Shop

POLICY = """
rules:
  - {id: closed, match: {context.extra.open: false}, decision: deny, reason: closed, priority: 5}
  - {id: rich, match: {tool: echo, context.extra.balance.ge: 10}, decision: allow}
  - {id: open, match: {tool: echo, context.extra.open: true}, decision: allow}
  - {id: ask, match: {tool: deploy, context.extra.open: true}, decision: approve_required}
  - {id: named, match: {tool: query, context.extra.tables.contains: users}, decision: allow}
"""
DENIED = "[denied] the facts for this call cannot be obtained"


class Provider:
    """Gives one answer after the other, and keeps what it was asked about."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.asked: list[ActionRequest] = []

    async def __call__(self, request: ActionRequest) -> Any:
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


def test_rules_read_the_facts_of_a_run() -> None:
    run = seen(call("echo", text="a"), policy=POLICY, extra={"open": True})
    assert run.tool_messages == ["[ok] a"]
    assert run.bodies("policy.evaluated")[0]["context"]["extra"] == {"open": True}
    assert run.bodies("run.started")[0]["extra"] == {"open": True}
    assert seen(call("echo", text="a"), policy=POLICY, extra={"open": False}).tool_messages == ["[denied] closed"]
    assert seen(call("query", text="a"), policy=POLICY, extra={"tables": ["users"]}).tool_messages == ["[ok] a"]


def _unobserved(extra: object) -> list[str]:
    @tool()
    async def echo(text: str) -> str:
        return text

    agent = Scripted(call("echo", text="a"), call("echo", text="b"))
    given: dict[str, Any] = {"tools": ToolSet.from_functions(echo), "policy": compile_policy(POLICY), "extra": extra}
    asyncio.run(run_agent(agent, "task", **given))
    return [message.content for message in agent.seen[-1] if message.role == "tool"]


def test_unobserved_steps_are_evaluated_with_the_facts_as_well() -> None:
    assert _unobserved({"open": True}) == ["[ok] a", "[ok] b"]
    assert _unobserved({"open": False}) == ["[denied] closed"] * 2
    assert _unobserved(Provider({"open": True}, {"open": False})) == ["[ok] a", "[denied] closed"]


def test_the_facts_are_a_copy_that_later_changes_do_not_reach() -> None:
    facts: dict[str, Any] = {"open": True, "nested": {"list": [1]}}

    def close(_: object) -> bobcat.ToolCall:
        facts["open"] = False
        facts["nested"]["list"].append(2)
        return call("echo", text="b")

    run = seen(call("echo", text="a"), close, policy=POLICY, extra=facts)
    assert run.tool_messages == ["[ok] a", "[ok] b"]
    assert run.bodies("policy.evaluated")[1]["context"]["extra"]["nested"] == {"list": [1]}


def test_a_provider_is_asked_before_each_decision_with_the_proposed_call() -> None:
    provider = Provider({"balance": 10}, {"balance": 9})
    run = seen(call("echo", text="a"), call("echo", text="b"), policy=POLICY, extra=provider)
    assert run.tool_messages[0] == "[ok] a"
    assert run.tool_messages[1].startswith("[denied]")
    assert [(request.tool, request.args["text"], request.context.step_seq) for request in provider.asked] == [
        ("echo", "a", 0),
        ("echo", "b", 1),
    ]
    assert run.bodies("run.started")[0]["extra_provider"] is True


async def _always() -> dict[str, Any]:
    return OPEN


async def _optional(request: ActionRequest | None = None) -> dict[str, Any]:
    return {"open": request is not None}


async def _two(request: ActionRequest, other: object) -> dict[str, Any]:
    return OPEN


def test_a_provider_may_take_no_argument() -> None:
    assert seen(call("echo", text="a"), policy=POLICY, extra=_always).tool_messages == ["[ok] a"]
    assert seen(call("echo", text="a"), policy=POLICY, extra=_optional).tool_messages == ["[ok] a"]
    with pytest.raises(TypeError, match="extra must be an async function with one argument"):
        seen(call("echo", text="a"), policy=POLICY, extra=_two)


def test_a_provider_is_not_asked_about_a_call_that_cannot_be_made() -> None:
    provider = Provider()
    assert seen(call("nope"), call("echo", txt=1), policy=POLICY, extra=provider).result.error is None
    assert provider.asked == []


def test_edited_arguments_are_evaluated_with_the_same_facts() -> None:
    async def edits(_: object) -> ApprovalDecision:
        return ApprovalDecision(True, "alice", "", {"version": "2"})

    provider = Provider({"open": True})
    run = seen(call("deploy", version="1"), policy=POLICY, extra=provider, on_approval=edits)
    assert run.ran == [("deploy", {"version": "2"})]
    assert len(provider.asked) == 1


class Text(str):
    """A text of its own kind."""

    __slots__ = ()


class Level(enum.IntEnum):
    HIGH = 3


WRONG: dict[str, tuple[Any, type[Exception]]] = {
    "reserved": ({"uncertain_retry": True}, ValueError),
    "nan": ({"a": float("nan")}, ValueError),
    "infinity": ({"a": [float("inf")]}, ValueError),
    "bytes": ({"a": b"x"}, TypeError),
    "set": ({"a": {1}}, TypeError),
    "object": ({"a": object()}, TypeError),
    "key": ({1: "a"}, TypeError),
    "nested key": ({"a": {None: 1}}, TypeError),
    "subclass": ({"a": Text("x")}, TypeError),
    "key of a subclass": ({Text("x"): 1}, TypeError),
    "enum": ({"a": Level.HIGH}, TypeError),
    "long": ({"a": 10**5000}, ValueError),
    "long in a list": ({"a": [{"b": 10**5000}]}, ValueError),
    "bytes in a mapping": ({"a": {"b": b"x"}}, TypeError),
    "bytearray": ({"a": bytearray(b"x")}, TypeError),
    "frozen set": ({"a": frozenset({1})}, TypeError),
    "timestamp": ({"a": [datetime(2030, 1, 1, tzinfo=UTC)]}, TypeError),
}


@pytest.mark.parametrize(("facts", "error"), WRONG.values(), ids=WRONG.keys())
def test_facts_that_are_no_json_values_or_have_a_reserved_name_are_refused(facts: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="extra"):
        seen(call("echo", text="a"), policy=POLICY, extra=facts)
    run = seen(call("echo", text="a"), policy=POLICY, extra=Provider(facts))
    assert (run.ran, run.tool_messages) == ([], [DENIED])


@pytest.mark.parametrize("extra", ["open", 5, [("open", True)], dict])
def test_what_is_neither_a_mapping_nor_a_function_is_refused(extra: Any) -> None:
    with pytest.raises(TypeError, match="extra must be a mapping"):
        seen(call("echo", text="a"), policy=POLICY, extra=extra)


def test_facts_that_contain_themselves_are_refused() -> None:
    facts: dict[str, Any] = {}
    facts["self"] = facts
    with pytest.raises(ValueError, match="contains itself cannot be in extra"):
        seen(call("echo", text="a"), policy=POLICY, extra=facts)


def nested(levels: int) -> dict[str, Any]:
    facts: dict[str, Any] = {"open": True}
    for _ in range(levels - 1):
        facts = {"open": True, "in": facts}
    return facts


def test_facts_are_as_deep_as_a_request_has_room_for() -> None:
    journaled: dict[str, Any] = {"policy": POLICY, "store": MemoryStore(), "run_id": "r"}
    run = seen(call("echo", text="a"), extra=nested(126), **journaled)
    assert seen(extra=nested(126), **journaled).result.final_answer == "done"
    assert (run.tool_messages, run.bodies("run.started")[0]["extra"]) == (["[ok] a"], nested(126))
    with pytest.raises(ValueError, match=r"`extra\.in.*: nested deeper than 126 levels"):
        seen(call("echo", text="a"), policy=POLICY, extra=nested(127))


def test_a_fact_that_is_refused_is_named_by_its_path() -> None:
    with pytest.raises(TypeError, match=r"`extra\.a\[1\]\.b`: expected a JSON value, got an object of type `bytes`"):
        seen(call("echo", text="a"), policy=POLICY, extra={"a": [1, {"b": b"x"}]})


FAILURES = {
    "raises": OSError("no answer"), "exits": SystemExit(3), "cancels": asyncio.CancelledError(), "returns": ["open"],
    "nothing": None,
}  # fmt: skip


@pytest.mark.parametrize("answer", FAILURES.values(), ids=FAILURES.keys())
def test_a_call_whose_facts_cannot_be_had_is_denied_and_recorded(answer: object) -> None:
    store = MemoryStore()
    provider = Provider(answer, {"open": True})
    options: dict[str, Any] = {
        "policy": "rules: [{id: all, match: {}, decision: allow}]",
        "store": store,
        "run_id": "r",
    }
    run = seen(call("echo", text="a"), call("echo", text="b"), extra=provider, **options)
    assert run.tool_messages == [DENIED, "[ok] b"]
    body = run.bodies("policy.evaluated")[0]
    assert (body["verdict"], body["code"], body["tool"]) == ("deny", "extra_failed", "echo")
    assert body["error"]
    assert decide_again(run.events[2], compile_policy(POLICY)).verdict == "deny"
    records = asyncio.run(store.load("r"))
    kept = [dict(record.body) for record in records if record.kind == "step.extra"]
    assert [("extra" in body, "error" in body) for body in kept] == [(False, True), (True, False)]


def test_a_provider_that_takes_too_long_denies_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bobcat.runtime.driver.EXTRA_SECONDS", 0.01)

    async def hangs(_: object) -> Mapping[str, Any]:
        await asyncio.sleep(60)
        return {}

    run = seen(call("echo", text="a"), policy=POLICY, extra=hangs)
    assert run.tool_messages == [DENIED]
    assert "no answer within" in run.bodies("policy.evaluated")[0]["error"]


def test_the_kill_switch_ends_a_wait_for_facts() -> None:
    token = CancelToken()

    async def hangs(_: object) -> Mapping[str, Any]:
        token.cancel("stop")
        await asyncio.sleep(60)
        return {}

    run = seen(call("echo", text="a"), policy=POLICY, extra=hangs, cancel=token)
    assert (run.result.status, run.bodies("run.cancelled")[0]["at"]) == ("cancelled", "extra")
    assert run.ran == []


class Power(BaseException):
    """The process dies."""


def _resume(first: Any, second: Any, **options: Any) -> tuple[RunResult, list[Any], MemoryStore]:
    """Run until the tool dies, then resume with other facts: the result and what ran."""
    store, ran = MemoryStore(), []

    @tool(effect="idempotent")
    async def echo(text: str) -> str:
        ran.append(text)
        if len(ran) == 1:
            raise Power
        return text

    given: dict[str, Any] = {
        "tools": ToolSet.from_functions(echo), "policy": compile_policy(POLICY), "store": store, "run_id": "r",
        "owner": "worker",
    }  # fmt: skip

    def agent() -> Scripted:
        return Scripted(call("echo", text="a"))

    with pytest.raises(Power):
        asyncio.run(run_agent(agent(), "task", extra=first, **given))
    resumed = Scripted()
    return asyncio.run(run_agent(resumed, "task", extra=second, **given, **options)), ran, store


OPEN = {"open": True}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (OPEN, {"open": True, "role": "admin"}),
        (OPEN, {"open": 1}),
        (OPEN, None),
        (OPEN, Provider()),
        (Provider(OPEN), OPEN),
        (Provider(OPEN), None),
    ],
)
def test_a_run_is_not_resumed_with_other_facts_unless_that_is_meant(first: Any, second: Any) -> None:
    result, ran, _ = _resume(first, second)
    assert result.error is not None
    assert result.error.startswith("journal refused: the run was begun with other facts (extra)")
    assert ran == ["a"]


def test_facts_may_change_where_the_caller_says_so() -> None:
    result, ran, store = _resume(OPEN, {"open": True, "role": "admin"}, allow_changed=("extra",))
    assert (result.error, ran) == (None, ["a", "a"])
    started, resumed = (r for r in asyncio.run(store.load("r")) if r.kind in ("run.started", "run.resumed"))
    assert (started.body["extra"], resumed.body["extra"]) == (OPEN, {"open": True, "role": "admin"})


def test_a_run_that_was_begun_without_facts_is_not_resumed_with_some() -> None:
    store = MemoryStore()
    options: dict[str, Any] = {"store": store, "run_id": "r", "owner": "w"}
    failed = seen(OSError, policy=POLICY, **options)  # a class is no reply
    assert failed.result.error is not None
    again = seen(call("echo", text="a"), policy=POLICY, extra=OPEN, **options)
    assert "other facts" in (again.result.error or "")
    assert seen(call("echo", text="a"), policy=POLICY, extra={}, **options).result.error is None


def test_the_same_facts_in_another_order_are_the_same() -> None:
    result, ran, _ = _resume({"open": True, "a": [1, {"b": 2, "c": 3}]}, {"a": (1, {"c": 3, "b": 2}), "open": True})
    assert (result.error, ran) == (None, ["a", "a"])


def test_a_resumed_step_is_evaluated_with_the_facts_on_record() -> None:
    provider = Provider(OPEN, {"open": False})
    result, ran, _ = _resume(provider, provider)
    assert (result.error, ran, len(provider.asked)) == (None, ["a", "a"], 1)


def test_a_resumed_step_is_evaluated_with_new_facts_at_the_callers_request() -> None:
    provider = Provider(OPEN, {"open": False})
    result, ran, _ = _resume(provider, provider, allow_changed=("extra",))
    assert (result.error, ran, len(provider.asked)) == (None, ["a"], 2)


def test_the_uncertainty_of_an_action_is_kept_beside_the_facts() -> None:
    shop = Shop().died(extra=OPEN)
    asked: list[Any] = []

    async def approve(request: Any) -> ApprovalDecision:
        asked.append(dict(request.request.context.extra))
        return ApprovalDecision(True, "alice")

    shop.run(extra=OPEN, on_approval=approve)
    assert asked == [{"open": True, "uncertain_retry": True}]


def test_every_node_of_a_graph_is_evaluated_with_the_facts() -> None:
    @tool()
    async def echo(text: str) -> str:
        return text

    policy = compile_policy(POLICY)

    def node() -> GraphNode:
        return GraphNode(Scripted(call("echo", text="a")), ToolSet.from_functions(echo), policy)

    nodes = {"one": node(), "two": node()}
    result = asyncio.run(
        run_graph(nodes, "task", router=lambda done: "two" if done.node == "one" else None, start="one", extra=OPEN)
    )
    assert [outcome.denials for outcome in result.path] == [0, 0]
    with pytest.raises(ValueError, match="uncertain_retry"):
        asyncio.run(run_graph(nodes, "task", router=lambda _: None, start="one", extra={"uncertain_retry": False}))


def test_the_facts_of_a_queued_run_are_those_that_its_maker_gives() -> None:
    from bobcat.workers import Jobs, Runner

    @tool()
    async def echo(text: str) -> str:
        return text

    agents: list[Scripted] = []
    workers = Workers()

    @workers.run("job")
    def make(job: Any) -> dict[str, Any]:
        agents.append(Scripted(call("echo", text="a")))
        tools = ToolSet.from_functions(echo)
        return {
            "agent": agents[-1], "task": "t", "tools": tools, "policy": compile_policy(POLICY), "extra": job.payload,
        }  # fmt: skip

    async def main() -> str:
        store = MemoryStore()
        job = await Jobs(store).enqueue("job", {"open": True})
        return (await Runner(workers, store).execute(job.run_id)).outcome

    assert asyncio.run(main()) == "succeeded"
    assert agents[0].seen[-1][-1].content == "[ok] a"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5).filter(lambda name: name not in extras.RESERVED), JSON, max_size=4))
def test_any_json_object_is_taken_as_it_is(facts: dict[str, Any]) -> None:
    frozen = extras.checked_facts(facts)
    assert frozen == facts
    assert extras.checked_facts(frozen) == facts
    with pytest.raises(TypeError):
        frozen["x"] = 1


def test_a_grant_on_record_counts_when_the_run_is_resumed_with_the_same_facts() -> None:
    run = seen(call("deploy", version="1"), policy=POLICY, extra=OPEN, on_approval=auto_approve("alice"))
    assert run.ran == [("deploy", {"version": "1"})]
