"""The provider of MCP servers: one tool, `mcp.call`, for the tools of servers that a program names.

    from bobcat.providers import mcp

    tools = mcp({"notes": "python -m notes_server"}, pins="pins.json")

A policy reads `args.server`, `args.tool` and `args.arguments`. Needs `pip install 'bobcat[mcp]'`.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bobcat.adapters.client_agent import sdk
from bobcat.adapters.mcp_content import input_schema
from bobcat.adapters.mcp_function import tool_function
from bobcat.adapters.mcp_pins import DIGEST, changed_parts, differs, pin_of
from bobcat.adapters.mcp_pins_file import DEFINITION, PinsFile
from bobcat.adapters.mcp_server import CONNECT_TIMEOUT_SECONDS, McpServer
from bobcat.adapters.mcp_target import Command, targets_of
from bobcat.errors import ArgumentError, McpServerError, McpToolError, ToolError
from bobcat.model.decision import ToolMetadata, Verdict
from bobcat.model.frozen import FrozenDict, deep_freeze, thaw
from bobcat.model.run import ToolDef
from bobcat.providers.mcp_connections import Connections
from bobcat.text.display import safe_text
from bobcat.tools.action import current_action, uses_action
from bobcat.tools.decorator import Cost, tool
from bobcat.tools.function_schema import with_input_schema
from bobcat.tools.signature import bind_arguments
from bobcat.tools.toolset import ToolSet

TIMEOUT_SECONDS = 60.0
"""Default time limit of a call, without the start of its server."""
MAX_SCHEMAS = 1000
"""Maximum number of compiled schemas."""
MAX_DESCRIPTION_CHARS = 20_000
"""Maximum length of the accepted tools in the description of `mcp.call`; longer ones are left out."""
IDLE_SECONDS = 60.0
"""Default time without a call after which a server is ended."""

Arguments = Mapping[str, Any]  # Any: arguments of any tool
_DESCRIPTION = "Call a tool of an MCP server by the names of both, and return its result as text."
_METADATA = ToolMetadata("medium", False, ("mcp:tool",))


def mcp(
    servers: Mapping[str, Command],
    *,
    pins: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    timeout_seconds: float = TIMEOUT_SECONDS,
    connect_timeout_seconds: float = CONNECT_TIMEOUT_SECONDS,
    idle_seconds: float = IDLE_SECONDS,
    cost: Cost = "medium",
) -> ToolSet:
    """Return the tool `mcp.call`, which calls a tool of a server.

    `servers` maps names to commands, URLs or the SDK's `StdioServerParameters`, as for `mcp_tools`; `env` and `cwd` are
    those of started processes. A server starts with the first call of one of its tools, and ends `idle_seconds` after
    the last one, or with the event loop.

    `pins` is the file that `bobcat mcp accept` writes. Tools without a pin, and arguments that the pinned schema
    excludes, are refused before a server starts; a tool whose definition has changed is not called. Without `pins` the
    definitions of the first listing are expected from then on.

    The defaults of a tool's schema are added to the arguments. If there are any, the policy decides again on the call
    with them. Raises `TypeError` and `ValueError` for invalid arguments, `OSError` for pins that cannot be read.
    """
    sdk("mcp", "mcp")
    if not isinstance(servers, Mapping) or not servers:
        raise TypeError('servers must be a mapping of names to commands or URLs: {"notes": "python -m notes_server"}')
    for name, value in (("timeout_seconds", timeout_seconds), ("connect_timeout_seconds", connect_timeout_seconds)):
        if not value > 0:
            raise ValueError(f"{name} must be greater than 0, got {value!r}")
    if not idle_seconds >= 0:
        raise ValueError(f"idle_seconds must be at least 0, got {idle_seconds!r}")
    targets = dict(zip(servers, targets_of(servers, env, cwd), strict=True))
    connections = Connections(targets, connect_timeout_seconds=connect_timeout_seconds, idle_seconds=idle_seconds)
    caller = _Caller(connections, tuple(servers), None if pins is None else PinsFile(pins), timeout_seconds)

    description = f"{_DESCRIPTION}{caller.accepted_tools()}"

    @tool(name="mcp.call", cost=cost, reversible=False, scope=_METADATA.scope, description=description)
    @uses_action
    async def call(server: str, tool: str, arguments: Mapping[str, Any] = FrozenDict()) -> str:
        try:
            return await caller.call(server, tool, arguments)
        except ArgumentError as error:
            raise ToolError(str(error), error.code) from error
        except McpServerError as error:
            raise ToolError(str(error), "server_failed") from error
        except McpToolError as error:
            raise ToolError(str(error), "tool_failed") from error

    @call.shadow
    async def preview(server: str, tool: str, arguments: Mapping[str, Any] = FrozenDict()) -> dict[str, Any]:
        shown = {"server": server, "tool": tool, "arguments": thaw(arguments), "note": "preview only: nothing was sent"}
        try:
            return {**shown, "arguments": thaw(caller.bound(server, tool, arguments))}
        except (ArgumentError, ToolError) as error:
            return {**shown, "problem": str(error)}

    return ToolSet.from_functions(call)


class _Caller:
    def __init__(
        self, connections: Connections, names: tuple[str, ...], pins: PinsFile | None, timeout_seconds: float
    ) -> None:
        self._connections = connections
        self._names = names
        self._pins = pins
        self._timeout_seconds = timeout_seconds
        self._schemas: dict[str, ToolDef] = {}
        """Tools with the schemas of accepted and of listed definitions, by digest."""
        self._first: dict[tuple[str, str], Mapping[str, str]] = {}
        """The pins of the first listing, by server and tool."""

    async def call(self, server: str, tool: str, arguments: Arguments) -> str:
        """Call a tool. Raises `ToolError`, `McpServerError`, `McpToolError` and `ArgumentError`."""
        arguments = await _judged(server, tool, self.bound(server, tool, arguments), arguments)
        async with self._connections.use(server) as connection:
            listed = self._listed(connection, server, tool)
            pin = self._checked(server, listed)
            fn = tool_function(connection, listed)
            bound = self._bind(tool, pin[DIGEST], lambda: input_schema(listed), arguments)
            bound = await _judged(server, tool, bound, arguments)
            action = current_action()
            if action is not None:
                action.record(server=server, tool=tool, definition=pin[DIGEST])
            try:
                async with asyncio.timeout(self._timeout_seconds):
                    return await fn(**bound)
            except TimeoutError as error:
                await connection.__aexit__(None, None, None)  # it may still work on the call
                limit = f"{self._timeout_seconds:g} s"
                raise ToolError(f"tool `{tool}` of `{server}` gave no result in {limit}", "timeout") from error

    def accepted_tools(self) -> str:
        """The accepted tools with their schemas, for the model."""
        lines: list[str] = []
        for server in self._names if self._pins is not None else ():
            for name, definition in self._definitions(server):
                schema = json.dumps(definition.get("inputSchema", {}), ensure_ascii=False, separators=(",", ":"))
                lines.append(f"* {server}, {name}: {definition.get('description') or ''} Arguments: {schema}")
        together = "\n".join(lines)
        return f"\n\n{together}" if together and len(together) <= MAX_DESCRIPTION_CHARS else ""

    def _definitions(self, server: str) -> list[tuple[str, Mapping[str, Any]]]:
        pins = {} if self._pins is None else self._pins.tools(server)
        texts = [(name, pin.get(DEFINITION)) for name, pin in sorted(pins.items())]
        return [(name, json.loads(text)) for name, text in texts if text is not None]

    def bound(self, server: str, tool: str, arguments: Arguments) -> Arguments:
        """The effective arguments by the pinned schema, without a server. Raises `ToolError` and `ArgumentError`."""
        if server not in self._names:
            raise ToolError(f"unknown server `{safe_text(server)}`; known: {', '.join(self._names)}", "unknown_server")
        if self._pins is None:
            return arguments
        try:
            known = self._pins.tools(server).get(tool)
        except (OSError, ValueError) as error:
            raise ToolError(f"the pins cannot be read: {error}", "pins") from error
        if known is None:
            raise ToolError(
                f"tool `{safe_text(tool)}` of `{server}` has no pin; accept it with `bobcat mcp accept`", "unknown_tool"
            )
        text = known.get(DEFINITION)
        if text is None:
            return arguments
        return self._bind(
            tool, f"pinned {known[DIGEST]}", lambda: input_schema(SimpleNamespace(**json.loads(text))), arguments
        )

    def _bind(self, tool: str, key: str, schema: Callable[[], dict[str, Any]], arguments: Arguments) -> Arguments:
        """The effective arguments by the schema of a definition. PERF: a compiled schema saves 0.3 ms a call."""
        known = self._schemas.get(key)
        if known is None:

            async def declared(**_: Any) -> None: ...

            if len(self._schemas) >= MAX_SCHEMAS:
                self._schemas.clear()
            known = ToolDef(tool, "", with_input_schema(declared, schema()), None, _METADATA)
            self._schemas[key] = known
        return bind_arguments(known, deep_freeze(arguments))

    def _listed(self, connection: McpServer, server: str, tool: str) -> Any:  # Any: the SDK's, of either generation
        found = [each for each in connection.listed if each.name == tool]
        if len(found) == 1:
            return found[0]
        if found:
            raise McpServerError(f"MCP server `{server}` lists tool `{safe_text(tool)}` twice")
        names = ", ".join(sorted(safe_text(each.name) for each in connection.listed))
        raise ToolError(f"`{server}` has no tool `{safe_text(tool)}`; it has {names or 'none'}", "unknown_tool")

    def _checked(self, server: str, listed: Any) -> Mapping[str, str]:  # Any: as above
        """The pin of a listed tool. Raises `McpServerError` for a definition that is not the expected one."""
        found = pin_of(listed)
        if self._pins is not None:
            # Only what the server has sent: `bobcat mcp accept` has seen no more.
            definition = listed.model_dump(mode="json", by_alias=True, exclude_unset=True)
            problem = self._pins.problem(server, definition)
        else:
            changed = changed_parts(self._first.setdefault((server, listed.name), found), found)
            problem = differs(listed.name, changed) if changed else None
        if problem is not None:
            raise McpServerError(f"MCP server `{server}`: {problem}; it was not called")
        return found


async def _judged(server: str, tool: str, bound: Arguments, given: Arguments) -> Arguments:
    """The effective arguments. Raises `ToolError` if the policy does not allow the call with their defaults."""
    action = current_action()
    if action is None or bound == given:
        return bound
    decision = await action.judge({"server": server, "tool": tool, "arguments": bound})
    if decision.verdict is not Verdict.ALLOW:
        reason = decision.reason or "by the policy"
        raise ToolError(f"with the defaults of its schema the call is not allowed: {reason}", "denied")
    return bound
