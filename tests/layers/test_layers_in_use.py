"""Policies of layers behind a server, a proxy, a decision log, a replay, and in runs that remember."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from bobcat import FinalAnswer, Guard, Policy, SQLiteStore, ToolCall, ToolSet, run_agent, tool
from bobcat.decision_log import open_log
from bobcat.distribution import ReloadingPolicy
from bobcat.server import create_app
from mcp_proxy.raw_client import ADAPTERS, RawClient, proxied, python, text
from unit.cli_runner import Run, runner

OPEN = "defaults: {on_no_match: allow, on_missing_shadow: allow}\n"
ORG = Policy.compile(
    f"{OPEN}rules: [{{id: cap, match: {{tool: pay, args.amount.gt: 100}}, decision: deny, reason: cap}}]"
)
TEAM = Policy.compile("""
rules:
  - {id: pay, match: {tool: pay}, decision: allow}
  - {id: add, match: {tool: add}, decision: allow}
""")
POLICY = Policy.layered({"org": ORG, "team": TEAM})


@tool
async def pay(amount: int) -> int:
    """Pay."""
    return amount


@tool
async def sell(amount: int) -> int:
    """Sell."""
    return amount


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    POLICY.save("policy.bobcat")
    return runner(capsys, monkeypatch)


def test_a_server_names_the_layers(tmp_path: Path) -> None:
    POLICY.save(tmp_path / "policy.bundle")
    client = TestClient(create_app(ReloadingPolicy(tmp_path / "policy.bundle", trust=None, every=0)))
    decided = [
        client.post("/v1/decide", json={"tool": name, "args": {"amount": amount}}).json()
        for name, amount in (("pay", 5), ("pay", 500), ("sell", 1))
    ]
    assert [(each["verdict"], each["matched_rules"]) for each in decided] == [
        ("allow", ["team:pay"]),
        ("deny", ["org:cap"]),
        ("approve_required", ["team:<default:on_missing_shadow>"]),
    ]
    assert {each["bundle"] for each in decided} == {POLICY.id}


def test_a_proxy_shows_and_calls_what_all_layers_permit(tmp_path: Path) -> None:
    POLICY.save(tmp_path / "policy.bobcat")
    task = tmp_path / "task.yaml"
    task.write_text(
        "defaults: {on_missing_shadow: deny}\nrules: [{id: small, match: {tool: add, args.a.lt: 3}, decision: allow}]"
    )
    server = python(ADAPTERS / "sdk_server.py")
    with RawClient(proxied(tmp_path / "policy.bobcat", server, "--narrow-with", str(task))) as client:
        client.initialize()
        assert client.tools() == ["add"]
        assert text(client.call("add", a=1, b=2)) == "3"
        assert client.call("add", a=5, b=2)["_meta"]["bobcat/outcome"]["matched_rules"] == [
            "run:<default:on_missing_shadow>"
        ]


def logged(path: str) -> None:
    with Guard(POLICY, [pay, sell], log=path) as guard:
        for name, amount in (("pay", 5), ("pay", 500), ("sell", 1), ("sell", 2)):
            guard.submit_sync(name, {"amount": amount})


def test_a_decision_log_holds_the_names_with_their_layers(run: Run) -> None:
    logged("log.db")
    with open_log("log.db") as log:
        rules = [record.body["matched_rules"] for record in log.records()]
    assert [list(each) for each in rules] == [
        ["team:pay"], ["org:cap"], ["team:<default:on_no_match>"], ["team:<default:on_no_match>"]
    ]  # fmt: skip
    assert "org:cap" in run("log", "log.db").out


def test_replay_and_usage_of_a_log_of_layers(run: Run) -> None:
    logged("log.db")
    done = run("replay", "log.db", "--policy", "policy.bobcat", "--format", "json")
    assert (done.code, done.json()["changed"], done.json()["not_decided"]) == (0, 0, [])
    usage = run("usage", "log.db", "--policy", "policy.bobcat", "--format", "json").json()
    assert usage["never_fired"] == ["team:add"]
    assert {"rule": "team:<default:on_no_match>", "count": 2} in usage["hottest"]


@pytest.mark.parametrize(("shown", "verdict"), [("on_no_match", "deny"), ("on_missing_shadow", "approve_required")])
def test_a_recorded_default_shows_the_declaration_that_the_record_lacks(run: Run, shown: str, verdict: str) -> None:
    with open_log("bare.jsonl") as log:
        body = {"tool": "sell", "args": {}, "verdict": verdict, "matched_rules": [f"team:<default:{shown}>"]}
        log.append("r1", "decision", body)
    done = run("replay", "bare.jsonl", "--policy", "policy.bobcat", "--format", "json").json()
    assert (done["decided"], done["changed"], done["not_decided"]) == (1, 0, [])


def test_a_default_below_a_permission_needs_the_declaration(run: Run) -> None:
    narrow = POLICY.narrow_with(Policy.compile("rules: []"))
    narrow.save("narrow.bobcat")
    line = {"input": {"tool": "pay", "args": {"amount": 1}}, "result": {"verdict": "allow", "matched_rules": ["x"]}}
    Path("opa.jsonl").write_text(json.dumps(line) + "\n")
    done = run("replay", "opa.jsonl", "--policy", "narrow.bobcat", "--format", "json").json()
    assert [(each["code"], each["count"]) for each in done["not_decided"]] == [("no_declaration", 1)]
    done = run("replay", "opa.jsonl", "--policy", "policy.bobcat", "--format", "json").json()
    assert (done["decided"], done["not_decided"]) == (1, [])


LIMITED = Policy.layered(
    {
        "org": Policy.compile(f"{OPEN}rules: [{{id: twice, match: {{run.count.pay.ge: 2}}, decision: deny}}]"),
        "team": Policy.compile(
            "rules: [{id: pay, match: {tool: pay, run.sum.pay.amount.with_this.le: 50}, decision: allow}]"
        ),
    }
)


class Paying:
    def __init__(self, amounts: list[int]) -> None:
        self.amounts = amounts

    async def step(self, conversation: Any) -> Any:
        done = sum(message.role == "tool" for message in conversation)
        return ToolCall("pay", {"amount": self.amounts[done]}) if done < len(self.amounts) else FinalAnswer("over")


def decided(amounts: list[int], store: SQLiteStore, run_id: str) -> list[tuple[str, tuple[str, ...]]]:
    seen: list[tuple[str, tuple[str, ...]]] = []

    async def sink(event: Any) -> None:
        if event.kind == "policy.evaluated":
            seen.append((event.body["verdict"], tuple(event.body["matched_rules"])))

    async def main() -> None:
        await run_agent(
            Paying(amounts), "pay", tools=ToolSet.from_functions(pay), policy=LIMITED, sinks=[sink], store=store,
            run_id=run_id,
        )  # fmt: skip

    asyncio.run(main())
    return seen


def test_each_layer_remembers_the_calls_of_a_run_and_a_journal_is_decided_again(run: Run, tmp_path: Path) -> None:
    LIMITED.save("limited.bobcat")
    store = SQLiteStore(str(tmp_path / "runs.db"))
    assert decided([40, 20, 10, 1], store, "one") == [
        ("allow", ("team:pay",)),
        ("deny", ("team:<default:on_no_match>",)),
        ("allow", ("team:pay",)),
        ("deny", ("org:twice",)),
    ]
    shown = run(
        "explain", "limited.bobcat", "--run", "one", "--step", "3", "--store", "sqlite:///runs.db", "--format", "json"
    )
    assert (shown.code, shown.json()["decision"]["matched_rules"]) == (0, ["org:twice"]), shown.err
    again = run("replay", "sqlite:///runs.db", "--policy", "limited.bobcat", "--format", "json").json()
    assert (again["decided"], again["changed"]) == (4, 0)
