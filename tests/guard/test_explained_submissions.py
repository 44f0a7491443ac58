"""`bobcat explain --run` of a submission: it is decided after its session, as far as it was read."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bobcat import ApprovalDecision, AuditError, Guard, MemoryStore, Policy, SQLiteStore, tool
from bobcat.runtime.recorded_step import explain_step, recorded_step, session_of
from campaign import examples
from unit.cli_runner import runner

TEXT = """
sources:
  directory: {tool: search, fields: [email], asked_with: task}
rules:
  - {id: search, match: {tool: search}, decision: allow}
  - {id: mail, match: {tool: mail, args.to.from: [task, directory], run.count.mail.lt: 4}, decision: allow}
  - {id: ask, match: {tool: pay, run.sum.pay.amount.with_this: {gt: 3, le: 9}}, decision: approve_required}
  - {id: pay, match: {tool: pay, run.sum.pay.amount.with_this.le: 3}, decision: allow}
  - {id: shown, match: {tool: pay, run.last: {tool: search}}, decision: dry_run}
"""
POLICY = Policy.compile(TEXT)


@tool()
async def pay(amount: int) -> str:
    await asyncio.sleep(0)
    return "paid"


@pay.shadow  # type: ignore[attr-defined,untyped-decorator]
async def preview(amount: int) -> str:
    return "would pay"


@tool(effect="none")
async def search(name: str) -> dict[str, str]:
    await asyncio.sleep(0)
    return {"email": f"{name.lower()}@corp.example"}


@tool()
async def mail(to: str) -> str:
    return "sent"


async def answer(question: Any) -> ApprovalDecision:
    await asyncio.sleep(0)
    return ApprovalDecision(question.request.args["amount"] != 2, "alice", "no")


TOOLS = [pay, search, mail]
calls = st.one_of(
    st.tuples(st.just("pay"), st.fixed_dictionaries({"amount": st.integers(1, 4)})),
    st.tuples(st.just("search"), st.fixed_dictionaries({"name": st.sampled_from(["Ann", "Bob"])})),
    st.tuples(
        st.just("mail"), st.fixed_dictionaries({"to": st.sampled_from(["ann@corp.example", "bob@corp.example"])})
    ),
)


@settings(max_examples=examples(60), deadline=None)
@given(groups=st.lists(st.lists(calls, min_size=1, max_size=3), min_size=2, max_size=5), task=st.booleans())
def test_every_submission_is_explained_with_its_verdict(groups: list[list[Any]], task: bool) -> None:
    async def main() -> None:
        store = MemoryStore()
        words = "ask Ann" if task else None
        done = []
        for _ in range(2):
            async with Guard(POLICY, TOOLS, store=store, session="s", task=words, on_approval=answer) as guard:
                for group in groups:
                    done += await asyncio.gather(*(guard.submit(*each) for each in group))
        session = await store.load("session:s")
        for outcome in done:
            records = await store.load(outcome.record_id)
            assert session_of(records, 0) == "session:s"
            step = recorded_step(records, POLICY, 0, session=session)
            assert step.request.context.task == words
            decision = explain_step(POLICY, step).decision
            assert (decision.verdict.value, decision.matched_rules) == (outcome.verdict, outcome.matched_rules)

    asyncio.run(main())


def test_the_command_reads_the_session_or_says_that_it_is_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(TEXT)

    async def main() -> list[str]:
        store = SQLiteStore(tmp_path / "guard.db")
        try:
            async with Guard(POLICY, TOOLS, store=store, session="s") as guard:
                done = [await guard.submit("pay", {"amount": 2}) for _ in range(2)]
            records = await store.load(done[1].record_id)
            with pytest.raises(AuditError, match="0 of them are there") as failed:
                recorded_step(records, POLICY, 0)
            assert failed.value.code == "incomplete"
            return [each.record_id for each in done]
        finally:
            await store.aclose()

    bobcat = runner(capsys, monkeypatch)
    options = [str(policy), "--store", f"sqlite:///{tmp_path / 'guard.db'}", "--step", "0", "--format", "json"]
    found = [bobcat("explain", *options, "--run", each).json()["decision"] for each in asyncio.run(main())]
    assert [each["verdict"] for each in found] == ["allow", "approve_required"]
