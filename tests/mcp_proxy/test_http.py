"""Streamable HTTP in front of a server and behind the proxy: sessions, tokens, streams that are continued."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import mcp.types as types
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from mcp_proxy.raw_client import ADAPTERS, ALL, HELLO, HERE, PROXY, RawClient, alive, python, text
from mcp_proxy.test_gate import POLICY
from mcp_proxy.test_proxy_processes import child_of

TOKEN = "0123456789abcdef0"
RAW = python(HERE / "raw_server.py")
SDK = python(ADAPTERS / "sdk_server.py")
ACCEPT = {"accept": "application/json, text/event-stream"}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def running(command: Sequence[str], port: int) -> Iterator[subprocess.Popen[str]]:
    """A process that serves HTTP."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 30
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, process.stderr and process.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        finally:
            process.kill()
            assert process.stderr is not None
            process.stderr.close()


@contextmanager
def listening(policy: Path, server: Sequence[str], *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A proxy that listens; its URL and its process."""
    port = free_port()
    command = [*PROXY, "--policy", str(policy), "--listen", f"127.0.0.1:{port}", *options]
    with running([*command, *server], port) as process:
        yield f"http://127.0.0.1:{port}/mcp", process


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return path


@pytest.fixture
def permissive(tmp_path: Path) -> Path:
    path = tmp_path / "all.yaml"
    path.write_text(ALL)
    return path


def message(id: int | None, method: str, params: Any = None) -> dict[str, Any]:
    found = {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}
    return found if id is None else {**found, "id": id}


def events(body: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in body.split("\n") if line.startswith("data: ")]


def begun(client: httpx.Client, url: str, **headers: str) -> dict[str, str]:
    """The headers of a new session."""
    found = client.post(url, json=message(0, "initialize", HELLO), headers={**ACCEPT, **headers})
    assert found.status_code == 200, found.text
    session = {**ACCEPT, **headers, "mcp-session-id": found.headers["mcp-session-id"]}
    assert client.post(url, json=message(None, "notifications/initialized"), headers=session).status_code == 202
    return session


async def with_the_sdk(url: str, headers: dict[str, str]) -> tuple[list[str], list[str]]:
    async def elicited(_: Any, __: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"approve": True})

    async with httpx.AsyncClient(headers=headers, timeout=30) as client:
        async with streamable_http_client(url, http_client=client) as (read, write, _):
            async with ClientSession(read, write, elicitation_callback=elicited) as session:
                await session.initialize()
                tools = [tool.name for tool in (await session.list_tools()).tools]
                calls: list[tuple[str, dict[str, Any]]] = [("add", {"a": 1}), ("lines", {"count": 1}), ("picture", {})]
                results = [await session.call_tool(name, args) for name, args in calls]
                return tools, ["".join(getattr(block, "text", "") for block in each.content) for each in results]


@pytest.mark.parametrize("behind", ["stdio", "http"])
def test_the_official_client_over_http(policy: Path, tmp_path: Path, behind: str) -> None:
    (tmp_path / "tokens").write_text(TOKEN)
    options = ["--token-file", str(tmp_path / "tokens"), "--approver", "ann"]
    port = free_port()
    if behind == "http":
        code = f"import sys; sys.path.insert(0, {str(ADAPTERS)!r}); import sdk_server as s"
        code += f"; s.server.settings.port = {port}; s.server.run('streamable-http')"
        server = running([sys.executable, "-c", code], port)
        with server, listening(policy, ["--url", f"http://127.0.0.1:{port}/mcp"], *options) as (url, _):
            tools, results = asyncio.run(with_the_sdk(url, {"Authorization": f"Bearer {TOKEN}"}))
    else:
        with listening(policy, ["--", *SDK], *options) as (url, _):
            tools, results = asyncio.run(with_the_sdk(url, {"Authorization": f"Bearer {TOKEN}"}))
    assert tools == ["add", "notes.tag", "fail", "lines"]
    assert results == ["3", "line 0", "[denied] not for agents"]


def test_requests_without_a_token_or_from_elsewhere_are_refused(permissive: Path, tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text(f"{TOKEN}\nanother-token-of-enough\n")
    with listening(permissive, ["--", *RAW], "--token-file", str(tmp_path / "tokens")) as (url, _):
        with httpx.Client() as client:
            hello, bearer = message(0, "initialize", HELLO), {"authorization": f"Bearer {TOKEN}"}
            for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": f"Basic {TOKEN}"}):
                assert client.post(url, json=hello, headers={**ACCEPT, **headers}).status_code == 401
            session = begun(client, url, **bearer)
            call = message(1, "tools/call", {"name": "odd"})
            other = {**session, "authorization": "Bearer another-token-of-enough"}
            assert client.post(url, json=call, headers=other).status_code == 404
            assert client.post(url, json=call, headers={**session, "host": "evil.example"}).status_code == 421
            assert client.post(url, json=call, headers={**session, "origin": "http://evil.example"}).status_code == 403
            assert client.post(url, json=call, headers={**session, "origin": "http://localhost:5"}).status_code == 200
            assert client.get(url.replace("/mcp", "/health")).text == "ok\n"


def test_the_rules_of_the_transport(permissive: Path) -> None:
    with listening(permissive, ["--", *RAW], "--insecure") as (url, process), httpx.Client() as client:
        call = message(1, "tools/call", {"name": "odd", "arguments": {}})
        assert client.post(url, json=call, headers=ACCEPT).status_code == 400
        assert client.post(url, json=call, headers={**ACCEPT, "mcp-session-id": "none"}).status_code == 404
        assert client.post(url, content=b"{}", headers={**ACCEPT, "content-type": "text/plain"}).status_code == 415
        for body in (b"", b"[]", b"nothing", b'{"jsonrpc": "2.0"}', b"\xff"):
            found = client.post(url, content=body, headers={**ACCEPT, "content-type": "application/json"})
            assert (found.status_code, "error" in found.json()) == (400, True)
        newer = client.post(url, json=call, headers={**ACCEPT, "mcp-protocol-version": "2026-07-28"})
        assert (newer.status_code, newer.json()["error"]["code"]) == (400, -32022)
        session = begun(client, url)
        found = client.post(url, json=call, headers={**session, "accept": "application/json"})
        assert found.headers["content-type"] == "application/json"
        assert found.json()["result"]["content"][0]["type"] == "text"
        assert client.get(url, headers={**session, "accept": "text/html"}).status_code == 406
        assert client.put(url).status_code == 405
        assert (
            client.post(
                url, content=b"x" * 17_000_000, headers={**session, "content-type": "application/json"}
            ).status_code
            == 413
        )
        server = child_of(process.pid)
        assert client.delete(url, headers=session).status_code == 204
        assert not alive(server)
        assert client.post(url, json=call, headers=session).status_code == 404


def test_sessions_have_servers_of_their_own(permissive: Path) -> None:
    with listening(permissive, ["--", *RAW], "--insecure") as (url, _), httpx.Client() as client:
        one, two = begun(client, url), begun(client, url)
        die = client.post(url, json=message(1, "tools/call", {"name": "odd", "arguments": {"do": "die"}}), headers=one)
        assert "ended with exit code 7" in die.text
        alright = client.post(url, json=message(1, "tools/call", {"name": "odd", "arguments": {}}), headers=two)
        assert "result" in events(alright.text)[0]


def test_a_stream_is_continued_after_its_last_event(permissive: Path) -> None:
    server = python(HERE / "everything_server.py", "stdio")
    with listening(permissive, ["--", *server], "--insecure") as (url, _), httpx.Client() as client:
        session = {**begun(client, url), "mcp-protocol-version": "2025-11-25"}
        params = {"name": "test_tool_with_logging", "arguments": {}}
        with client.stream("POST", url, json=message(1, "tools/call", params), headers=session) as response:
            first = next(response.iter_text())
            assert first.startswith("id: ")
        last = first.splitlines()[0].removeprefix("id: ")
        resumed = client.get(url, headers={**session, "last-event-id": last}, timeout=10)
        assert [each.get("method", "answer") for each in events(resumed.text)][-1] == "answer"
        for unknown in ("9-1", "x", "1", "-1", "1-" + "9" * 50):
            assert client.get(url, headers={**session, "last-event-id": unknown}).status_code == 400


def test_a_stream_that_the_server_closes_is_continued_by_the_proxy(permissive: Path) -> None:
    port = free_port()
    command = [*PROXY, "--policy", str(permissive), "--url", f"http://127.0.0.1:{port}/mcp"]
    with running(python(HERE / "polling_server.py", str(port)), port), RawClient(command) as client:
        client.initialize()
        assert client.tools() == ["slow"]
        assert text(client.call("slow")) == "late"


@pytest.mark.parametrize("kind", ["closed", "html", "redirect", "garbage", "silent", "wrong id", "404"])
def test_an_endpoint_that_is_no_mcp_server_is_an_error(permissive: Path, kind: str) -> None:
    with RawClient([*PROXY, "--policy", str(permissive), "--url", f"{_endpoint(kind)}/mcp"]) as client:
        found = client.request("initialize", HELLO)
        assert "the server `default`" in found["error"]["message"]
        assert "Traceback" not in client.stderr()


def _endpoint(kind: str) -> str:
    """A tiny HTTP server in this process that answers everything in one way."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    from threading import Thread

    if kind == "closed":
        return f"http://127.0.0.1:{free_port()}"
    status, media, body = {
        "html": (200, "text/html", b"<html>"),
        "redirect": (302, "text/html", b""),
        "garbage": (200, "application/json", b'{"jsonrpc": "2.0", "id": 1, "result": {'),
        "silent": (200, "text/event-stream", b": nothing\n\n"),
        "wrong id": (200, "text/event-stream", b'data: {"jsonrpc": "2.0", "id": 77, "result": {}}\n\n'),
        "404": (404, "text/plain", b"no"),
    }[kind]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(status)
            self.send_header("content-type", media)
            self.send_header("location", "http://127.0.0.1:1/")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


def test_a_port_in_use_is_an_error(permissive: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        command = [*PROXY, "--policy", str(permissive), "--listen", f"127.0.0.1:{taken.getsockname()[1]}", "--insecure"]
        done = subprocess.run([*command, "--", *RAW], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert "address already in use" in done.stderr
    assert "Traceback" not in done.stderr


def test_sigterm_ends_the_servers_of_all_sessions(permissive: Path) -> None:
    with listening(permissive, ["--", *RAW, "stubborn"], "--insecure") as (url, process), httpx.Client() as client:
        session = begun(client, url)
        server = child_of(process.pid)
        with client.stream("GET", url, headers=session) as response:
            process.send_signal(signal.SIGTERM)
            assert b"".join(response.iter_bytes()) == b""
        assert process.wait(20) == 0
        assert not alive(server)
