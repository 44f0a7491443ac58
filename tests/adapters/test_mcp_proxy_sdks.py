"""The official SDK at both ends of the proxy, of whichever generation is installed: `test_other_sdks.py` runs both."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import mcp
import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client

SERVER = [sys.executable, str(Path(__file__).parent / "sdk_server.py")]
PROXY = [sys.executable, "-m", "bobcat", "proxy"]
ALL = "rules: [{id: all, match: {}, decision: allow}]"
SOME = """
rules:
  - {id: add, match: {tool: add, args.a.between: [0, 10]}, decision: allow}
  - {id: lines, match: {tool: lines}, decision: approve_required, approvers: [ann]}
  - {id: rest, match: {}, decision: deny}
"""
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("add", {"a": 1}),
    ("lines", {"count": 2}),
    ("picture", {}),
    ("fail", {"text": "oh"}),
    ("notes.tag", {"note": "n", "colour": "blue"}),
]


# Any: the SDK's objects, of either generation.
async def _accept(*_: Any) -> Any:
    return _types().ElicitResult(action="accept", content={"approve": True})


def _types() -> Any:
    import mcp.types

    return mcp.types


@asynccontextmanager
async def connected(target: Sequence[str] | str) -> AsyncIterator[Any]:
    """A client of a command or a URL."""
    second: Any = getattr(mcp, "Client", None)
    if second is not None:
        place = target if isinstance(target, str) else _process(target)
        async with second(place, elicitation_callback=_accept) as client:
            yield client
        return
    if isinstance(target, str):
        from mcp.client import streamable_http

        found: Any = streamable_http
        connect = getattr(found, "streamable_http_client", None) or found.streamablehttp_client
        transport = connect(target)
    else:
        transport = _process(target)
    async with transport as (read, write, *_), mcp.ClientSession(read, write, elicitation_callback=_accept) as client:
        await client.initialize()
        yield client


def _process(command: Sequence[str]) -> Any:
    return stdio_client(StdioServerParameters(command=command[0], args=list(command[1:]), env=dict(os.environ)))


def shown(item: Any) -> Any:
    """An object of the SDK as JSON."""
    return json.loads(item.model_dump_json(by_alias=True, exclude_none=True))


async def seen(target: Sequence[str] | str) -> list[Any]:
    """All that a client sees of the tools and of some calls."""
    async with connected(target) as client:
        tools = [shown(tool) for tool in (await client.list_tools()).tools]
        results = [shown(await client.call_tool(name, args)) for name, args in CALLS]
        return [tools, *results]


async def outcomes(target: Sequence[str] | str) -> tuple[list[str], list[str]]:
    async with connected(target) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        results = [shown(await client.call_tool(name, args)) for name, args in CALLS]
        texts = ["".join(block.get("text", "") for block in each["content"]) for each in results]
        return tools, texts


@contextmanager
def listening(policy: Path) -> Iterator[str]:
    """The URL of a proxy that listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command = [*PROXY, "--policy", str(policy), "--listen", f"127.0.0.1:{port}", "--insecure", "--approver", "ann"]
    process = subprocess.Popen([*command, "--", *SERVER], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(SOME)
    return path


def test_a_client_sees_the_same_with_a_policy_that_allows_all(tmp_path: Path) -> None:
    path = tmp_path / "all.yaml"
    path.write_text(ALL)
    through = asyncio.run(seen([*PROXY, "--policy", str(path), "--", *SERVER]))
    assert through == asyncio.run(seen(SERVER))


def test_a_policy_decides_over_stdio(policy: Path) -> None:
    command = [*PROXY, "--policy", str(policy), "--approver", "ann", "--", *SERVER]
    _check(*asyncio.run(outcomes(command)))


def test_a_policy_decides_over_http(policy: Path) -> None:
    with listening(policy) as url:
        _check(*asyncio.run(outcomes(url)))


def _check(tools: list[str], texts: list[str]) -> None:
    assert tools == ["add", "lines"]
    denied = "[denied] Policy denied this action"
    assert texts == ["3", "line 0line 1", denied, denied, denied]
