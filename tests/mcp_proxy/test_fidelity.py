"""With a policy that allows all, a client gets through the proxy what it gets without."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mcp_proxy.raw_client import ADAPTERS, ALL, HELLO, HERE, RawClient, proxied, python

RAW = python(HERE / "raw_server.py")
EVERYTHING = python(HERE / "everything_server.py", "stdio")


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "all.yaml"
    path.write_text(ALL)
    return path


def answers(command: Sequence[str], requests: Sequence[tuple[str, Any]]) -> list[tuple[bytes, bytes]]:
    """The exact bytes of each result or error, and of each message in between."""
    found: list[tuple[bytes, bytes]] = []
    with RawClient(command) as client:
        for number, (method, params) in enumerate([("initialize", HELLO), *requests]):
            client.send(id=number, method=method, **({} if params is None else {"params": params}))
            while True:
                line = client.line()
                assert line, client.stderr()
                message = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
                part = message.get("result", message.get("error", message.get("params", msgspec.Raw(b""))))
                found.append((bytes(message.get("method", b"")), bytes(part)))
                if "method" not in message:
                    break
            if method == "initialize":
                client.send(method="notifications/initialized")
    return found


def test_every_byte_of_a_result_is_kept(policy: Path) -> None:
    requests = [
        ("tools/list", None),
        ("tools/list", {"cursor": "x"}),
        ("tools/call", {"name": "odd", "arguments": {}}),
        ("tools/call", {"name": "odd"}),
        ("tools/call", {"name": "odd", "arguments": {"do": "error"}}),
        (
            "tools/call",
            {"name": "odd", "arguments": {"do": "answer", "n": 12345678901234567890, "u": "\u2028\U0001f600"}},
        ),
        ("unknown/method", {"a": None}),
        ("echo", {"n": 12345678901234567890, "z": None, "u": "\u00e9"}),
    ]
    direct, through = answers(RAW, requests), answers(proxied(policy, RAW), requests)
    assert through == direct


def test_the_server_gets_the_params_of_an_allowed_call_unchanged(policy: Path, tmp_path: Path) -> None:
    params = {"name": "odd", "arguments": {"b": None, "a": [1.0, {"k": 1e2}]}, "_meta": {"x/y": 1}, "unknown": [None]}
    calls = tmp_path / "calls"
    for command in (RAW, proxied(policy, RAW)):
        with RawClient(command, env={"CALLS": str(calls), "PATH": "/usr/bin:/bin"}) as client:
            client.initialize()
            client.request("tools/call", params)
    direct, through = calls.read_text().splitlines()
    assert json.loads(direct) == json.loads(through) == params
    assert direct == through


def test_a_server_of_the_official_sdk_is_the_same_through_the_proxy(policy: Path) -> None:
    tools = [
        "test_simple_text", "test_image_content", "test_audio_content", "test_embedded_resource",
        "test_multiple_content_types", "test_error_handling", "measure",
    ]  # fmt: skip
    requests: list[tuple[str, Any]] = [(f"{kind}/list", {}) for kind in ("tools", "prompts", "resources")]
    requests += [("tools/call", {"name": name, "arguments": {}}) for name in tools]
    requests += [
        ("tools/call", {"name": "test_tool_with_progress", "arguments": {}, "_meta": {"progressToken": "t"}}),
        ("tools/call", {"name": "test_tool_with_logging", "arguments": {}}),
        ("tools/call", {"name": "measure", "arguments": {"kind": "b"}, "_meta": {"progressToken": 5}}),
        ("resources/read", {"uri": "test://static-binary"}),
        ("resources/read", {"uri": "test://nothing"}),
        ("resources/templates/list", {}),
        ("resources/subscribe", {"uri": "test://watched-resource"}),
        ("prompts/get", {"name": "test_prompt_with_arguments", "arguments": {"arg1": "a", "arg2": "b"}}),
        ("completion/complete",
         {"ref": {"type": "ref/prompt", "name": "test_simple_prompt"}, "argument": {"name": "a", "value": "p"}}),
        ("logging/setLevel", {"level": "debug"}),
        ("ping", None),
    ]  # fmt: skip
    direct, through = answers(EVERYTHING, requests), answers(proxied(policy, EVERYTHING), requests)
    assert through == direct


def test_requests_of_the_server_reach_the_client_and_its_answers_the_server(policy: Path) -> None:
    with RawClient(proxied(policy, EVERYTHING)) as client:
        client.initialize(sampling={}, elicitation={})
        id = client.begin("tools/call", {"name": "test_sampling", "arguments": {"prompt": "hello"}})
        question = client.message()
        assert question["method"] == "sampling/createMessage"
        content = {"type": "text", "text": "hey"}
        client.send(id=question["id"], result={"role": "assistant", "content": content, "model": "m"})
        assert "LLM response: hey" in json.dumps(client.answer(id))
        id = client.begin("tools/call", {"name": "test_elicitation", "arguments": {"message": "who?"}})
        question = client.message()
        assert question["method"] == "elicitation/create"
        client.send(id=question["id"], result={"action": "decline"})
        assert "action=decline" in json.dumps(client.answer(id))


def test_a_cancelled_call_is_cancelled_at_the_server(policy: Path) -> None:
    with RawClient(proxied(policy, RAW)) as client:
        client.initialize()
        id = client.begin("tools/call", {"name": "odd", "arguments": {"do": "hang"}})
        assert client.request("echo", {"n": 1})["result"] == {"n": 1}
        client.send(method="notifications/cancelled", params={"requestId": id})
        assert client.answer(id)["result"]["content"][0]["text"] == "cancelled"


def test_calls_run_at_the_same_time(policy: Path) -> None:
    with RawClient(proxied(policy, RAW)) as client:
        client.initialize()
        client.begin("tools/call", {"name": "odd", "arguments": {"do": "hang"}})
        ids = [client.begin("tools/call", {"name": "odd", "arguments": {}}) for _ in range(20)]
        assert sorted(client.message()["id"] for _ in ids) == ids


def test_an_id_that_is_in_use_is_refused(policy: Path) -> None:
    with RawClient(proxied(policy, RAW)) as client:
        client.initialize()
        id = client.begin("tools/call", {"name": "odd", "arguments": {"do": "hang"}})
        client.send(id=id, method="tools/call", params={"name": "odd", "arguments": {}})
        assert client.answer(id)["error"]["message"] == "the id is in use"


def test_a_changed_list_is_noticed_and_listed_again(policy: Path, tmp_path: Path) -> None:
    tools, calls = tmp_path / "tools.json", tmp_path / "calls"
    tools.write_text(json.dumps([{"name": "one", "inputSchema": {"type": "object"}}]))
    with RawClient(proxied(policy, python(ADAPTERS / "changing_server.py", tools, calls))) as client:
        client.initialize()
        assert client.tools() == ["one"]
        tools.write_text(json.dumps([{"name": "two", "inputSchema": {"type": "object", "required": ["n"]}}]))
        assert client.call("two", n=1)["content"][0]["text"] == "sent"
        assert client.tools() == ["two"]
        assert "Unknown tool" in client.call("gone")["message"]
