"""The tools of an MCP server, as a `ToolSet` behind the policy.

    async with mcp_tools("python -m notes_server") as tools:
        await run_agent(agent, "tidy the notes", tools=tools, policy=policy)

Needs `pip install 'bobcat[mcp]'`; both generations of the SDK (1.x and 2.x) will do. A server is a child process that
speaks over its standard input and output, and ends with the block, or an endpoint of streamable HTTP.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Literal

from bobcat.adapters.mcp_function import tool_function
from bobcat.adapters.mcp_pins import DIGEST, PARTS, Pin, Pins, check_pins, mcp_pins, pin_of, read_pins
from bobcat.adapters.mcp_server import CONNECT_TIMEOUT_SECONDS, McpServer
from bobcat.adapters.mcp_target import Command, targets_of
from bobcat.errors import McpServerError
from bobcat.model.decision import ToolMetadata
from bobcat.model.run import ToolDef
from bobcat.tools.toolset import ToolSet

__all__ = ["mcp_pins", "mcp_tools"]


@asynccontextmanager
async def mcp_tools(
    command: Command | Mapping[str, Command],
    *,
    default_cost: Literal["low", "medium", "high"] = "medium",
    default_reversible: bool = False,
    default_scope: tuple[str, ...] = ("mcp:tool",),
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    connect_timeout_seconds: float = CONNECT_TIMEOUT_SECONDS,
    pins: Pins | str | os.PathLike[str] | None = None,
) -> AsyncIterator[ToolSet]:
    """Start an MCP server, or several, and yield their tools.

    `command` is a list, a string that is split as a shell would, a URL, or the SDK's `StdioServerParameters`. A mapping
    names several servers: `{"notes": "python -m notes_server", "web": "https://example.com/mcp"}`. Their tools are
    named `notes__add`, in policies and pins too.

    A server's own statements about the safety of its tools are ignored: all of them are declared by the arguments here,
    irreversible by default. `env` is added to the few variables that the SDK passes on.

    A result that the server marks as an error is a failed action; text comes back as text, other content as a note of
    its type and size. Raises `McpServerError` when a server cannot be started or does not answer in time.

    Runs and approvals are bound to the definition of each tool (schemas, description, annotations). It is listed again
    before each call; a call of a tool whose definition has changed fails, and is not sent. `pins`, a mapping that
    `mcp_pins` made or the path of a JSON file with it, are the expected definitions: other definitions, or more or
    fewer tools, raise `McpServerError`.
    """
    expected = None if pins is None else read_pins(pins)
    targets = targets_of(command, env, cwd)
    metadata = ToolMetadata(default_cost, default_reversible, default_scope)
    tools: dict[str, ToolDef] = {}
    found: dict[str, Pin] = {}
    async with AsyncExitStack() as stack:
        for target in targets:
            connection = McpServer(target, connect_timeout_seconds=connect_timeout_seconds)
            server = await stack.enter_async_context(connection)
            found |= {target.prefix + listed.name: pin_of(listed) for listed in server.listed}
            for listed in server.listed:
                name = target.prefix + listed.name
                if name in tools:
                    raise McpServerError(f"MCP server `{target.label}` lists tool `{listed.name}` twice")
                description = listed.description or f"MCP tool: {listed.name}"
                fn = tool_function(server, listed)
                setattr(fn, PARTS, found[name])
                definition = found[name][DIGEST]
                tools[name] = ToolDef(name, description, fn, None, metadata, definition=definition)
        if expected is not None:
            check_pins(expected, found, ", ".join(target.label for target in targets))
        yield ToolSet(tools)
