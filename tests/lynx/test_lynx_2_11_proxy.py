"""`serve_mcp_proxy` of `bobcat.lynx` as lynx-agent 2.11, with real processes at both ends."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from bobcat.errors import McpServerError
from bobcat.lynx.v2_11 import compile_policy, verify_chain
from bobcat.lynx.v2_11.proxy.mcp_proxy import serve_mcp_proxy
from mcp_proxy.raw_client import ADAPTERS, HELLO, HERE, RawClient, alive, python, text

PROGRAM = Path(__file__).with_name("proxy_program.py")
SERVER = python(ADAPTERS / "sdk_server.py")
RAW = python(HERE / "raw_server.py")


def proxy(path: Path, server: list[str]) -> list[str]:
    return [sys.executable, "-m", "bobcat.lynx", "--version", "2.11", str(PROGRAM), str(path), *server]


def kinds(path: Path) -> list[tuple[str, str]]:
    """The tool and the kind of each event. The chain verifies."""
    assert verify_chain(path).intact
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [(line["body"]["tool"], line["kind"]) for line in lines]


def test_each_verdict_has_its_result_and_its_events(tmp_path: Path) -> None:
    chain = tmp_path / "calls.jsonl"
    with RawClient(proxy(chain, SERVER)) as client:
        client.initialize()
        assert {"add", "notes.tag", "fail", "lines", "picture"} <= {*client.tools()}
        allowed = client.call("add", a=1, b=2)
        assert (text(allowed), allowed["structuredContent"], allowed["isError"]) == ("3", {"result": 3}, False)
        assert text(client.call("add", a=15, b=1)) == "11"
        denied = client.call("add", a=21)
        assert (denied["isError"], text(denied)) == (True, "[lynx denied] denied: not for agents")
        preview = client.call("notes.tag", note="n")
        assert preview["isError"] is False
        assert json.loads(text(preview))["preview"] == {"would_call": "notes.tag", "args": {"note": "n"}}
        failed = client.call("fail", text="oh")
        assert (failed["isError"], text(failed)) == (True, "Error executing tool fail: oh")
        assert client.call("lines", count=1)["isError"] is False
        assert text(client.call("lines", count=2)).startswith("[lynx denied] denied: approval refused by ann")
        assert text(client.call("nothing")) == "[lynx denied] unknown tool: 'nothing'"
    found = kinds(chain)
    assert [kind for tool, kind in found if tool == "add"] == [
        "policy.evaluated", "action.started", "action.completed",
        "policy.evaluated", "action.started", "action.completed",
        "policy.evaluated", "action.started", "action.denied",
    ]  # fmt: skip
    assert [kind for tool, kind in found if tool == "notes.tag"][1:] == ["action.dry_run", "action.dry_run_completed"]
    assert ("fail", "action.failed") in found
    assert found[-2:] == [("nothing", "policy.evaluated"), ("nothing", "action.failed")]


def test_the_chain_of_calls_continues_after_a_restart(tmp_path: Path) -> None:
    chain = tmp_path / "calls.jsonl"
    for _ in range(2):
        with RawClient(proxy(chain, SERVER)) as client:
            client.initialize()
            client.call("add", a=1, b=2)
    assert len(kinds(chain)) == 6


def test_a_client_sees_what_the_server_sent(tmp_path: Path) -> None:
    seen: list[list[Any]] = []
    for command in (RAW, proxy(tmp_path / "calls.jsonl", RAW)):
        with RawClient(command) as client:
            lines = []
            call = {"name": "odd", "arguments": {}}
            requests = (("initialize", HELLO), ("tools/list", {}), ("echo", {"a": 1.5}), ("tools/call", call))
            for method, params in requests:
                client.begin(method, params)
                lines.append(json.loads(client.line()))
            seen.append(lines)
    assert seen[0] == seen[1]


def test_a_denied_call_does_not_reach_the_server(tmp_path: Path) -> None:
    sent = tmp_path / "sent"
    environment = {"CALLS": str(sent), "PATH": "/usr/bin", "HOME": "/"}
    wrapper = ["/usr/bin/env", f"CALLS={sent}", *RAW]
    with RawClient(proxy(tmp_path / "calls.jsonl", wrapper), env=environment) as client:
        client.initialize()
        assert client.call("other")["isError"] is True
        assert client.call("odd", do="answer")["content"]
    assert [json.loads(line)["name"] for line in sent.read_text().splitlines()] == ["odd"]


def test_the_server_gets_few_variables_of_the_environment(tmp_path: Path) -> None:
    sent = tmp_path / "sent"
    with RawClient(proxy(tmp_path / "calls.jsonl", RAW), env={"CALLS": str(sent), "PATH": "/usr/bin"}) as client:
        client.initialize()
        client.call("odd")
    assert not sent.exists()


def test_a_sink_that_cannot_write_is_reported(tmp_path: Path) -> None:
    with RawClient(proxy(Path("/dev/full"), SERVER)) as client:
        client.initialize()
        client.call("add", a=1, b=2)
    assert "[lynx] sink" in client.stderr()
    assert "No space left" in client.stderr()


@pytest.mark.parametrize("params", [{"name": 5}, {"arguments": {}}, {"name": "add", "arguments": [1]}, {}])
def test_a_malformed_call_is_an_error(params: dict[str, Any], tmp_path: Path) -> None:
    with RawClient(proxy(tmp_path / "calls.jsonl", RAW)) as client:
        client.initialize()
        assert client.request("tools/call", params)["error"]["code"] == -32602
    assert kinds(tmp_path / "calls.jsonl") == []


def test_a_server_that_dies_in_a_call_ends_the_proxy_with_its_reason(tmp_path: Path) -> None:
    with RawClient(proxy(tmp_path / "calls.jsonl", RAW)) as client:
        client.initialize()
        found = client.call("odd", do="die")
        assert "ended with exit code 7" in json.dumps(found)
        assert client.wait() == 1
    assert "McpServerError" in client.stderr()
    assert kinds(tmp_path / "calls.jsonl")[-1] == ("odd", "action.failed")


def test_the_end_of_the_proxy_ends_the_server(tmp_path: Path) -> None:
    with RawClient(proxy(tmp_path / "calls.jsonl", SERVER)) as client:
        client.initialize()
        children = Path(f"/proc/{client.process.pid}/task/{client.process.pid}/children").read_text().split()
        assert children
        client.process.send_signal(signal.SIGTERM)
        assert client.wait() == 0
    assert not any(alive(int(pid)) for pid in children)


@pytest.mark.parametrize(
    ("command", "error", "words"),
    [
        ([], ValueError, "command list cannot be empty"),
        ("", ValueError, "command string cannot be empty"),
        ("  ", ValueError, "command string cannot be empty"),
        (["/no/such/program"], McpServerError, "cannot be started"),
        ("/no/such/program --flag", McpServerError, "cannot be started"),
    ],
)
def test_a_command_that_cannot_be_run_is_refused(command: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        asyncio.run(serve_mcp_proxy(command, policy=compile_policy("rules: []")))
