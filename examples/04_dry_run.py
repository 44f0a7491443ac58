"""Dry runs: a tool with a shadow is previewed, and the tool itself never runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from bobcat import FinalAnswer, Message, Policy, ToolCall, ToolSet, run_agent, shadow, tool
from bobcat.shadows import shell_shadow, sql_shadow

POLICY = """
rules:
  - {id: look-first, match: {tool.in: [shell, query]}, decision: dry_run}
"""


@tool(reversible=False)
async def shell(cmd: str) -> str:
    """Run a command."""
    raise AssertionError("a dry run ran")


@tool(reversible=False)
async def query(query: str) -> str:
    """Run SQL."""
    raise AssertionError("a dry run ran")


@shadow(shell)
async def preview_shell(cmd: str) -> str:
    seen = await shell_shadow(cmd)
    return f"destroys with {seen['destructive_tokens']}, overwrites {seen['overwrites']}, unknown {seen['unresolved']}"


@shadow(query)
async def preview_query(query: str) -> str:
    seen = await sql_shadow(query)
    return f"{seen['operation']} of {seen['tables']}, where: {seen['has_where_clause']}"


CALLS = [
    ToolCall("shell", {"cmd": "sudo bash -c 'rm -rf $HOME/old' > log"}),
    ToolCall("query", {"query": "DELETE FROM users -- WHERE id = 1"}),
]


class Agent:
    """Proposes both calls in one reply, as models do."""

    async def step(self, conversation: Sequence[Message]) -> list[ToolCall] | FinalAnswer:
        if len(conversation) == 1:
            return CALLS
        return FinalAnswer("\n".join(message.content for message in conversation if message.role == "tool"))


async def main() -> None:
    tools = ToolSet.from_functions(shell, query)
    result = await run_agent(Agent(), "clean up", tools=tools, policy=Policy.compile(POLICY))
    print(result.final_answer)


if __name__ == "__main__":
    asyncio.run(main())
