"""An MCP server on standard input and output: its tool `shout` notes each call in the file that the argument names."""

from __future__ import annotations

import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer

server = MCPServer("shouts")


@server.tool()
def shout(text: str) -> str:
    """Shout a text."""
    with Path(sys.argv[1]).open("a", encoding="utf-8") as file:
        file.write(text + "\n")
    return text.upper()


if __name__ == "__main__":
    server.run("stdio")
