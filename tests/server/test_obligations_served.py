"""A decision server gives obligations to its callers, and counts what monitored rules would change."""

from __future__ import annotations

from pathlib import Path

from starlette.testclient import TestClient

from bobcat import Obligation, Policy
from bobcat.distribution import ReloadingPolicy
from bobcat.server import create_app
from bobcat.server.client import _decision

POLICY = """
rules:
  - {id: pay, match: {tool: pay}, decision: allow, obligations: [{reserve: {fund: main}}, {notify: boss}]}
  - {id: watch, match: {tool: pay, args.amount.gt: 5}, decision: deny, priority: 1, mode: monitor}
"""
EXPECTED = [
    {"name": "reserve", "phase": "before", "value": {"fund": "main"}},
    {"name": "notify", "phase": "after", "value": "boss"},
]


def served(directory: Path) -> TestClient:
    Policy.compile(POLICY).save(directory / "policy.bundle")
    return TestClient(create_app(ReloadingPolicy(directory / "policy.bundle", trust=None, every=0)))


def test_decisions_have_obligations(tmp_path: Path) -> None:
    client = served(tmp_path)
    body = {
        "subject": {"type": "user", "id": "alice"},
        "action": {"name": "pay", "properties": {"amount": 1}},
        "resource": {"type": "account", "id": "a1"},
    }
    answer = client.post("/access/v1/evaluation", json=body).json()
    assert (answer["decision"], answer["context"]["obligations"]) == (True, EXPECTED)
    plain = client.post("/v1/decide", json={"tool": "pay", "args": {"amount": 1}}).json()
    assert plain["obligations"] == EXPECTED
    assert "obligations" not in client.post("/v1/decide", json={"tool": "x"}).json()
    decision = _decision(plain)
    assert decision.obligations == (
        Obligation("reserve", {"fund": "main"}, "before"),
        Obligation("notify", "boss", "after"),
    )


def test_monitored_rules_are_counted(tmp_path: Path) -> None:
    client = served(tmp_path)
    for amount in (1, 7, 9):
        assert client.post("/v1/decide", json={"tool": "pay", "args": {"amount": amount}}).json()["verdict"] == "allow"
    client.post("/v1/decide-many", content='{"tool": "pay", "args": {"amount": 8}}\n')
    found = client.get("/v1/policy").json()["monitored"]
    assert (found["decided"], found["diverged"]) == (4, {"tightened": 3})
    assert [(group["old_rules"], group["new_rules"]) for group in found["groups"]] == [(["pay"], ["watch"])]
    Policy.compile("rules: []").save(tmp_path / "plain.bundle")
    plain = TestClient(create_app(ReloadingPolicy(tmp_path / "plain.bundle", trust=None, every=0)))
    assert "monitored" not in plain.get("/v1/policy").json()
