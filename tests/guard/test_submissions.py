"""Every status of a submission, what ran, and its one record."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bobcat import (
    ActionBlocked,
    ApprovalDecision,
    Budget,
    CancelToken,
    Guard,
    Outcome,
    Principal,
    auto_approve,
    auto_deny,
)
from bobcat.decision_log import open_log
from bobcat.errors import ActionFailed
from guard.gated import Tools, policy


def submitted(tools: Tools, *call: Any, options: dict[str, Any] | None = None, **given: Any) -> Outcome:
    async def main() -> Outcome:
        async with Guard(policy(), tools.toolset(), **given) as guard:
            return await guard.submit(*call, **(options or {}))

    return asyncio.run(main())


STATUSES = [
    ("echo", {"text": "a"}, "ok", "aa"[:1], [("echo", {"text": "a", "times": 1})]),
    ("query", {"text": "q"}, "ok", "q LIMIT 1", [("query", {"text": "q LIMIT 1"})]),
    ("echo", {"text": "force"}, "denied", None, []),
    ("delete", {"path": "/x"}, "previewed", "would delete /x", []),
    ("deploy", {"target": "web"}, "denied", None, []),  # no handler, and no store that could wait
    ("nothing", {}, "unknown", None, []),
    ("echo", {"words": "a"}, "invalid", None, []),
    ("echo", {"text": 3}, "invalid", None, []),
    ("broken", {}, "failed", None, [("broken", {})]),
]


@pytest.mark.parametrize(("tool", "args", "status", "value", "ran"), STATUSES)
def test_each_status_says_what_ran_and_leaves_one_record(
    tool: str, args: dict[str, Any], status: str, value: Any, ran: list[Any], tmp_path: Path
) -> None:
    tools = Tools()
    outcome = submitted(tools, tool, args, log=tmp_path / "log.db")
    assert (outcome.status, outcome.value, tools.ran) == (status, value, ran)
    assert outcome.ok is (status == "ok")
    with open_log(tmp_path / "log.db") as log:
        (record,) = log.records()
    assert (record.record_id, record.status) == (outcome.record_id, status)
    assert record.body["tool"] == tool


def test_an_outcome_that_is_not_ok_raises_by_what_it_did() -> None:
    tools = Tools()
    assert submitted(tools, "echo", {"text": "a"}).raise_for_status().value == "a"
    for tool, args in (("echo", {"text": "force"}), ("delete", {"path": "a"}), ("nothing", {}), ("echo", {})):
        with pytest.raises(ActionBlocked):
            submitted(tools, tool, args).raise_for_status()
    with pytest.raises(ActionFailed, match="broken pipe"):
        submitted(tools, "broken", {}).raise_for_status()
    assert issubclass(ActionBlocked, PermissionError)


@pytest.mark.parametrize(("tool", "args", "status", "value", "ran"), STATUSES)
def test_a_check_has_the_status_at_best_and_runs_nothing(
    tool: str, args: dict[str, Any], status: str, value: Any, ran: list[Any], tmp_path: Path
) -> None:
    tools = Tools()

    async def main() -> Outcome:
        async with Guard(policy(), tools.toolset(), log=tmp_path / "log.db") as guard:
            return await guard.check(tool, args)

    outcome = asyncio.run(main())
    at_best = {"deploy": "waiting", "broken": "ok"}.get(tool, status)
    assert (outcome.status, outcome.record_id, tools.ran) == (at_best, "", [])
    with open_log(tmp_path / "log.db") as log:
        assert log.records() == []


def test_a_check_shows_the_arguments_that_would_run() -> None:
    with Guard(policy(), Tools().toolset()) as guard:
        assert guard.check_sync("query", {"text": "q"}).args == {"text": "q LIMIT 1"}
        assert guard.check_sync("echo", {"text": "q"}).args == {"text": "q", "times": 1}


def test_an_approval_lets_the_call_run_once() -> None:
    tools = Tools()
    outcome = submitted(tools, "deploy", {"target": "web"}, on_approval=auto_approve("alice"))
    assert (outcome.status, outcome.value, outcome.verdict) == ("ok", "deployed web", "approve_required")
    assert len(tools.ran) == 1


def test_a_refused_approval_is_denied_with_the_reason() -> None:
    tools = Tools()
    outcome = submitted(tools, "deploy", {"target": "web"}, on_approval=auto_deny("not on Friday"))
    assert (outcome.status, tools.ran) == ("denied", [])
    assert "not on Friday" in str(outcome.error)


def test_an_approver_that_the_rule_does_not_name_is_refused() -> None:
    tools = Tools()
    outcome = submitted(tools, "deploy", {"target": "web"}, on_approval=auto_approve("mallory"))
    assert (outcome.status, tools.ran) == ("denied", [])


def test_edited_arguments_are_decided_again() -> None:
    async def edit(_: Any) -> ApprovalDecision:
        return ApprovalDecision(True, "alice", args={"target": "staging"})

    tools = Tools()
    outcome = submitted(tools, "deploy", {"target": "web"}, on_approval=edit)
    assert (outcome.status, outcome.args, tools.ran) == (
        "ok",
        {"target": "staging"},
        [("deploy", {"target": "staging"})],
    )


def test_a_timeout_of_the_submission_is_uncertain(tmp_path: Path) -> None:
    tools = Tools()
    budget = Budget(duration_seconds=None, steps=None, step_timeout_seconds=0.2)
    outcome = submitted(tools, "slow", {}, budget=budget, log=tmp_path / "log.db")
    assert (outcome.status, len(tools.ran)) == ("uncertain", 1)
    with open_log(tmp_path / "log.db") as log:
        assert [record.status for record in log.records()] == ["uncertain"]


def test_the_kill_switch_ends_a_tool_as_uncertain_and_stops_the_next_call() -> None:
    tools, switch = Tools(), CancelToken()

    async def main() -> list[Outcome]:
        async with Guard(policy(), tools.toolset(), cancel=switch) as guard:
            running = asyncio.create_task(guard.submit("slow", {}))
            await asyncio.to_thread(tools.started.wait, 30)
            switch.cancel("stop")
            return [await running, await guard.submit("echo", {"text": "a"})]

    first, second = asyncio.run(main())
    assert (first.status, second.status, second.code) == ("uncertain", "denied", "cancelled")
    assert tools.ran == [("slow", {"text": ""})]


def test_a_cancelled_caller_gets_its_cancellation_and_leaves_a_record(tmp_path: Path) -> None:
    tools = Tools()

    async def main() -> None:
        async with Guard(policy(), tools.toolset(), log=tmp_path / "log.db") as guard:
            running = asyncio.create_task(guard.submit("slow", {}))
            await asyncio.to_thread(tools.started.wait, 30)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

    asyncio.run(main())
    with open_log(tmp_path / "log.db") as log:
        assert [record.status for record in log.records()] == ["uncertain"]


@pytest.mark.parametrize("tool", ["echo", "deploy", "slow", "broken"])
def test_nothing_runs_when_the_log_cannot_be_written(tool: str, tmp_path: Path) -> None:
    tools, log = Tools(), open_log(tmp_path / "log.db")
    log.close()
    args = {"echo": {"text": "a"}, "deploy": {"target": "a"}}.get(tool, {})
    outcome = submitted(tools, tool, args, log=log, on_approval=auto_approve("alice"))
    assert (outcome.status, outcome.code, tools.ran) == ("failed", "log_failed", [])
    with pytest.raises(ActionFailed):
        outcome.raise_for_status()


def test_a_denial_that_cannot_be_logged_is_a_failure(tmp_path: Path) -> None:
    log = open_log(tmp_path / "log.db")
    log.close()
    outcome = submitted(Tools(), "echo", {"text": "force"}, log=log)
    assert (outcome.status, outcome.code) == ("failed", "log_failed")


def test_a_log_that_cannot_be_opened_refuses_the_guard(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="missing"):
        Guard(policy(), Tools().toolset(), log=tmp_path / "missing" / "log.db")


def test_the_decision_is_on_record_before_the_effect(tmp_path: Path) -> None:
    path, seen = tmp_path / "log.db", list[Any]()

    async def look() -> str:
        with open_log(path, read_only=True) as log:
            seen.extend(entry.kind for entry in log.entries())
        return "seen"

    rules = {"rules": [{"match": {"tool": "look"}, "decision": "allow"}]}

    async def main() -> Outcome:
        async with Guard(type(policy()).compile(rules), [look], log=path) as guard:
            return await guard.submit("look", {})

    assert asyncio.run(main()).status == "ok"
    assert seen == ["decision"]


def test_redacted_values_are_in_no_entry(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    outcome = submitted(Tools(), "echo", {"text": "4242-secret"}, log=path, redact=["args.text", "value"])
    assert outcome.value == "4242-secret"
    text = path.read_text()
    assert "4242-secret" not in text
    assert "hmac-sha256:" in text


def test_caps_of_the_guard_deny_further_submissions(tmp_path: Path) -> None:
    tools = Tools()

    async def main(budget: Budget, count: int) -> list[str]:
        async with Guard(policy(), tools.toolset(), budget=budget, log=tmp_path / "log.db") as guard:
            return [(await guard.submit("echo", {"text": "a"})).status for _ in range(count)]

    unlimited = {"duration_seconds": None, "steps": None}
    assert asyncio.run(main(Budget(**{**unlimited, "steps": 2}), 3)) == ["ok", "ok", "denied"]
    assert asyncio.run(main(Budget(**{**unlimited, "max_repeated_calls": 1}), 2)) == ["ok", "denied"]
    with open_log(tmp_path / "log.db") as log:
        assert [record.status for record in log.records()] == ["ok", "ok", "denied", "ok", "denied"]


def test_rules_read_the_principal_and_the_facts_of_one_submission() -> None:
    match = {"context.principal.id": "bob", "context.extra.ticket": "T1", "context.environment": "prod"}
    rules = {"rules": [{"match": match, "decision": "allow"}]}

    def ping() -> str:
        return "pong"

    with Guard(type(policy()).compile(rules), [ping]) as guard:
        assert guard.submit_sync("ping", {}).status == "denied"
        given = {"principal": Principal("user", "bob"), "extra": {"ticket": "T1"}, "environment": "prod"}
        assert guard.submit_sync("ping", {}, **given).status == "ok"


MISUSES: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"tools": lambda: None}, TypeError, "tools must be a ToolSet"),
    ({"tools": [3]}, TypeError, "a tool must be a function"),
    ({"store": object()}, TypeError, "store must be a DurableStore"),
    ({"redact": "args.x"}, TypeError, "redact must be a sequence"),
    ({"redact": ["args.x"]}, ValueError, "needs a log"),
    ({"principal": "bob"}, TypeError, "principal must be a Principal"),
    ({"budget": Budget(tokens=3)}, ValueError, "sees no model"),
    ({"on_approval": 3}, TypeError, "on_approval"),
]


@pytest.mark.parametrize(("given", "error", "text"), MISUSES)
def test_invalid_arguments_are_refused_when_the_guard_is_made(
    given: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        Guard(policy(), **{"tools": (), **given})


def test_invalid_calls_are_refused() -> None:
    with Guard(policy(), Tools().toolset()) as guard:
        with pytest.raises(TypeError, match="tool must be the name"):
            guard.submit_sync(3, {})  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="key must be a non-empty string"):
            guard.submit_sync("echo", {}, key="")
        with pytest.raises(LookupError, match="no submission 'x'"):
            guard.resume_sync("x")
    with pytest.raises(RuntimeError, match="closed"):
        guard.submit_sync("echo", {})


@pytest.mark.parametrize("args", [None, 3, "text", ["a"], {3: "a"}, {"text": object()}])
def test_arguments_other_than_a_json_object_are_invalid(args: Any, tmp_path: Path) -> None:
    tools = Tools()
    outcome = submitted(tools, "echo", args, log=tmp_path / "log.db")
    assert (outcome.status, tools.ran) == ("invalid", [])
    with open_log(tmp_path / "log.db") as log:
        assert [record.status for record in log.records()] == ["invalid"]


def test_a_transform_keeps_the_evaluated_arguments_in_the_log_redacted_as_the_others(tmp_path: Path) -> None:
    plain, redacted = tmp_path / "plain.jsonl", tmp_path / "redacted.jsonl"
    for path, redact in ((plain, []), (redacted, ["args.text", "value"])):
        submitted(Tools(), "query", {"text": "4242-secret"}, log=path, redact=redact)
    bodies = [json.loads(path.read_text().splitlines()[0])["body"] for path in (plain, redacted)]
    assert bodies[0]["proposed_args"] == {"text": "4242-secret"}
    assert bodies[0]["args"] == {"text": "4242-secret LIMIT 1"}
    assert bodies[1]["proposed_args"]["text"].startswith("hmac-sha256:")
    assert "4242" not in redacted.read_text()


def test_a_call_that_no_rule_changed_has_its_arguments_in_the_log_once(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    submitted(Tools(), "echo", {"text": "a"}, log=path)
    assert "proposed_args" not in path.read_text()
