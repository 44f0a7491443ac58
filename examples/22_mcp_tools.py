"""The tools of an MCP server, behind a policy: their input schemas reach the model, and their failures are failures."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bobcat import FinalAnswer, Message, Policy, ToolCall, run_agent
from bobcat.adapters.mcp import mcp_tools

SERVER = """
try:  # SDK 1.x
    from mcp.server.fastmcp import FastMCP as Server
    from mcp.server.fastmcp.exceptions import ToolError
except ImportError:  # SDK 2.x
    from mcp.server.mcpserver import MCPServer as Server
    from mcp.server.mcpserver.exceptions import ToolError

server = Server("notes", log_level="ERROR")

@server.tool()
def read_note(name: str) -> str:
    "Read a note."
    if name != "todo":
        raise ToolError(f"there is no note `{name}`")
    return "feed the cat"

@server.tool()
def delete_note(name: str) -> str:
    "Delete a note."
    raise AssertionError("nobody may come here")

server.run()
"""
POLICY = Policy.compile("""
rules:
  - id: read
    match: {tool: read_note, args.name.in: [todo, nothing], declared.scope.contains: "mcp:tool"}
    decision: allow
  - {id: keep, match: {tool: delete_note}, decision: deny, reason: notes are kept}
""")
CALLS = [
    ToolCall("read_note", {"name": "todo"}),
    ToolCall("read_note", {"name": "nothing"}),
    ToolCall("delete_note", {"name": "todo"}),
]


class Agent:
    """Makes three calls in one reply."""

    async def step(self, conversation: Sequence[Message]) -> list[ToolCall] | FinalAnswer:
        if len(conversation) == 1:
            return CALLS
        answers = [message.content for message in conversation if message.role == "tool"]
        return FinalAnswer("\n".join(answer.splitlines()[0] for answer in answers))


async def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        server = Path(directory) / "server.py"
        server.write_text(SERVER)
        async with mcp_tools([sys.executable, str(server)]) as tools:
            print(tools.names())
            result = await run_agent(Agent(), "notes", tools=tools, policy=POLICY)
    print(result.final_answer)


if __name__ == "__main__":
    asyncio.run(main())
