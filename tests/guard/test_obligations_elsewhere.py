"""Obligations outside of runs: `mediate`, prompts of approvers, and the commands that show policies."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bobcat import (
    ActionResult,
    ApprovalRequest,
    Approvals,
    Decision,
    Guard,
    Obligation,
    ObligationCall,
    Policy,
    Request,
    SQLiteStore,
    ToolSet,
    auto_approve,
    auto_deny,
    callback_sink,
    evaluate,
    mediate,
    tool,
)
from bobcat.approvals.prompting import Question
from bobcat.lynx.core.mediator import mediate as lynx_mediate
from unit.cli_runner import Run, runner

POLICY = """
rules:
  - id: pay
    match: {tool: pay, args.amount.le: 50}
    decision: allow
    obligations: [{redact: args.card}, {reserve: 1}, {notify: boss}]
  - {id: ask, match: {tool: pay, args.amount.le: 500}, decision: approve_required, obligations: [{reserve: 2}]}
  - {id: 'no', match: {tool: pay}, decision: deny, obligations: [{notify: police}]}
  - {id: watch, match: {args.amount.gt: 20}, decision: deny, priority: 1, mode: monitor}
"""
COMPILED = Policy.compile(POLICY)


def mediated(amount: int, *, handlers: bool = True, fail: bool = False, approval: Any = None) -> Any:
    done: list[str] = []

    @tool
    async def pay(card: str, amount: int) -> str:
        done.append("pay")
        return "paid"

    def handler(obligation: Obligation, call: ObligationCall) -> None:
        done.append(f"{obligation.name} {obligation.value} {None if call.result is None else call.result.ok}")
        if fail:
            raise RuntimeError("not now")

    request = Request("pay", {"card": "4111", "amount": amount})
    given = {"reserve": handler, "notify": handler} if handlers else None
    result: ActionResult = asyncio.run(
        mediate(
            request, evaluate(COMPILED, request), ToolSet.from_functions(pay), approval or auto_approve(),
            obligations=given,
        )
    )  # fmt: skip
    return result.ok, done


@pytest.mark.parametrize(
    ("amount", "options", "expected"),
    [
        (5, {}, (True, ["reserve 1 None", "pay", "notify boss True"])),
        (5, {"handlers": False}, (False, [])),
        (5, {"fail": True}, (False, ["reserve 1 None"])),
        (100, {}, (True, ["reserve 2 None", "pay"])),
        (100, {"approval": auto_deny("no")}, (False, ["reserve 2 False"])),
        (5000, {}, (False, ["notify police False"])),
        (5000, {"fail": True}, (False, ["notify police False"])),
    ],
)
def test_mediate_performs_obligations(amount: int, options: Any, expected: Any) -> None:
    assert mediated(amount, **options) == expected


def test_mediate_of_lynx_agent_refuses_what_it_cannot_perform() -> None:
    @tool
    async def pay(card: str, amount: int) -> str:
        raise AssertionError

    request = Request("pay", {"card": "4111", "amount": 5})
    tools = ToolSet.from_functions(pay)
    result = asyncio.run(lynx_mediate(request, evaluate(COMPILED, request), tools, auto_approve()))
    assert not result.ok
    assert "`reserve` was not performed" in str(result.error)


@pytest.mark.parametrize("paths", [[["args", "card"]], [["args"]], [["args", "*"]]])
def test_a_prompt_lacks_redacted_arguments(paths: list[list[str]]) -> None:
    request = Request("pay", {"card": "4111", "amount": 5})
    decision = evaluate(COMPILED, request)
    shown = Decision(decision.verdict, "", (), obligations=(Obligation("redact", paths),))
    question = Question(ApprovalRequest(request, shown, "c"))
    text = question.prompt() + "".join(question.pages())
    assert "4111" not in text
    assert "<redacted>" in text


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text(POLICY)
    return runner(capsys, monkeypatch)


def test_commands_show_obligations_and_monitored_rules(run: Run) -> None:
    call = ("policy.yaml", "--tool", "pay", "--args", '{"card": "4111", "amount": 30}')
    assert "reserve (before), notify (after)" in run("eval", *call).out
    assert json.loads(run("eval", *call, "--format", "json").out)["obligations"][1] == {
        "name": "reserve", "phase": "before", "value": 1,
    }  # fmt: skip
    assert "is monitored: it would fire" in run("explain", *call).out
    small = ("policy.yaml", "--tool", "pay", "--args", '{"card": "4111", "amount": 3}')
    assert "is monitored: it would not fire" in run("explain", *small).out
    assert "deny (monitored)" in run("inspect", "policy.yaml").out
    rules = json.loads(run("inspect", "policy.yaml", "--format", "json").out)["rules"]
    assert [rule.get("mode") for rule in rules] == ["monitor", None, None, None]


def test_a_store_has_the_exact_values_that_events_and_the_log_lack(tmp_path: Path) -> None:
    paid: list[str] = []

    @tool(cost="high")
    async def pay(card: str, amount: int) -> str:
        paid.append(card)
        return card

    policy = Policy.compile(
        "rules: [{id: ask, match: {tool: pay}, decision: approve_required,"
        " obligations: [{redact: [args.card, result]}]}]"
    )
    shown: list[Any] = []

    async def main() -> str:
        store = SQLiteStore(str(tmp_path / "runs.db"))
        sinks = [callback_sink(lambda event: shown.append(dict(event.body)))]
        async with Guard(policy, [pay], store=store, sinks=sinks, log=tmp_path / "log.jsonl") as guard:
            waiting = await guard.submit("pay", {"card": "4111", "amount": 5})
            approvals = Approvals(store)
            (pending,) = await approvals.list()
            assert pending.args == {"card": "4111", "amount": 5}
            await approvals.grant(pending.id, approver="ann")
            done = await guard.resume(waiting.record_id)
            journal = [json.dumps(dict(each.body), default=str) for each in await store.load(waiting.record_id)]
            assert done.ok
            assert any("4111" in text for text in journal)
            return str(done.value)

    assert asyncio.run(main()) == "4111"
    assert paid == ["4111"]
    assert "4111" not in (tmp_path / "log.jsonl").read_text()
    assert "4111" not in repr(shown)
    assert "<redacted>" in repr(shown)
