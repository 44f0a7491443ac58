"""A program written for lynx-agent runs unchanged: `import lynx` finds Bobcat, which behaves as lynx-agent 2.5 does."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
import asyncio
from lynx import FinalAnswer, ToolCall, ToolSet, __version__, run_agent, tool
from lynx.policy import compile_policy

@tool(scope=("payments",))
async def pay(amount: int) -> str:
    return f"paid {amount}"

class Agent:
    async def step(self, conversation):
        return FinalAnswer(conversation[-1].content) if len(conversation) > 1 else ToolCall("pay", {"amount": 5})

async def main():
    policy = compile_policy("rules: [{id: small, match: {tool: pay, args.amount.between: [1, 10]}, decision: allow}]")
    result = await run_agent(Agent(), "pay", tools=ToolSet.from_functions(pay), policy=policy)
    print(f"lynx {__version__}: {result.final_answer}, policy {policy.id}")

asyncio.run(main())
"""


async def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "program.py"
        program.write_text(PROGRAM)
        command = [sys.executable, "-m", "bobcat.lynx", str(program)]
        print(
            (await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=True)).stdout,
            end="",
        )


if __name__ == "__main__":
    asyncio.run(main())
