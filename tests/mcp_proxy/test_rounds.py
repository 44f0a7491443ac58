"""Approvals in the protocol of 2026-07-28: a call is answered by a question, and made again with the answer."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy.raw_client import HERE, RawClient, proxied, python

RAW = python(HERE / "raw_server.py")
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    "x/y": 1,
}
ACCEPT = {"bobcat-approval": {"action": "accept", "content": {"approve": True}}}


class Asking:
    """A client of a proxy whose policy wants an approval of every call."""

    def __init__(self, place: Path) -> None:
        self.calls = place / "calls"
        policy = place / "policy.yaml"
        policy.write_text("rules: [{id: ask, match: {tool: odd}, decision: approve_required, approvers: [ann]}]")
        command = proxied(policy, RAW, "--approver", "ann")
        self.client = RawClient(command, env={**os.environ, "CALLS": str(self.calls)})

    def call(self, args: dict[str, Any], **more: Any) -> dict[str, Any]:
        params = {"name": "odd", "arguments": args, "_meta": META, **more}
        found: dict[str, Any] = self.client.request("tools/call", params)["result"]
        return found

    def sent(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.calls.read_text().splitlines()] if self.calls.exists() else []


@pytest.fixture
def asking(tmp_path: Path) -> Any:
    found = Asking(tmp_path)
    with found.client:
        yield found


def test_a_call_is_made_again_with_the_answer(asking: Asking) -> None:
    question = asking.call({"n": 1})
    assert question["resultType"] == "input_required"
    form = question["inputRequests"]["bobcat-approval"]
    assert form["method"] == "elicitation/create"
    assert "n: 1" in form["params"]["message"]
    assert asking.sent() == []
    found = asking.call({"n": 1}, inputResponses=ACCEPT, requestState=question["requestState"])
    assert found["structuredContent"] == {"b": 1, "a": 2.0}
    assert asking.sent() == [{"name": "odd", "arguments": {"n": 1}, "_meta": META}]


@pytest.mark.parametrize(
    "answer",
    [
        {}, {"bobcat-approval": None}, {"bobcat-approval": {"action": "decline"}}, {"other": ACCEPT["bobcat-approval"]},
        {"bobcat-approval": {"action": "accept", "content": {"approve": 1}}}, None, [],
    ],
)  # fmt: skip
def test_another_answer_is_a_refusal(asking: Asking, answer: Any) -> None:
    question = asking.call({"n": 1})
    found = asking.call({"n": 1}, inputResponses=answer, requestState=question["requestState"])
    assert (found["isError"], found["resultType"]) == (True, "complete")
    assert asking.sent() == []


def test_a_state_is_for_one_call_once(asking: Asking) -> None:
    state = asking.call({"n": 1})["requestState"]
    assert asking.call({"n": 2}, inputResponses=ACCEPT, requestState=state)["resultType"] == "input_required"
    assert "content" in asking.call({"n": 1}, inputResponses=ACCEPT, requestState=state)
    assert asking.call({"n": 1}, inputResponses=ACCEPT, requestState=state)["resultType"] == "input_required"
    assert len(asking.sent()) == 1


def test_a_forged_state_asks_again(asking: Asking) -> None:
    state = asking.call({"n": 1})["requestState"]
    data, _, signature = state.rpartition(".")
    body = {**json.loads(base64.urlsafe_b64decode(data)), "until": 9e99}
    forged = base64.urlsafe_b64encode(json.dumps(body).encode()).decode()
    for each in (f"{forged}.{signature}", f"{data}.", ".", "", "x.é", data, 5, None, {"a": 1}):
        assert asking.call({"n": 1}, inputResponses=ACCEPT, requestState=each)["resultType"] == "input_required"
    assert asking.sent() == []


def test_what_the_server_has_asked_for_is_carried(asking: Asking) -> None:
    own = {"inputResponses": {"name": {"action": "accept", "content": {"n": 1}}}, "requestState": "server's own"}
    question = asking.call({"n": 1}, **own)
    assert question["resultType"] == "input_required"
    asking.call({"n": 1}, inputResponses=ACCEPT, requestState=question["requestState"])
    assert asking.sent() == [{"name": "odd", "arguments": {"n": 1}, "_meta": META, **own}]


def test_a_client_without_forms_is_not_asked(asking: Asking) -> None:
    meta = {**META, "io.modelcontextprotocol/clientCapabilities": {}}
    assert asking.call({"n": 1}, _meta=meta)["isError"] is True
