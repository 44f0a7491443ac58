"""A transform sets the tenant of every query: whatever the model asks for, it reads its own tenant's rows."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from bobcat import FinalAnswer, Message, Policy, ToolCall, ToolSet, run_agent, tool

POLICY = Path(__file__).parent / "policies" / "tenants.yaml"
WANTED = [
    {"sql": "SELECT name FROM orders"},
    {"sql": "SELECT name FROM orders", "tenant": "rival"},
    {"sql": "SELECT name FROM orders WHERE 1 = 1 OR tenant = 'rival'"},
    {"sql": "SELECT name FROM orders; DELETE FROM orders"},
    {"sql": "DELETE FROM orders -- WHERE"},
]

database = sqlite3.connect(":memory:")
database.executescript(
    "CREATE TABLE all_orders (tenant, name);"
    "INSERT INTO all_orders VALUES ('acme', 'anvil'), ('acme', 'rocket'), ('rival', 'secret');"
)


@tool(scope=("database:read",))
async def report(sql: str, tenant: str = "nobody") -> list[str]:
    """Run a SELECT over `orders`, which holds the rows of one tenant."""
    connection = database.cursor()
    connection.execute("DROP TABLE IF EXISTS temp.orders")
    connection.execute("CREATE TEMP TABLE orders AS SELECT * FROM all_orders WHERE tenant = ?", (tenant,))
    return [name for (name,) in connection.execute(sql)]


class Agent:
    """Tries one query after the other."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        done = sum(message.role == "tool" for message in conversation)
        if done:
            print(f"{WANTED[done - 1]}\n    {conversation[-1].content}")
        return ToolCall("report", WANTED[done]) if done < len(WANTED) else FinalAnswer("done")


async def main() -> None:
    await run_agent(Agent(), "report", tools=ToolSet.from_functions(report), policy=Policy.compile(POLICY))


if __name__ == "__main__":
    asyncio.run(main())
