"""`bobcat serve` as a process: sockets, the client, reloads, the drain."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bobcat import Policy, Request
from bobcat.server import DecisionClient

ALLOW = "rules: [{id: read, match: {tool: read}, decision: allow}]"
DENY = "rules: [{id: read, match: {tool: read}, decision: deny, reason: changed}]"
TOKEN = "a-token-of-some-length"


@contextlib.contextmanager
def server(folder: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "bobcat", "serve", "policy.bundle", "--reload-seconds", "0.1", *options]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def answers(client: DecisionClient, verdict: str) -> bool:
    for _ in range(300):
        if client.evaluate(Request("read")).verdict == verdict:
            return True
        time.sleep(0.05)
    return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def allowed(client: DecisionClient) -> bool:
    return answers(client, "allow")


def test_a_unix_socket_is_private_and_reloads(tmp_path: Path) -> None:
    Policy.compile(ALLOW).save(tmp_path / "policy.bundle")
    with server(tmp_path, "--uds", "socket") as process, DecisionClient(f"unix:{tmp_path}/socket") as client:
        assert allowed(client)
        assert stat.S_IMODE(os.stat(tmp_path / "socket").st_mode) == 0o600
        Policy.compile(DENY).save(tmp_path / "policy.bundle")
        assert answers(client, "deny")
        assert client.evaluate(Request("read")).reason == "changed"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert not (tmp_path / "socket").exists()
        gone = client.evaluate(Request("read"))
    assert (gone.verdict, gone.matched_rules) == ("deny", ("<default:decision_server>",))


def test_a_port_needs_its_token(tmp_path: Path) -> None:
    Policy.compile(ALLOW).save(tmp_path / "policy.bundle")
    (tmp_path / "tokens").write_text(f"{TOKEN}\n")
    port = free_port()
    with server(tmp_path, "--port", str(port), "--token-file", "tokens"):
        with DecisionClient(f"http://127.0.0.1:{port}", token=TOKEN) as client:
            assert allowed(client)
        with DecisionClient(f"http://127.0.0.1:{port}") as client:
            refused = client.evaluate(Request("read"))
    assert (refused.verdict, "401" in refused.reason) == ("deny", True)


def test_two_servers_do_not_share_a_socket(tmp_path: Path) -> None:
    Policy.compile(ALLOW).save(tmp_path / "policy.bundle")
    with server(tmp_path, "--uds", "socket"), DecisionClient(f"unix:{tmp_path}/socket") as client:
        assert allowed(client)
        with server(tmp_path, "--uds", "socket") as second:
            assert second.wait(30) == 3
        assert allowed(client)


def test_a_client_denies_without_a_valid_decision() -> None:
    for url in ("http://127.0.0.1:1", "unix:/nowhere"):
        with DecisionClient(url) as client:
            assert client.evaluate(Request("read")).verdict == "deny"
    with pytest.raises(ValueError, match="not the URL"):
        DecisionClient("ftp://x")
