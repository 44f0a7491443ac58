"""Arguments that a transform leaves out, and that the tool has a default for: the call is evaluated with them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bobcat import (
    ActionRequest,
    ApprovalDecision,
    ApprovalRequest,
    Decision,
    ExecutionContext,
    MemoryStore,
    ToolSet,
    compile_policy,
    run_agent,
    tool,
    transform,
)
from kernel.scripted import Scripted, call

DROP = "{id: drop, match: {tool: sh}, decision: transform, transform: {jsonpath: $.args.cmd, delete: true}}"
DENY = "{id: no-rm, priority: 5, match: {args.cmd.starts_with: rm}, decision: deny, reason: not that}"


def _run(rules: str, *, python_rules: Any = (), uncompiled: Any = "error", **options: Any) -> tuple[list[Any], str]:
    """The executed arguments, and the message to the model, of a call of `sh` under `rules`."""
    ran: list[Any] = []

    @tool()
    async def sh(cmd: str = "rm -rf /", note: str = "") -> str:
        ran.append((cmd, note))
        return "done"

    agent = Scripted(call("sh", cmd="ls", note="n"))
    policy = compile_policy(f"rules: [{rules}]", python_rules=python_rules, uncompiled=uncompiled)
    asyncio.run(run_agent(agent, "task", tools=ToolSet.from_functions(sh), policy=policy, **options))
    return ran, agent.seen[-1][-1].content


def test_a_rule_that_outranks_the_transform_sees_the_default() -> None:
    assert _run(f"{DENY}, {DROP}") == ([], "[denied] not that")


def test_so_it_does_when_all_arguments_are_replaced() -> None:
    replaced = "{id: all, match: {tool: sh}, decision: transform, transform: {set: {note: other}}}"
    assert _run(f"{DENY}, {replaced}") == ([], "[denied] not that")


def test_so_it_does_when_a_python_rule_replaces_them() -> None:
    def only_a_note(request: ActionRequest, context: ExecutionContext) -> Decision | None:
        return transform({"note": "other"})

    for uncompiled in ("error", "callable"):
        assert _run(DENY, python_rules=[only_a_note], uncompiled=uncompiled) == ([], "[denied] not that")


def test_a_rule_in_error_over_the_default_denies() -> None:
    number = "{id: big, priority: 5, match: {args.cmd.gt: 5, args.note: ''}, decision: deny}"
    replaced = "{id: all, match: {tool: sh}, decision: transform, transform: {set: {}}}"
    ran, reported = _run(f"{number}, {replaced}")
    assert ran == []
    assert reported == "[denied] rule `big` could not be judged (wrong_type); denied"


@pytest.mark.parametrize("lower", ["", ", {id: low, match: {args.cmd.starts_with: rm}, decision: deny}"])
def test_a_rule_below_the_transform_is_not_asked(lower: str) -> None:
    drop = DROP.replace("tool: sh", "args.cmd: ls")
    assert _run(f"{drop}{lower}") == ([("rm -rf /", "n")], "[ok] done")


def test_a_transform_is_not_evaluated_on_its_own_result() -> None:
    append = "{id: more, match: {tool: sh}, decision: transform, transform: {set: {note: again}}}"
    deny = "{id: no-ls, priority: 5, match: {args.cmd: never}, decision: deny}"
    assert _run(f"{deny}, {append}") == ([("rm -rf /", "again")], "[ok] done")


def test_an_outranking_allow_permits_the_arguments_as_they_are_run() -> None:
    allow = "{id: known, priority: 5, match: {args.cmd: rm -rf /}, decision: allow}"
    assert _run(f"{allow}, {DROP}") == ([("rm -rf /", "n")], "[ok] done")


def test_an_outranking_transform_makes_what_runs() -> None:
    safe = (
        "{id: safe, priority: 5, match: {args.cmd.starts_with: rm}, "
        "decision: transform, transform: {jsonpath: $.args.cmd, set: pwd}}"
    )
    assert _run(f"{safe}, {DROP}") == ([("pwd", "n")], "[ok] done")


def test_an_approver_is_shown_what_will_run() -> None:
    shown: list[Any] = []

    async def approve(request: ApprovalRequest) -> ApprovalDecision:
        shown.append((dict(request.request.args), request.decision.matched_rules))
        return ApprovalDecision(True, "alice")

    ask = "{id: ask, priority: 5, match: {args.cmd.starts_with: rm}, decision: approve_required, approvers: [alice]}"
    ran, reported = _run(f"{ask}, {DROP}", on_approval=approve, store=MemoryStore(), run_id="r")
    assert shown == [({"cmd": "rm -rf /", "note": "n"}, ("drop", "ask"))]
    assert (ran, reported) == ([("rm -rf /", "n")], "[ok] done")
    assert _run(f"{ask}, {DROP}")[0] == []


def test_the_audit_has_the_default() -> None:
    bodies: list[Any] = []

    async def sink(event: Any) -> None:
        bodies.append((event.kind, event.body.get("args")))

    _run(DROP, sinks=[sink])
    assert ("policy.evaluated", {"cmd": "rm -rf /", "note": "n"}) in bodies


def test_a_default_that_no_call_can_name_is_not_run() -> None:
    ran: list[Any] = []

    @tool()
    async def sh(cmd: str = "rm -rf /", /, note: str = "") -> str:
        ran.append((cmd, note))
        return "done"

    agent = Scripted(call("sh", note="n"))
    policy = compile_policy(f"rules: [{DENY}, {{id: rest, match: {{}}, decision: allow}}]")
    asyncio.run(run_agent(agent, "task", tools=ToolSet.from_functions(sh), policy=policy))
    assert ran == []
    assert agent.seen[-1][-1].content == "[error] tool 'sh' cannot be called: its `cmd` has no name in a call"
