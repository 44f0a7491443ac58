"""Servers that misbehave, crash or do not end: clear errors, no hang, no process left behind."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from mcp_proxy.raw_client import ADAPTERS, ALL, HERE, RawClient, alive, proxied, python, text

RAW = python(HERE / "raw_server.py")


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "all.yaml"
    path.write_text(ALL)
    return path


def child_of(pid: int) -> int:
    """The process that a proxy has started."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if found:
            return int(found[0])
        time.sleep(0.05)
    raise AssertionError("no child")


def test_the_end_of_the_input_ends_the_proxy_and_its_server(policy: Path) -> None:
    with RawClient(proxied(policy, RAW)) as client:
        client.initialize()
        server = child_of(client.process.pid)
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.wait() == 0
        assert not alive(server)
        assert client.stderr() == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_proxy_and_a_server_that_ignores_it(policy: Path, number: signal.Signals) -> None:
    with RawClient(proxied(policy, [*RAW, "stubborn"])) as client:
        client.initialize()
        client.begin("tools/call", {"name": "odd", "arguments": {"do": "hang"}})
        server = child_of(client.process.pid)
        client.process.send_signal(number)
        assert client.wait() == 0
        assert not alive(server)


def test_a_crash_of_the_server_answers_what_is_open_and_ends_the_proxy(policy: Path, tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"
    with RawClient(proxied(policy, RAW, "--log", str(log))) as client:
        client.initialize()
        hanging = client.begin("tools/call", {"name": "odd", "arguments": {"do": "hang"}})
        other = client.begin("tools/call", {"name": "odd", "arguments": {"do": "die"}})
        found = {(each := client.message())["id"]: each for _ in range(2)}
        for id in (hanging, other):
            assert found[id]["error"]["message"] == "the server `default` ended with exit code 7"
        assert client.wait() == 1
        assert "ended with exit code 7" in client.stderr()
        assert "Traceback" not in client.stderr()
    outcomes = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(outcomes) == 4


@pytest.mark.parametrize(
    "command, problem",
    [
        (["/nonexistent/server"], "no such file"),
        (["/"], "permission denied"),
        ([sys.executable, "-c", "raise SystemExit(9)"], "exit code 9"),
    ],
)
def test_a_server_that_cannot_be_started_is_an_error(policy: Path, command: list[str], problem: str) -> None:
    with RawClient(proxied(policy, command)) as client:
        assert client.wait() in (1, 3)
        assert problem in client.stderr()
        assert "Traceback" not in client.stderr()


def test_noise_of_the_server_is_left_out_and_named(policy: Path) -> None:
    with RawClient(proxied(policy, RAW)) as client:
        client.initialize()
        found = client.call("odd", do="noise")
        assert found["content"][0]["type"] == "text"
        assert [each["method"] for each in client.others] == ["notifications/unknown"]
        assert client.call("odd", do="twice")["content"][0]["type"] == "text"
        assert client.request("echo", {"n": 0})["result"] == {"n": 0}
        assert client.request("echo", {"n": 1})["result"] == {"n": 1}
        unreadable, unasked = "sent a line that is not a message", "answered a request that is not open"
        errors = client.stderr_with(*[unreadable] * 3, *[unasked] * 2)
    assert errors.count(unreadable) == 3
    assert errors.count(unasked) == 2


def test_tools_that_can_be_read_in_two_ways_are_hidden(policy: Path) -> None:
    with RawClient(proxied(policy, [*RAW, "twins"])) as client:
        client.initialize()
        assert client.tools() == ["odd"]
        for name in ("other", "bad\u202ename"):
            assert "Unknown tool" in client.call(name)["message"]
        assert "\u202e" not in client.stderr()


def test_a_list_without_end_is_an_error_of_the_call(policy: Path) -> None:
    with RawClient(proxied(policy, python(ADAPTERS / "hostile_server.py", "endless"))) as client:
        client.initialize()
        assert "more than 100 pages" in text(client.call("tool0"))


def test_a_server_without_tools_has_none_to_call(policy: Path) -> None:
    with RawClient(proxied(policy, python(ADAPTERS / "hostile_server.py", "toolless"))) as client:
        client.initialize()
        assert client.request("tools/list")["error"]["code"] == -32601
        assert client.call("tool0")["message"] == "Unknown tool: tool0"


@pytest.mark.parametrize(
    "line, code",
    [
        ("not json", -32700),
        ('{"jsonrpc": "2.0", "id": 5', -32600),
        ("[]", -32600),
        ("{}", -32600),
        ('{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600),
        ('{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', -32600),
        ('{"jsonrpc": "2.0", "id": 1, "method": 5}', -32600),
        ('{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ' + "[" * 9000 + "]" * 9000 + "}", -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"a": "\xff"}}', -32600),
    ],
)
def test_lines_of_the_client_that_are_no_messages_are_errors(policy: Path, line: str | bytes, code: int) -> None:
    with RawClient(proxied(policy, RAW)) as client:
        client.send_text(line)
        found = client.message()
        assert (found["id"], found["error"]["code"]) == (None, code)
        client.send_text("")
        client.initialize()
        client.send(id="unasked", result={})
        client.send(method="notifications/cancelled", params={"requestId": {"a": 1}})
        client.send(method="notifications/cancelled", params=[1])
        client.send(method="tools/call", params={"name": "odd"})
        assert client.request("echo", {"n": 1})["result"] == {"n": 1}
        assert "Traceback" not in client.stderr()


def test_a_long_line_is_one_message(policy: Path) -> None:
    long = "x" * 3_000_000
    with RawClient(proxied(policy, RAW)) as client:
        client.initialize()
        assert client.request("echo", {"long": long})["result"] == {"long": long}


def test_input_from_a_file_is_answered(policy: Path, tmp_path: Path) -> None:
    requests = tmp_path / "requests"
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "f", "version": "1"}}
    requests.write_text(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}) + "\n")
    answers = tmp_path / "answers"
    command = " ".join(f"'{word}'" for word in proxied(policy, RAW))
    assert os.waitstatus_to_exitcode(os.system(f"{command} < '{requests}' > '{answers}'")) == 0
    assert json.loads(answers.read_text())["result"]["serverInfo"]["name"] == "raw"
