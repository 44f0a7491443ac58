"""Every tool call passes the policy: tool lists, argument rules, transforms, previews, approvals, the log."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bobcat.decision_log import open_log
from mcp_proxy.raw_client import ADAPTERS, HERE, RawClient, proxied, python, text

SERVER = python(ADAPTERS / "sdk_server.py")
POLICY = """
rules:
  - {id: add, match: {tool: add, args.a.between: [0, 10]}, decision: allow}
  - id: wide
    match: {tool: add, args.a.between: [11, 20]}
    decision: transform
    transform: {jsonpath: $.args.a, set: 10}
  - {id: fail, match: {tool: fail}, decision: allow}
  - {id: lines, match: {tool: lines}, decision: approve_required, approvers: [ann]}
  - {id: tag, match: {tool: notes.tag}, decision: dry_run}
  - {id: picture, match: {tool: picture, context.principal.id: bob}, decision: allow}
  - {id: rest, match: {}, decision: deny, reason: not for agents}
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return path


def statuses(log: Path) -> list[tuple[str, str]]:
    found = open_log(log)
    try:
        return [(record.body["tool"], record.status) for record in found.records()]
    finally:
        found.close()


def elicited(client: RawClient, **answer: Any) -> dict[str, Any]:
    """Call `lines`, answer the question to the user; return the result."""
    id = client.begin("tools/call", {"name": "lines", "arguments": {"count": 2}})
    question = client.message()
    assert question["method"] == "elicitation/create"
    assert "`lines`" in question["params"]["message"]
    assert "count: 2" in question["params"]["message"]
    client.send(id=question["id"], result=answer)
    found: dict[str, Any] = client.answer(id)["result"]
    return found


def test_a_client_sees_the_tools_that_its_principal_could_call(policy: Path) -> None:
    with RawClient(proxied(policy, SERVER)) as client:
        client.initialize()
        assert client.tools() == ["add", "notes.tag", "fail", "lines"]
    with RawClient(proxied(policy, SERVER, "--principal", "user:bob")) as client:
        client.initialize()
        assert client.tools() == ["add", "notes.tag", "fail", "lines", "picture"]


