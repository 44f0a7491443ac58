"""Cost of the providers `http` and `mcp` beside the bare clients: time and CPU time of a call, in microseconds.

python benches/network_providers.py [--count N]

The servers are processes of their own on this machine. Every connection of `net.http` serves one request; a client of
httpx that keeps its connection is shown for comparison.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path

import httpx

from bobcat import Guard, Policy
from bobcat.adapters import mcp_tools
from bobcat.providers import http, mcp

ADDRESS = "127.0.0.1"
TURNS = 20
Call = Callable[[], Awaitable[object]]
POLICY = Policy.compile("""
rules:
  - {id: web, match: {tool: net.http, args.url.url.host: shop.example}, decision: allow}
  - {id: mcp, match: {tool: mcp.call, args.server: notes, args.tool: add}, decision: allow}
""")
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok"
SERVER = """
from mcp.server.fastmcp import FastMCP
server = FastMCP("notes", log_level="WARNING")
@server.tool()
def add(a: int, b: int) -> int:
    return a + b
server.run()
"""


def serve(ready: Connection) -> None:
    """Answer every request, until the process is ended."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionError):
                break
            writer.write(ANSWER)
            if b"connection: close" in head.lower():
                break
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(answer, ADDRESS, 0)
        ready.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


async def measured(count: int, rows: Mapping[str, Call]) -> None:
    """Print the time of the fastest tenth of the calls, the median, and the CPU time of this process for a call.

    The rows take turns.
    """
    times: dict[str, list[float]] = {label: [] for label in rows}
    used = dict.fromkeys(rows, 0.0)
    for turn in range(TURNS + 1):
        for label, call in rows.items():
            started = time.process_time()
            for _ in range(max(1, count // TURNS)):
                began = time.perf_counter()
                await call()
                if turn:  # the first one warms up
                    times[label].append(1e6 * (time.perf_counter() - began))
            used[label] += (time.process_time() - started) * bool(turn)
    for label, found in times.items():
        fast, median = statistics.quantiles(found, n=10)[0], statistics.median(found)
        cpu = 1e6 * used[label] / len(found)
        print(f"{label:<40}{fast:>8.0f} µs (10 %){median:>8.0f} µs (50 %){cpu:>8.0f} µs CPU")


async def requests(port: int, count: int) -> None:
    """Measure requests."""

    async def resolver(host: str, port: int) -> list[str]:
        return [ADDRESS]

    tools = http(schemes=("http",), ports=(port,), allow_addresses=(ADDRESS,), resolver=resolver)
    bare, named = f"http://{ADDRESS}:{port}/", f"http://shop.example:{port}/"
    tool = tools.get("net.http").fn
    async with httpx.AsyncClient(trust_env=False) as client, Guard(POLICY, tools) as guard:
        close = {"connection": "close"}
        rows: dict[str, Call] = {
            "httpx, connection kept": lambda: client.get(bare),
            "httpx, a connection for each request": lambda: client.get(bare, headers=close),
            "net.http, without a guard": lambda: tool(url=named),
            "net.http, through a guard": lambda: guard.submit("net.http", {"url": named}),
        }
        await measured(count, rows)


async def calls(folder: Path, count: int) -> None:
    """Measure calls of a tool of an MCP server."""
    script = folder / "notes_server.py"
    script.write_text(SERVER)
    command = [sys.executable, str(script)]
    arguments = {"a": 1, "b": 2}
    call = {"server": "notes", "tool": "add", "arguments": arguments}
    provided = mcp({"notes": command})
    async with mcp_tools(command) as tools, Guard(POLICY, provided) as guard:
        rows: dict[str, Call] = {
            "mcp_tools, without a guard": lambda: tools.get("add").fn(**arguments),
            "mcp.call, without a guard": lambda: provided.get("mcp.call").fn(**call),
            "mcp.call, through a guard": lambda: guard.submit("mcp.call", call),
        }
        await measured(count, rows)


def main() -> None:
    """Measure both providers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    count = parser.parse_args().count
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=serve, args=(there,), daemon=True)
    server.start()
    try:
        asyncio.run(requests(here.recv(), count))
    finally:
        server.terminate()
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(calls(Path(name), count))


if __name__ == "__main__":
    main()
