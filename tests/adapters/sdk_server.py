"""An MCP server made with the official SDK, of whichever generation is installed. Run as a script, over stdio."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any, Literal

from pydantic import Field

try:
    from mcp.server.mcpserver import Image
    from mcp.server.mcpserver import MCPServer as Server
    from mcp.server.mcpserver.exceptions import ToolError
except ImportError:  # the first generation
    from mcp.server.fastmcp import FastMCP as Server
    from mcp.server.fastmcp import Image
    from mcp.server.fastmcp.exceptions import ToolError

server: Any = Server("notes")


@server.tool()  # type: ignore[untyped-decorator, unused-ignore]
def add(a: int, b: Annotated[int, Field(description="the second number")] = 2) -> int:
    """Add two numbers."""
    return a + b


@server.tool(name="notes.tag", description="")  # type: ignore[untyped-decorator, unused-ignore]
def tag(note: str, colour: Literal["red", "blue"] = "red", text: str | None = None) -> str:
    return f"{note} is {colour}{f', {text}' if text else ''}"


@server.tool()  # type: ignore[untyped-decorator, unused-ignore]
def fail(text: str) -> str:
    """Fail."""
    raise ToolError(text)


@server.tool()  # type: ignore[untyped-decorator, unused-ignore]
def lines(count: int) -> list[str]:
    """Several text blocks."""
    return [f"line {n}" for n in range(count)]


@server.tool()  # type: ignore[untyped-decorator, unused-ignore]
def picture() -> Image:
    """A picture."""
    return Image(data=b"\x89PNG....", format="png")


@server.tool()  # type: ignore[untyped-decorator, unused-ignore]
def environment(name: str) -> str:
    """A variable of the server's environment."""
    return f"{os.environ.get(name)} in {os.getcwd()}, {os.getpid()}"


@server.tool()  # type: ignore[untyped-decorator, unused-ignore]
def die() -> str:
    """End at once."""
    os._exit(3)


@server.tool()  # type: ignore[untyped-decorator, unused-ignore]
async def hang() -> str:
    """Take for ever."""
    import asyncio

    await asyncio.sleep(3600)
    return "never"


if __name__ == "__main__":
    if "--die" in sys.argv:
        sys.exit("no configuration")
    server.run("stdio")
