"""A client for the servers of the conformance suite, by the official SDK: `SCENARIO [--proxy POLICY] URL`.

With `--proxy`, the client talks to a proxy in front of the URL.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp.types as types
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

SCENARIO, URL = sys.argv[1], sys.argv[-1]


@asynccontextmanager
async def streams() -> AsyncIterator[tuple[Any, Any]]:
    if "--proxy" in sys.argv:
        policy = sys.argv[sys.argv.index("--proxy") + 1]
        arguments = ["-m", "bobcat", "proxy", "--policy", policy, "--url", URL]
        async with stdio_client(StdioServerParameters(command=sys.executable, args=arguments)) as (read, write):
            yield read, write
    else:
        async with streamable_http_client(URL) as (read, write, _):
            yield read, write


async def elicited(_: Any, params: Any) -> types.ElicitResult:
    properties = params.requestedSchema["properties"]
    content = {name: each["default"] for name, each in properties.items() if "default" in each}
    return types.ElicitResult(action="accept", content=content)


async def main() -> None:
    async with streams() as (read, write), ClientSession(read, write, elicitation_callback=elicited) as session:
        await session.initialize()
        for tool in (await session.list_tools()).tools:
            args = {"a": 5, "b": 3} if tool.name == "add_numbers" else {}
            await session.call_tool(tool.name, args)


asyncio.run(main())
