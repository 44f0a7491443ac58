"""Several servers behind one proxy: one list with prefixes, and each message to its server."""

from __future__ import annotations

import json
import os
import shlex
import time
from pathlib import Path

import pytest

from mcp_proxy.raw_client import ADAPTERS, ALL, HELLO, HERE, PROXY, RawClient, python, text

RAW = shlex.join(python(HERE / "raw_server.py"))
EVERYTHING = shlex.join(python(HERE / "everything_server.py", "stdio"))
PAGED = shlex.join(python(ADAPTERS / "hostile_server.py", "plain"))
TWO = ["--server", f"raw={RAW}", "--server", f"every={EVERYTHING}"]


def several(policy: Path, *options: str) -> list[str]:
    return [*PROXY, "--policy", str(policy), *options]


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(ALL)
    return path


def test_lists_are_joined_and_requests_find_their_server(policy: Path) -> None:
    with RawClient(several(policy, *TWO)) as client:
        hello = client.initialize()
        assert hello["serverInfo"]["name"] == "bobcat"
        assert {"tools", "prompts", "resources", "completions", "experimental"} <= hello["capabilities"].keys()
        assert "raw__odd" in client.tools()
        assert "every__measure" in client.tools()
        assert client.call("raw__odd")["unknown"]["deep"][0] is None
        assert text(client.call("every__test_simple_text")).startswith("This is a simple text")
        for name in ("odd", "measure", "raw__measure", "every__odd", "every__every__measure", "__odd", ""):
            assert client.call(name)["message"] == f"Unknown tool: {name}"
        prompts = [prompt["name"] for prompt in client.request("prompts/list")["result"]["prompts"]]
        assert prompts[0] == "every__test_simple_prompt"
        found = client.request("prompts/get", {"name": prompts[0]})["result"]
        assert found["messages"][0]["content"]["text"] == "This is a simple prompt for testing."
        assert "error" in client.request("prompts/get", {"name": "test_simple_prompt"})
        uris = [each["uri"] for each in client.request("resources/list")["result"]["resources"]]
        assert client.request("resources/read", {"uri": uris[0]})["result"]["contents"][0]["uri"] == uris[0]
        template = client.request("resources/read", {"uri": "test://template/7/data"})
        assert template["result"]["contents"][0]["uri"] == "test://template/7/data"
        assert "error" in client.request("resources/read", {"uri": "test://none"})
        assert "error" in client.request("resources/read", {"uri": 5})
        ref = {"type": "ref/prompt", "name": "every__test_prompt_with_arguments"}
        found = client.request("completion/complete", {"ref": ref, "argument": {"name": "arg1", "value": "p"}})
        assert found["result"]["completion"]["values"] == ["paris", "park"]
        assert "error" in client.request("completion/complete", {"ref": 1})
        assert client.request("ping")["result"] == {}
        assert client.request("logging/setLevel", {"level": "info"})["result"] == {}
        assert client.request("echo", {})["error"]["code"] == -32601


def test_requests_of_two_servers_with_the_same_id_are_kept_apart(policy: Path) -> None:
    with RawClient(several(policy, "--server", f"a={EVERYTHING}", "--server", f"b={EVERYTHING}")) as client:
        client.initialize(sampling={})
        params = {"arguments": {"prompt": "x"}}
        ids = {name: client.begin("tools/call", {"name": f"{name}__test_sampling", **params}) for name in "ab"}
        questions = [client.message(), client.message()]
        assert len({each["id"] for each in questions}) == 2
        for each in questions:
            content = {"type": "text", "text": each["id"].partition(":")[0]}
            client.send(id=each["id"], result={"role": "assistant", "content": content, "model": "m"})
        answers = {each["id"]: each for each in (client.message(), client.message())}
        for name, id in ids.items():
            assert text(answers[id]["result"]) == f"LLM response: {name}"


def test_progress_and_cancellation_find_their_call(policy: Path, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    with RawClient(several(policy, *TWO), env={**os.environ, "CALLS": str(calls)}) as client:
        client.initialize()
        params = {"name": "every__test_tool_with_progress", "arguments": {}, "_meta": {"progressToken": "mine"}}
        client.request("tools/call", params)
        assert [each["params"]["progressToken"] for each in client.others] == ["mine"] * 3
        id = client.begin("tools/call", {"name": "raw__odd", "arguments": {"do": "hang"}})
        while not calls.exists():
            time.sleep(0.05)
        client.send(method="notifications/cancelled", params={"requestId": id})
        assert client.answer(id)["result"]["content"][0]["text"] == "cancelled"


def test_the_end_of_one_server_leaves_the_others(policy: Path) -> None:
    with RawClient(several(policy, *TWO)) as client:
        client.initialize()
        assert "ended with exit code 7" in client.call("raw__odd", do="die")["message"]
        assert "ended with exit code 7" in text(client.call("raw__odd"))
        assert "raw__odd" not in client.tools()
        assert client.call("every__measure")["structuredContent"]["value"] == 1.5


def test_all_pages_of_all_servers_are_listed(policy: Path) -> None:
    with RawClient(several(policy, "--server", f"p={PAGED}", "--server", f"q={PAGED}")) as client:
        client.initialize()
        assert client.tools() == [f"{name}__tool{n}" for name in "pq" for n in range(3)]


def test_rules_pins_and_log_have_the_prefixed_names(policy: Path, tmp_path: Path) -> None:
    policy.write_text(
        "rules: [{id: one, match: {tool.glob: 'raw__*'}, decision: allow}]\ndefaults: {on_missing_shadow: deny}"
    )
    log, pins = tmp_path / "calls.jsonl", tmp_path / "pins.json"
    with RawClient(several(policy, *TWO, "--log", str(log), "--pins", str(pins), "--pin-new")) as client:
        client.initialize()
        assert client.tools() == ["raw__odd"]
        client.call("raw__odd")
        client.call("every__measure")
    assert [json.loads(line)["body"]["tool"] for line in log.read_text().splitlines() if '"tool"' in line] == [
        "raw__odd",
        "every__measure",
    ]
    assert set(json.loads(pins.read_text())["servers"]) == {"raw", "every"}


def test_a_server_that_cannot_be_started_ends_the_others(policy: Path) -> None:
    with RawClient(several(policy, "--server", f"raw={RAW}", "--server", "bad=/nonexistent")) as client:
        assert client.wait() == 3
        assert "the server `bad` cannot be started" in client.stderr()


def test_one_server_with_a_name_has_a_prefix_too(policy: Path) -> None:
    with RawClient(several(policy, "--server", f"raw={RAW}")) as client:
        assert client.request("initialize", HELLO)["result"]["serverInfo"]["name"] == "bobcat"
        assert client.tools() == ["raw__odd"]
