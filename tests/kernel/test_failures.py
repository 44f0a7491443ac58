"""Failures of agents, tools, sinks, stores and approvers: recorded, and never an exception of the run."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

import bobcat
from bobcat import (
    ActionResult,
    ApprovalDecision,
    AuditEvent,
    Budget,
    Decision,
    FinalAnswer,
    MemoryStore,
    StepRecord,
    ToolCall,
    ToolSet,
    Usage,
    Verdict,
    auto_approve,
    jsonl_sink,
    run_agent,
    tool,
)
from kernel.scripted import Tools, call, seen


def _cyclic() -> dict[str, Any]:
    args: dict[str, Any] = {"text": "a"}
    args["self"] = args
    return args


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (lambda _: None, "agent.step returned NoneType, not a ToolCall or FinalAnswer"),
        (lambda _: {"tool": "echo"}, "agent.step returned dict, not a ToolCall or FinalAnswer"),
        (lambda _: "echo", "agent.step returned str, not a ToolCall or FinalAnswer"),
        ([], "agent.step returned 0 tool calls; a reply has 1 to 128"),
        ([FinalAnswer("x")], "agent.step returned FinalAnswer in a list; only tool calls come in lists"),
        (ToolCall(None, {}), "agent.step returned a ToolCall whose tool is NoneType, not str"),  # type: ignore[arg-type]
        (FinalAnswer(3), "agent.step returned a FinalAnswer whose text is int, not str"),  # type: ignore[arg-type]
        (
            ToolCall("echo", {}, usage=3),  # type: ignore[arg-type]
            "agent.step returned a ToolCall whose usage is int, not Usage",
        ),
        (FinalAnswer("x", Usage(input_tokens=-1)), "agent.step returned a FinalAnswer whose usage counts -1 tokens"),
    ],
)
def test_an_invalid_reply_fails_the_run(reply: object, error: str) -> None:
    run = seen(reply)
    assert run.result.error == error
    assert run.bodies("run.failed") == [{"reason": error}]


@pytest.mark.parametrize(
    ("args", "reported"),
    [
        ([1, 2], "[error] arguments must be a mapping, got list"),
        (None, "[error] arguments must be a mapping, got NoneType"),
        (
            _cyclic(),
            "[error] arguments cannot be used: ValueError: a container that contains itself cannot be an argument",
        ),
        ({1: "a"}, "[error] argument names must be strings, got int"),
    ],
)
@pytest.mark.parametrize("journaled", [False, True])
def test_invalid_arguments_fail_the_action_and_the_run_goes_on(args: Any, reported: str, journaled: bool) -> None:
    options: dict[str, Any] = {"store": MemoryStore(), "run_id": "r"} if journaled else {}
    run = seen(ToolCall("echo", args), budget=Budget(max_repeated_calls=5), **options)
    assert run.tool_messages == [reported]
    assert run.result.final_answer == "done"
    assert run.ran == []


class Unreadable(Mapping[str, Any]):
    """Arguments that raise when they are read."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __getitem__(self, name: str) -> Any:
        raise self.error

    def __iter__(self) -> Iterator[str]:
        return iter(("text",))

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(1), asyncio.CancelledError()])
@pytest.mark.parametrize("nested", [False, True])
def test_arguments_that_cannot_be_read_fail_the_action(error: BaseException, nested: bool) -> None:
    unreadable = Unreadable(error)
    run = seen(ToolCall("echo", {"text": unreadable} if nested else unreadable))
    assert run.tool_messages == [f"[error] arguments cannot be used: {type(error).__name__}: {error}"]
    assert run.result.final_answer == "done"


