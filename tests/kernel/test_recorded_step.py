"""`bobcat explain --run`: the last decision on record is rebuilt, or a code says why it cannot be."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bobcat import (
    ApprovalDecision,
    AuditError,
    FinalAnswer,
    MemoryStore,
    Policy,
    SQLiteStore,
    StepRecord,
    ToolSet,
    run_agent,
    tool,
)
from bobcat.runtime.recorded_step import explain_step, recorded_step
from kernel.scripted import Scripted
from kernel.test_run_memory import call
from unit.cli_runner import runner

POLICY = Policy.compile("rules: [{id: pay, match: {tool: pay, run.count.pay.lt: 5}, decision: allow}]")


class Stop(BaseException):
    """The death of a process."""


@tool(effect="unsafe")
async def lost(amount: int) -> str:
    raise Stop


@tool(effect="unsafe", name="lost")
async def found(amount: int) -> str:
    return "paid"


async def retried(store: Any, policy: Policy, *, granted: bool) -> None:
    """A run whose process dies in the call, and that another one continues."""

    async def answer(question: Any) -> ApprovalDecision:
        return ApprovalDecision(granted, "alice", "no")

    options: dict[str, Any] = {"policy": policy, "store": store, "run_id": "r", "owner": "w"}
    with pytest.raises(Stop):
        await run_agent(Scripted(call("lost", amount=1)), "go", tools=ToolSet.from_functions(lost), **options)
    again = await run_agent(
        Scripted(FinalAnswer("x")), "go", tools=ToolSet.from_functions(found), on_approval=answer, **options
    )
    assert again.error is None


@pytest.mark.parametrize("granted", [True, False])
def test_an_uncertain_retry_is_explained_with_its_approval(
    granted: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("rules: [{id: few, match: {tool: lost, run.count.lost.lt: 5}, decision: allow}]\n")

    async def main() -> None:
        store = SQLiteStore(tmp_path / "runs.db")
        try:
            await retried(store, Policy.compile(policy), granted=granted)
        finally:
            await store.aclose()

    asyncio.run(main())
    bobcat = runner(capsys, monkeypatch)
    options = [str(policy), "--store", f"sqlite:///{tmp_path / 'runs.db'}", "--run", "r", "--step", "0"]
    decision = bobcat("explain", *options, "--format", "json").json()["decision"]
    assert decision["verdict"] == "approve_required"
    assert decision["matched_rules"] == ["few", "<default:on_uncertain>"]
    shown = bobcat("explain", *options).out
    assert "read 1" in shown
    assert "no rule fired" not in shown
    store = f"sqlite:///{tmp_path / 'runs.db'}"
    replayed = bobcat("replay", store, "--policy", str(policy), "--rules", "--format", "json").json()
    assert (replayed["decided"], replayed["groups"]) == (1, [])


def test_the_refused_retry_of_a_journal_without_its_uncertainty_is_a_coded_error() -> None:
    policy = Policy.compile("rules: [{id: few, match: {tool: lost, run.count.lost.lt: 1}, decision: allow}]")

    async def main() -> Sequence[StepRecord]:
        store = MemoryStore()
        await retried(store, policy, granted=False)
        return await store.load("r")

    records = asyncio.run(main())
    assert explain_step(policy, recorded_step(records, policy, 0)).decision.verdict.value == "deny"
    assert records[-1].kind == "final"

    def older(record: StepRecord) -> StepRecord:
        return replace(record, body={k: v for k, v in record.body.items() if k != "uncertain_effect"})

    with pytest.raises(AuditError, match="it was deny, and would be allow") as failed:
        explain_step(policy, recorded_step([older(each) for each in records], policy, 0))
    assert failed.value.code == "other_decision"
    other = Policy.compile("rules: [{id: all, match: {run.count.lost.lt: 9}, decision: allow}]")
    assert explain_step(other, recorded_step(records, other, 0)).decision.verdict.value == "approve_required"


def test_a_call_that_the_policy_did_not_decide_is_a_coded_error() -> None:
    @tool()
    async def pay(amount: int) -> str:
        return "paid"

    def no_facts(request: Any) -> Any:
        if request.args["amount"] == 2:
            raise OSError("no facts")
        return {}

    async def main() -> Sequence[StepRecord]:
        store = MemoryStore()
        calls = [call("pay", amount=1), call("pay", amount=2), call("pya", amount=3), FinalAnswer("x")]
        await run_agent(
            Scripted(*calls), "go", tools=ToolSet.from_functions(pay), policy=POLICY, store=store, run_id="r",
            extra=no_facts,
        )  # fmt: skip
        return await store.load("r")

    records = asyncio.run(main())
    assert explain_step(POLICY, recorded_step(records, POLICY, 0)).decision.verdict.value == "allow"
    undecided = next(n for n, each in enumerate(records) if each.kind == "action.intent")
    for step, until, why in ((1, None, "facts"), (2, None, "refused before"), (0, undecided, "no decision on it")):
        with pytest.raises(AuditError, match=why) as failed:
            recorded_step(records[:until], POLICY, step)
        assert failed.value.code == "undecided"
