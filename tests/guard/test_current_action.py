"""The action that runs at present: facts of what it opened, and further requests that the policy decides."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bobcat import (
    Action,
    ActionRequest,
    AuditEvent,
    Budget,
    Decision,
    ExecutionContext,
    FinalAnswer,
    Guard,
    MemoryStore,
    Message,
    Outcome,
    Policy,
    Principal,
    RunResult,
    ToolCall,
    ToolSet,
    Verdict,
    auto_deny,
    current_action,
    decide_again,
    evaluate,
    inline_executor,
    mediate,
    run_agent,
    tool,
    uses_action,
)
from bobcat.decision_log import open_log
from bobcat.tools.action import is_marked
from unit.cli_runner import runner

POLICY = Policy.compile("""
defaults: {on_no_match: deny, on_missing_shadow: deny}
rules:
  - {id: asked, match: {tool: get, args.url: b}, decision: approve_required, priority: 2}
  - {id: outside, match: {tool: get, args.url: secret}, decision: deny, reason: not there, priority: 2}
  - {id: get, match: {tool: get}, decision: allow}
  - {id: preview, match: {tool: put}, decision: dry_run}
  - {id: outer, match: {tool: outer}, decision: allow}
  - {id: plain, match: {tool: plain}, decision: allow}
""")

CONTEXT = ExecutionContext(Principal("user", "u"), "dev", ".", "c", 0, datetime(2026, 1, 31, tzinfo=UTC))


def toolset(body: Callable[[str, Action | None], Any]) -> ToolSet:
    """The tools `get`, which runs `body` with the current action, and `put` with a shadow that does the same."""

    async def ran(url: str) -> Any:
        found = body(url, current_action())
        return await found if asyncio.iscoroutine(found) else found

    @tool(name="get")
    @uses_action
    async def get(url: str) -> Any:
        return await ran(url)

    @tool(name="put")
    @uses_action
    async def put(url: str) -> Any:
        return await ran(url)

    @put.shadow
    async def would_put(url: str) -> Any:
        return await ran(url)

    return ToolSet.from_functions(get, put)


def submitted(tools: Any, name: str = "get", url: str = "a", **options: Any) -> Outcome:
    async def main() -> Outcome:
        async with Guard(POLICY, tools, **options) as guard:
            return await guard.submit(name, {"url": url})

    return asyncio.run(main())


def noted(_url: str, action: Action | None) -> str:
    assert action is not None
    assert action.request.args == {"url": "a"}
    action.record(inode=7, device=[8, 1])
    action.record(inode=9)
    return "read"


OPENED = {"inode": 9, "device": [8, 1]}


@pytest.mark.parametrize("options", [{}, {"executor": inline_executor()}])
def test_facts_are_in_the_outcome_the_journal_the_event_and_the_log(
    options: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events: list[AuditEvent] = []

    async def sink(event: AuditEvent) -> None:
        events.append(event)

    store = MemoryStore()
    outcome = submitted(toolset(noted), log=tmp_path / "log.db", store=store, sinks=[sink], **options)
    assert (outcome.status, outcome.value, outcome.opened) == ("ok", "read", OPENED)
    (completed,) = [event for event in events if event.kind == "action.completed"]
    assert completed.body["opened"] == OPENED
    records = asyncio.run(store.load(outcome.record_id))
    (result,) = [record for record in records if record.kind == "action.result"]
    assert result.body["opened"] == OPENED
    shown = runner(capsys, monkeypatch)("log", str(tmp_path / "log.db"), "--entries", "--format", "json").out
    bodies = [json.loads(line)["body"] for line in shown.splitlines()]
    assert [body["opened"] for body in bodies if "opened" in body] == [OPENED]


def test_facts_survive_a_failure_and_a_timeout() -> None:
    def failing(url: str, action: Action | None) -> None:
        noted(url, action)
        raise OSError("disk full")

    async def slow(url: str, action: Action | None) -> None:
        noted(url, action)
        await asyncio.sleep(30)

    events: list[AuditEvent] = []

    async def sink(event: AuditEvent) -> None:
        events.append(event)

    failed = submitted(toolset(failing), sinks=[sink])
    assert (failed.status, failed.opened) == ("failed", OPENED)
    late = submitted(toolset(lambda url, action: slow(url, action)), budget=Budget(duration_seconds=0.1), sinks=[sink])
    assert (late.status, late.opened) == ("uncertain", OPENED)
    assert [event.body["opened"] for event in events if event.kind == "action.failed"] == [OPENED, OPENED]


def test_there_is_no_action_in_a_shadow_outside_of_a_call_and_in_a_tool_that_is_not_marked() -> None:
    seen: list[Action | None] = []
    assert current_action() is None
    assert submitted(toolset(lambda _, action: seen.append(action)), "put").status == "previewed"

    @tool
    async def plain(url: str) -> str:
        seen.append(current_action())
        return url

    assert submitted([plain], "plain").status == "ok"
    assert seen == [None, None]


def test_a_call_inside_of_an_action_does_not_see_the_outer_one() -> None:
    seen: list[Action | None] = []

    @tool
    async def plain(url: str) -> str:
        seen.append(current_action())
        return url

    async def inner() -> Outcome:
        async with Guard(POLICY, [plain]) as guard:
            return await guard.submit("plain", {"url": "a"})

    async def in_a_run() -> RunResult:
        return await run(ToolSet.from_functions(plain), "plain")

    @tool
    @uses_action
    async def outer(url: str) -> str:
        before = current_action()
        await inner()
        await in_a_run()
        assert current_action() is before is not None
        return url

    assert submitted([outer], "outer").status == "ok"
    assert seen == [None, None]


def run(tools: ToolSet, name: str) -> Any:
    """A run without sinks and without a journal, which takes the fast path where it may."""

    class Once:
        async def step(self, conversation: Any, /) -> ToolCall | FinalAnswer:
            last: Message = conversation[-1]
            return FinalAnswer(last.content) if last.role == "tool" else ToolCall(name, {"url": "a"})

    return run_agent(Once(), "go", tools=tools, policy=POLICY, principal=Principal("user", "u"), environment="dev")


def test_a_marked_tool_has_its_action_in_a_run_without_observers() -> None:
    result = asyncio.run(run(toolset(noted), "get"))
    assert result.final_answer == "[ok] read"


def test_functions_of_a_guard_can_be_marked_too() -> None:
    @uses_action
    def get(url: str) -> str:  # runs in a thread
        action = current_action()
        assert action is not None
        action.record(url=url)
        return url

    async def main() -> Outcome:
        async with Guard(POLICY) as guard:
            return await guard.submit("get", {"url": "a"}, run=get)

    assert submitted([get]).opened == {"url": "a"}
    assert asyncio.run(main()).opened == {"url": "a"}


def test_a_callable_that_raises_for_attributes_or_wraps_itself_is_not_marked() -> None:
    class Raising:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(name)

        def __call__(self) -> None: ...

    def circular() -> None: ...

    circular.__wrapped__ = circular  # type: ignore[attr-defined]
    assert [is_marked(each) for each in (Raising(), circular, uses_action(lambda: None))] == [False, False, True]


def test_facts_are_json_and_bounded() -> None:
    def wrong(_url: str, action: Action | None) -> list[str]:
        assert action is not None
        problems = []
        for facts in ({"a": {1, 2}}, {"a": object()}, {"a": float("nan")}, {"a": "x" * 70_000}):
            with pytest.raises(ValueError, match="JSON") as caught:
                action.record(**facts)
            problems.append(str(caught.value))
        return problems

    outcome = submitted(toolset(wrong))
    assert outcome.status == "ok"
    assert outcome.opened == {}


def test_an_action_ends_with_its_call() -> None:
    kept: list[Action] = []
    assert submitted(toolset(lambda _, action: kept.append(action))).status == "ok"  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="has ended"):
        kept[0].record(a=1)
    assert asyncio.run(kept[0].judge({"url": "a"})).verdict is Verdict.DENY


JUDGED = [
    ({"url": "c"}, "allow", "allow"),
    ({"url": "secret"}, "deny", "deny"),
    ({"url": "b"}, "deny", "approve_required"),
    ({"link": "c"}, "deny", "deny"),
    ({"url": 7}, "deny", "deny"),
    ({"url": object()}, "deny", "deny"),
]


@pytest.mark.parametrize(("args", "given", "decided"), JUDGED)
def test_a_further_request_is_decided_by_the_policy_and_audited(
    args: dict[str, Any], given: str, decided: str, tmp_path: Path
) -> None:
    decisions: list[Decision] = []
    events: list[AuditEvent] = []

    async def asking(_url: str, action: Action | None) -> None:
        assert action is not None
        decisions.append(await action.judge(args))

    async def sink(event: AuditEvent) -> None:
        events.append(event)

    outcome = submitted(
        toolset(lambda url, action: asking(url, action)), log=tmp_path / "log.db", sinks=[sink], redact=["args.url"]
    )
    assert outcome.status == "ok"
    assert [decision.verdict.value for decision in decisions] == [given]
    (event,) = [event for event in events if event.kind == "policy.reevaluated"]
    assert (event.body["verdict"], event.body["during"]) == (decided, "execution")
    assert decide_again(event, POLICY).verdict.value == decided
    if "url" in args and isinstance(args["url"], str):
        assert outcome.opened["judged"][0]["verdict"] == given
        with open_log(tmp_path / "log.db") as log:
            (judged,) = [entry.body["opened"]["judged"] for entry in log.entries() if "opened" in entry.body]
        assert judged[0]["args"]["url"].startswith("hmac-sha256:")
        assert event.body["args"] == args


def test_nothing_is_permitted_where_the_audit_fails() -> None:
    verdicts: list[Verdict] = []

    async def asking(_url: str, action: Action | None) -> None:
        assert action is not None
        verdicts.append((await action.judge({"url": "c"})).verdict)

    class Required:
        required = True

        async def __call__(self, event: AuditEvent) -> None:
            if event.kind == "policy.reevaluated":
                raise OSError("full")

    submitted(toolset(lambda url, action: asking(url, action)), sinks=[Required()])
    assert verdicts == [Verdict.DENY]


def test_the_mediator_has_no_policy_for_further_requests() -> None:
    verdicts: list[Verdict] = []

    async def asking(_url: str, action: Action | None) -> None:
        assert action is not None
        verdicts.append((await action.judge({"url": "a"})).verdict)

    tools = toolset(lambda url, action: asking(url, action))
    request = ActionRequest("get", {"url": "a"}, tools.get("get").metadata, CONTEXT)
    result = asyncio.run(mediate(request, evaluate(POLICY, request), tools, auto_deny("no")))
    assert result.ok
    assert verdicts == [Verdict.DENY]


def test_a_further_decision_is_a_span_of_its_own() -> None:
    pytest.importorskip("opentelemetry.sdk")
    from unit.exported_telemetry import Exported, attributes

    async def asking(_url: str, action: Action | None) -> None:
        assert action is not None
        await action.judge({"url": "secret"})

    exported = Exported(record_args=True)
    submitted(toolset(lambda url, action: asking(url, action)), sinks=[exported.sink])
    verdicts = [attributes(span)["bobcat.verdict"] for span in exported.spans("evaluate_policy")]
    assert verdicts == ["allow", "deny"]
    step = attributes(exported.one("execute_tool"))
    assert (step["bobcat.verdict"], step["gen_ai.tool.call.arguments"]) == ("allow", '{"url":"a"}')