class Masked(str):
    """A text that is equal to another one."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return other == "delete"

    def __hash__(self) -> int:
        return hash("delete")


def test_a_name_that_compares_as_it_likes_is_the_tool_that_it_says() -> None:
    run = seen(ToolCall(Masked("echo"), {"text": "a"}))
    assert run.ran == [("echo", {"text": "a", "times": 1})]
    run = seen(ToolCall(Masked("nothing"), {"path": "a"}))
    assert (run.ran, run.tool_messages) == ([], ["[error] unknown tool: 'nothing'"])


def test_a_second_argument_under_the_same_text_fails_the_action() -> None:
    run = seen(ToolCall("echo", {"text": "harmless", Masked("text"): "force"}))
    assert run.ran == []
    assert run.tool_messages == [
        "[error] arguments cannot be used: ValueError: a key of type Masked does not compare like the text it is"
    ]


def test_a_python_rule_that_exits_denies() -> None:
    def leave(request: object, context: object) -> Decision | None:
        sys.exit(3)

    policy = bobcat.compile_policy(
        "rules: [{id: all, match: {}, decision: allow}]",
        python_rules=[leave],
        python_rule_priorities={"leave": 1},
        uncompiled="callable",
    )
    run = seen(call("echo", text="a"), policy=policy)
    assert run.ran == []
    assert run.tool_messages == ["[denied] the policy could not be evaluated (SystemExit: 3); denied"]


@pytest.mark.parametrize("error", [ValueError("boom"), SystemExit(1), asyncio.CancelledError()])
def test_an_agent_that_raises_fails_the_run(error: BaseException) -> None:
    def raises(_: object) -> None:
        raise error

    run = seen(raises)
    assert run.result.error == f"agent.step raised: {type(error).__name__}: {error}"
    assert run.bodies("run.failed") == [{"reason": f"agent.step raised: {error!r}"}]


@pytest.mark.parametrize(
    ("kind", "reported"),
    [
        ("plain", "[error] ValueError: wrong\n"),
        ("exit", "[error] SystemExit: 3\n"),
        ("timeout", "[error] TimeoutError: mine\n"),
        ("cancelled", "[error] executor raised CancelledError: by my own hand"),
        ("unprintable", "[ok] <Unprintable that cannot be shown: ValueError>"),
        ("unprintable-exit", "[ok] <Unprintable that cannot be shown: SystemExit>"),
        ("unprintable-cancelled", "[ok] <Unprintable that cannot be shown: CancelledError>"),
    ],
)
def test_a_tool_that_misbehaves_is_a_result_and_the_run_goes_on(kind: str, reported: str) -> None:
    store = MemoryStore()
    run = seen(call("broken", kind=kind), store=store, run_id="r")
    assert run.tool_messages[0].startswith(reported)
    assert run.result.final_answer == "done"
    assert [record.kind for record in asyncio.run(_load(store))][-3:] == ["action.result", "model.output", "final"]


def test_a_granted_action_that_fails_is_a_failure_and_no_denial() -> None:
    run = seen(call("deploy", version="broken"), on_approval=auto_approve("alice"))
    assert run.tool_messages[0].startswith("[error] RuntimeError: deployment failed")
    assert run.kinds[-4:-1] == ["approval.requested", "approval.granted", "action.failed"]


@pytest.mark.parametrize(
    ("outcome", "reported"),
    [
        (None, "[error] executor returned NoneType, not ActionResult (tool 'echo')"),
        (OSError("no room"), "[error] executor raised OSError: no room"),
        (ActionResult("yes"), "[error] None"),  # type: ignore[arg-type]
        (ActionResult(False, error=7), "[error] 7"),  # type: ignore[arg-type]
    ],
)
def test_an_executor_that_misbehaves_is_a_failed_action(outcome: object, reported: str) -> None:
    async def executor(*_: object) -> Any:
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    assert seen(call("echo", text="a"), executor=executor).tool_messages == [reported]


def test_sinks_that_raise_or_are_not_async_do_not_touch_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    kept: list[str] = []

    def plain(event: AuditEvent) -> None:
        kept.append(event.kind)

    def raises_at_once(event: AuditEvent) -> None:
        raise OSError("disk full")

    async def raises(event: AuditEvent) -> None:
        raise SystemExit(2)

    run = seen(call("echo", text="a"), sinks=[plain, raises_at_once, raises])
    assert run.result.final_answer == "done"
    assert kept == run.kinds
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 2 * len(kept)
    first = sorted(errors[:2])  # the sinks are served at the same time
    assert "failed on event 'run.started' seq=0: SystemExit: 2" in first[0]
    assert "failed on event 'run.started' seq=0: OSError: disk full" in first[1]


def test_a_sink_that_mutates_the_arguments_it_sees_changes_nothing() -> None:
    def meddler(event: AuditEvent) -> None:
        args = event.body.get("args")
        if args is not None:
            args["text"] = "changed"

    run = seen(call("echo", text="a"), sinks=[meddler])
    assert run.ran == [("echo", {"text": "a", "times": 1})]


def test_a_sink_cannot_change_what_another_sink_sees() -> None:
    def meddler(event: AuditEvent) -> None:
        for change in (
            lambda: event.body.update(verdict="allow"),  # type: ignore[attr-defined]
            lambda: event.body["matched_rules"].clear(),
        ):
            with pytest.raises((TypeError, KeyError)):
                change()

    run = seen(call("echo", text="force"), sinks=[meddler])
    assert run.bodies("policy.evaluated")[0]["matched_rules"] == ["no-force"]


def test_arguments_as_deep_as_they_may_be_reach_the_sinks() -> None:
    deep: Any = "x"
    for _ in range(200):
        deep = [deep]
        result = seen(ToolCall("echo", {"text": deep})).result
        assert result.final_answer == "done"


class Treacherous(ToolCall):
    """A call whose reading fails."""

    def __getattribute__(self, name: str) -> Any:
        if name == "args":
            raise RuntimeError("mine")
        return super().__getattribute__(name)


def test_a_reply_that_cannot_be_read_fails_the_run() -> None:
    assert seen(Treacherous("echo", {})).result.error == (
        "agent.step returned a Treacherous that cannot be read: RuntimeError: mine"
    )


def test_a_default_that_cannot_be_bound_fails_the_action() -> None:
    loop: list[Any] = []
    loop.append(loop)

    @tool()
    async def odd(text: list[Any] = loop) -> None: ...

    class Odd(Tools):
        def toolset(self) -> ToolSet:
            return ToolSet.from_functions(odd)

    assert seen(call("odd"), tools=Odd()).tool_messages == [
        "[error] a container that contains itself cannot be an argument"
    ]


def test_a_malformed_decision_denies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bobcat.pdp.evaluate", lambda *_: Decision(Verdict.ALLOW, matched_rules=None))  # type: ignore[arg-type]
    run = seen(call("echo", text="a"))
    assert run.ran == []
    assert run.tool_messages == ["[denied] the policy gave Decision, not a well-formed Decision; denied"]


def test_every_audit_line_is_valid_json_whatever_the_arguments() -> None:
    stream = io.StringIO()
    values = [float("nan"), float("inf"), {1, 2}, b"x", object(), {"a": {2: 1, "b": 2}}, "\ud800"]
    seen(*(ToolCall("echo", {"text": value}) for value in values), sinks=[jsonl_sink(stream)])

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    for line in stream.getvalue().splitlines():
        json.loads(line, parse_constant=refuse)


class _BadStore(MemoryStore):
    def __init__(self, *, load: object = (), fail_at: str = "") -> None:
        super().__init__()
        self.loaded = load
        self.fail_at = fail_at

    async def load(self, run_id: str) -> Any:
        if isinstance(self.loaded, BaseException):
            raise self.loaded
        return self.loaded

    async def append(self, record: StepRecord) -> None:
        if record.kind == self.fail_at:
            raise ConnectionError("gone")
        await super().append(record)


@pytest.mark.parametrize("loaded", [None, 5, ["not a record"], OSError("unreachable"), SystemExit(1)])
def test_a_store_that_cannot_be_loaded_fails_the_run_before_the_first_step(loaded: object) -> None:
    run = seen(call("echo", text="a"), store=_BadStore(load=loaded), run_id="r")
    assert run.result.error is not None
    assert run.result.error.startswith("store.load failed: ")
    assert run.kinds == ["run.started", "run.failed"]
    assert run.agent.seen == []


@pytest.mark.parametrize("kind", ["run.started", "model.output", "action.intent", "action.result", "final"])
def test_a_store_that_fails_stops_the_run_before_the_next_effect(kind: str) -> None:
    run = seen(call("echo", text="a"), store=_BadStore(fail_at=kind), run_id="r")
    assert run.result.error == "store.append failed: ConnectionError: gone"
    assert run.kinds[-1] == "run.failed"
    assert bool(run.ran) is (kind in ("action.result", "final"))


def test_a_policy_that_cannot_be_asked_denies(monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*_: object) -> None:
        raise MemoryError("out of it")

    monkeypatch.setattr("bobcat.pdp.evaluate", explode)
    run = seen(call("echo", text="a"))
    assert run.ran == []
    assert run.tool_messages == ["[denied] the policy could not be evaluated (MemoryError: out of it); denied"]


@pytest.mark.parametrize("verdict", ["allow", None, "alow", 1])
def test_a_decision_with_an_unknown_verdict_denies(monkeypatch: pytest.MonkeyPatch, verdict: Any) -> None:
    monkeypatch.setattr("bobcat.pdp.evaluate", lambda *_: Decision(verdict))
    run = seen(call("echo", text="a"))
    assert run.ran == []
    assert run.tool_messages == [f"[denied] unknown verdict {str(verdict)!r}"]


def test_arguments_that_are_no_run_at_all_are_refused_at_once() -> None:
    agent, tools = SimpleNamespace(step=None), Tools().toolset()
    with pytest.raises(ValueError, match="non-empty run_id is required"):
        asyncio.run(run_agent(agent, "t", tools=tools, policy=None, store=MemoryStore()))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="tools must be a ToolSet, got list"):
        asyncio.run(run_agent(agent, "t", tools=[], policy=None))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="policy must be a Policy, got str"):
        asyncio.run(run_agent(agent, "t", tools=tools, policy="p"))  # type: ignore[arg-type]


async def _load(store: MemoryStore) -> Any:
    return await store.load("r")


def test_an_approver_who_returns_anything_but_a_decision_refuses() -> None:
    async def nothing(_: object) -> Any:
        return None

    async def truthy(_: object) -> Any:
        return ApprovalDecision("no", "alice")  # type: ignore[arg-type]

    async def raises(_: object) -> Any:
        raise ConnectionError("chat is down")

    reported = [
        seen(call("deploy", version="1"), on_approval=handler).tool_messages[0] for handler in (nothing, truthy, raises)
    ]
    assert reported == [
        "[denied] approval handler returned NoneType, not ApprovalDecision",
        "[denied] approval handler returned granted='no', not a bool",
        "[denied] approval handler raised ConnectionError: chat is down",
    ]
