"""`bobcat replay` on the journals of runs: each call is decided after what its run remembered."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bobcat import FileStore, FinalAnswer, Policy, SQLiteStore, ToolCall, ToolSet, run_agent, tool
from unit.cli_runner import Run, runner

CAPPED = """
rules:
  - {id: capped, match: {tool: pay, run.count.pay.lt: 2, run.sum.pay.amount.with_this.le: 100}, decision: allow}
  - {id: rest, match: {}, decision: deny, priority: -1}
"""
PLAIN = """
rules:
  - {id: small, match: {tool: pay, args.amount.lt: 50}, decision: allow}
  - {id: rest, match: {}, decision: deny, priority: -1}
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    for name, text in (("capped", CAPPED), ("plain", PLAIN)):
        Path(f"{name}.yaml").write_text(text)
    return runner(capsys, monkeypatch)


@tool(cost="low")
async def pay(amount: int, note: str = "") -> str:
    return "paid"


def journaled(store: Any, policy: str, *amounts: int, run_id: str = "r1") -> None:
    """Execute a run that pays these amounts, with its journal in a store."""

    class Agent:
        async def step(self, conversation: Any) -> Any:
            done = sum(message.role == "tool" for message in conversation)
            return ToolCall("pay", {"amount": amounts[done]}) if done < len(amounts) else FinalAnswer("over")

    async def main() -> None:
        tools = ToolSet.from_functions(pay)
        await run_agent(Agent(), "pay", tools=tools, policy=Policy.compile(policy), store=store, run_id=run_id)
        await store.aclose()

    asyncio.run(main())


def changes(done: Any) -> list[tuple[Any, ...]]:
    return [
        (group["old"], group["new"], group["new_rules"], [each["place"] for each in group["examples"]])
        for group in done.json()["groups"]
    ]


def test_a_journal_is_decided_again_with_what_the_run_remembered(run: Run) -> None:
    journaled(SQLiteStore("runs.db"), CAPPED, 20, 30, 5)
    same = run("replay", "sqlite:///runs.db", "--policy", "capped.yaml", "--fail-on", "any", "--format", "json")
    assert (same.code, same.json()["decided"], same.json()["changed"]) == (0, 3, 0)
    Path("three.yaml").write_text(CAPPED.replace("lt: 2", "lt: 3").replace("le: 100", "le: 49"))
    done = run("replay", "sqlite:///runs.db", "--policy", "three.yaml", "--format", "json")
    assert changes(done) == [("allow", "deny", ["rest"], ["r1#1"])]


def test_two_policies_that_remember_are_compared(run: Run) -> None:
    journaled(SQLiteStore("runs.db"), CAPPED, 20, 30, 40)
    Path("three.yaml").write_text(CAPPED.replace("lt: 2", "lt: 3"))
    done = run("replay", "runs.db", "--policy", "three.yaml", "--against", "capped.yaml", "--format", "json")
    assert changes(done) == [("deny", "allow", ["capped"], ["r1#2"])]
    assert done.code == 1


def test_a_journal_without_the_surroundings_decides_what_it_can(run: Run) -> None:
    journaled(SQLiteStore("runs.db"), PLAIN, 20, 70)
    journaled(SQLiteStore("runs.db"), PLAIN, 40, run_id="r2")
    Path("less.yaml").write_text(PLAIN.replace("lt: 50", "lt: 30"))
    done = run("replay", "sqlite:///runs.db", "--policy", "less.yaml", "--format", "json")
    assert changes(done) == [("allow", "deny", ["rest"], ["r2#0"])]
    assert done.json()["decided"] == 3
    codes = run("replay", "runs.db", "--policy", "capped.yaml", "--format", "json").json()["not_decided"]
    assert [(each["code"], each["count"]) for each in codes] == [("incomplete", 3)]


def test_a_default_of_a_transformed_call_is_not_guessed(run: Run) -> None:
    capped = "rules: [{id: cap, match: {tool: pay}, decision: transform, transform: {jsonpath: $.args.amount, set: 5}}]"
    journaled(FileStore("journals"), capped, 20)
    Path("noted.yaml").write_text(PLAIN.replace("args.amount.lt: 50", "args.note.eq: x"))
    options = ("--policy", "noted.yaml", "--format", "json")
    report = run("replay", "file:journals", *options).json()
    assert [(each["code"], each["first"]) for each in report["not_decided"]] == [("missing_field", "r1#0")]
    Path("pay_tools.py").write_text(
        "from bobcat import ToolSet, tool\n\n@tool(cost='low')\nasync def pay(amount: int, note: str = 'x') -> str:\n"
        "    return ''\n\ntools = ToolSet.from_functions(pay)\n"
    )
    done = run("replay", "journals/", *options, "--tools", "pay_tools.py:tools")
    assert changes(done) == [("transform", "allow", ["small"], ["r1#0"])]


def test_a_store_on_a_server_is_read(run: Run, database: str) -> None:
    from bobcat import PostgresStore

    journaled(PostgresStore(database), CAPPED, 20, 30, 5)
    done = run("replay", database, "--policy", "capped.yaml", "--fail-on", "any", "--format", "json")
    assert (done.code, done.json()["decided"]) == (0, 3)
