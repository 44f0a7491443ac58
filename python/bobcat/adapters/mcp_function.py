"""A listed tool of an MCP server as a function with the schema that the server declares."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from bobcat.adapters.mcp_content import failed, input_schema, result_text
from bobcat.adapters.mcp_server import McpServer
from bobcat.errors import McpToolError
from bobcat.tools.schema import with_input_schema


# Any: a listed tool is the SDK's, of either generation; its arguments have any type.
def tool_function(server: McpServer, listed: Any) -> Callable[..., Awaitable[str]]:
    """Return a function that calls the tool. It raises `McpToolError` for a result that is marked as an error."""
    name = listed.name

    async def call(**kwargs: Any) -> str:
        result = await server.call(name, kwargs)
        text = result_text(result)
        if failed(result):
            raise McpToolError(text or f"tool {name!r} failed without a reason")
        return text

    call.__name__ = call.__qualname__ = f"mcp_tool[{name}]"
    # The defaults of the schema are bound before the policy evaluates a call: they are the values of the server.
    return with_input_schema(call, input_schema(listed))
