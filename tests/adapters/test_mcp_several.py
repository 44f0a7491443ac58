"""`mcp_tools` with several servers, URLs and the SDK's own parameters."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.stdio import StdioServerParameters

from bobcat.adapters.mcp import mcp_pins, mcp_tools
from bobcat.errors import McpServerError

SERVER = str(Path(__file__).parent / "sdk_server.py")
COMMAND = [sys.executable, SERVER]
SERVE = """
import sys
sys.path.insert(0, sys.argv[1])
import sdk_server
server = sdk_server.server
if hasattr(server.settings, "port"):
    server.settings.port = int(sys.argv[2])
    server.run("streamable-http")
else:
    server.run("streamable-http", port=int(sys.argv[2]))
"""


@contextmanager
def served() -> Iterator[str]:
    """The URL of the server over streamable HTTP."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command = [sys.executable, "-c", SERVE, str(Path(SERVER).parent), str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(20)


def test_the_tools_of_several_servers_have_prefixes(tmp_path: Path) -> None:
    async def main(url: str) -> None:
        own = StdioServerParameters(command=sys.executable, args=[SERVER], env={"OWN": "7"})
        async with mcp_tools({"list": COMMAND, "web": url, "own": own}) as tools:
            assert {name.partition("__")[0] for name in tools.tools} == {"list", "web", "own"}
            assert await tools.tools["web__add"].fn(a=1, b=2) == "3"
            assert await tools.tools["list__notes.tag"].fn(note="n", colour="red", text=None) == "n is red"
            assert (await tools.tools["own__environment"].fn(name="OWN")).startswith("7 in")
            pins = mcp_pins(tools)
        path = tmp_path / "pins.json"
        path.write_text(json.dumps(pins))
        async with mcp_tools({"list": COMMAND, "web": url, "own": own}, pins=path):
            pass
        with pytest.raises(McpServerError, match="`own__add` is pinned but not listed"):
            async with mcp_tools({"list": COMMAND, "web": url}, pins=path):
                pass
        async with mcp_tools(url) as tools:
            assert "add" in tools.tools

    with served() as url:
        asyncio.run(main(url))


@pytest.mark.parametrize(
    "given, kind",
    [
        ({}, ValueError), ({"a__b": COMMAND}, ValueError), ({"": COMMAND}, ValueError), ({"_a": COMMAND}, ValueError),
        ({"a": []}, ValueError), ({"a": ""}, ValueError), ({"a": 5}, TypeError), (5, TypeError), (None, TypeError),
        ({"a": [1]}, TypeError), ({"a": COMMAND, "b": "/nonexistent"}, McpServerError),
        ("http://127.0.0.1:1/mcp", McpServerError), ({"a": COMMAND, "b": "http://127.0.0.1:1/mcp"}, McpServerError),
    ],
)  # fmt: skip
def test_servers_that_cannot_be_used_are_errors(given: Any, kind: type[Exception]) -> None:
    async def main() -> None:
        async with mcp_tools(given, connect_timeout_seconds=20):
            raise AssertionError

    with pytest.raises(kind):
        asyncio.run(main())