def test_each_verdict_has_its_result_and_each_call_its_record(policy: Path, tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"
    with RawClient(proxied(policy, SERVER, "--log", str(log))) as client:
        client.initialize()
        allowed = client.call("add", a=1, b=2)
        assert (text(allowed), allowed["structuredContent"], allowed["isError"]) == ("3", {"result": 3}, False)
        denied = client.call("add", a=21)
        assert denied["isError"] is True
        assert text(denied) == "[denied] not for agents"
        assert denied["_meta"]["bobcat/outcome"]["matched_rules"] == ["rest"]
        assert text(client.call("add", a=15, b=1)) == "11"
        assert text(client.call("notes.tag", note="n")).startswith("[previewed]")
        failed = client.call("fail", text="oh")
        assert (failed["isError"], text(failed)) == (True, "Error executing tool fail: oh")
        assert text(client.call("picture")) == "[denied] not for agents"
        assert text(client.call("add", a="1")).startswith("[invalid]")
        assert client.call("nothing")["message"] == "Unknown tool: nothing"
        assert text(client.call("lines", count=1)).startswith("[denied]")
    assert statuses(log) == [
        ("add", "ok"),
        ("add", "denied"),
        ("add", "ok"),
        ("notes.tag", "previewed"),
        ("fail", "failed"),
        ("picture", "denied"),
        ("add", "invalid"),
        ("nothing", "unknown"),
        ("lines", "denied"),
    ]


@pytest.mark.parametrize(
    "answer, granted",
    [
        ({"action": "accept", "content": {"approve": True}}, True),
        ({"action": "accept", "content": {"approve": False}}, False),
        ({"action": "accept", "content": {"approve": "true"}}, False),
        ({"action": "accept", "content": {}}, False),
        ({"action": "accept"}, False),
        ({"action": "decline", "content": {"approve": True}}, False),
        ({"action": "cancel"}, False),
        ({}, False),
    ],
)
def test_an_approval_is_asked_by_elicitation(policy: Path, answer: dict[str, Any], granted: bool) -> None:
    with RawClient(proxied(policy, SERVER, "--approver", "ann")) as client:
        client.initialize(elicitation={"form": {}})
        found = elicited(client, **answer)
        assert found["isError"] is not granted
        assert (text(found) == "line 0\nline 1") is granted


def test_an_approver_whom_the_rule_does_not_name_grants_nothing(policy: Path) -> None:
    with RawClient(proxied(policy, SERVER, "--principal", "user:bob")) as client:
        client.initialize(elicitation={})
        assert elicited(client, action="accept", content={"approve": True})["isError"] is True


def test_a_client_that_takes_urls_only_is_not_asked(policy: Path) -> None:
    with RawClient(proxied(policy, SERVER, "--approver", "ann")) as client:
        client.initialize(elicitation={"url": {}})
        assert text(client.call("lines", count=2)) == "[denied] approval refused by system — no approval is possible"


def test_a_withdrawn_question_is_cancelled_and_nothing_runs(policy: Path, tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"
    with RawClient(proxied(policy, SERVER, "--approver", "ann", "--log", str(log))) as client:
        client.initialize(elicitation={})
        id = client.begin("tools/call", {"name": "lines", "arguments": {"count": 2}})
        question = client.message()
        client.send(method="notifications/cancelled", params={"requestId": id})
        withdrawn = client.message()
        assert withdrawn["method"] == "notifications/cancelled"
        assert withdrawn["params"]["requestId"] == question["id"]
        client.send(id=question["id"], result={"action": "accept", "content": {"approve": True}})
        assert text(client.call("add", a=1)) == "3"
    assert statuses(log) == [("lines", "denied"), ("add", "ok")]


def test_an_approval_waits_in_a_durable_store_over_a_restart(policy: Path, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'store.db'}"
    command = proxied(policy, SERVER, "--store", store)
    with RawClient(command) as client:
        client.initialize()
        waiting = client.call("lines", count=2)
        assert waiting["isError"] is True
        about = waiting["_meta"]["bobcat/outcome"]
        assert about["status"] == "waiting"
        assert about["approvals"][0] in text(waiting)
        again = client.call("lines", count=2)["_meta"]["bobcat/outcome"]
        assert again["approvals"] == about["approvals"]
    bobcat = [sys.executable, "-m", "bobcat", "approvals", "grant", about["approvals"][0], "--store", store]
    done = subprocess.run([*bobcat, "--approver", "ann"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with RawClient(command) as client:
        client.initialize()
        assert text(client.call("lines", count=2)) == "line 0\nline 1"
        assert client.call("lines", count=2)["_meta"]["bobcat/outcome"]["approvals"] != about["approvals"]


def test_defaults_of_the_schema_are_decided_on_and_sent(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("rules: [{id: two, match: {tool: add, args.b: 2}, decision: allow}]")
    with RawClient(proxied(policy, SERVER)) as client:
        client.initialize()
        assert text(client.call("add", a=1)) == "3"
        assert client.call("add", a=1, b=3)["isError"] is True


def test_rules_read_the_server_and_the_environment(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "rules:\n"
        "  - {id: own, match: {tool: add, context.extra.server: default, context.environment: prod}, decision: allow}\n"
        "defaults: {on_missing_shadow: deny}"
    )
    with RawClient(proxied(policy, SERVER, "--environment", "prod")) as client:
        client.initialize()
        assert text(client.call("add", a=1)) == "3"
    with RawClient(proxied(policy, SERVER)) as client:
        client.initialize()
        assert client.tools() == []
        assert client.call("add", a=1)["isError"] is True


@pytest.mark.parametrize(
    "params",
    [
        '{"name": "add", "arguments": {"a": 1, "a": 100}}',
        '{"name": "add", "name": "die", "arguments": {"a": 1}}',
        '{"name": 3, "arguments": {}}',
        '{"name": "add", "arguments": [1]}',
        '{"name": "add", "arguments": {"a": NaN}}',
        '["add"]',
    ],
)
def test_a_call_that_can_be_read_in_two_ways_is_not_sent(policy: Path, tmp_path: Path, params: str) -> None:
    with RawClient(proxied(policy, SERVER)) as client:
        client.initialize()
        client.send_text(f'{{"jsonrpc": "2.0", "id": "odd", "method": "tools/call", "params": {params}}}')
        found = client.message()
        assert found["error"]["code"] in (-32600, -32602)
        assert text(client.call("add", a=1)) == "3"


def test_a_method_that_is_written_twice_is_one_method(policy: Path) -> None:
    with RawClient(proxied(policy, SERVER)) as client:
        client.initialize()
        params = json.dumps({"name": "picture", "arguments": {}})
        client.send_text(f'{{"id": 7, "jsonrpc": "2.0", "method": "tools/call", "method": "ping", "params": {params}}}')
        assert client.answer(7)["result"] == {}
        client.send_text(f'{{"id": 8, "jsonrpc": "2.0", "method": "ping", "method": "tools/call", "params": {params}}}')
        assert client.answer(8)["result"]["isError"] is True


@pytest.mark.parametrize("id", ['"id": null, ', ""])
def test_a_call_without_an_id_is_dropped(tmp_path: Path, id: str) -> None:
    policy, calls = tmp_path / "policy.yaml", tmp_path / "calls"
    policy.write_text("rules: [{id: all, match: {}, decision: allow}]")
    server = python(HERE / "raw_server.py", "anonymous")
    with RawClient(proxied(policy, server), env={**os.environ, "CALLS": str(calls)}) as client:
        client.initialize()
        client.send_text(f'{{"jsonrpc": "2.0", {id}"method": "tools/call", "params": {{"name": "odd"}}}}')
        assert client.request("echo", {"n": 1})["result"] == {"n": 1}
        assert "without an id" in client.stderr_with("without an id")
    assert not calls.exists()


def test_a_log_that_cannot_be_opened_ends_the_proxy(policy: Path) -> None:
    with RawClient(proxied(policy, SERVER, "--log", str(policy / "calls.jsonl"))) as client:
        assert client.wait() == 3
        assert "cannot use" in client.stderr()
        assert "Traceback" not in client.stderr()
