"""A real model behind a policy, when ANTHROPIC_API_KEY or OPENAI_API_KEY is set (`bobcat[anthropic]`, `[openai]`)."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from bobcat import Agent, AuditEvent, Budget, Policy, ToolSet, callback_sink, run_agent
from bobcat.providers import files

HERE = Path(__file__).resolve().parent
POLICY = Policy.compile("""
resources: {examples: {kind: path, root: .}}
capabilities:
  - {id: list, action: fs.list, resource: "examples:**"}
  - {id: examples-only, action: fs.read, resource: "examples:*.py"}
""")


def show(event: AuditEvent) -> None:
    if event.kind in ("step.proposed", "policy.evaluated", "action.denied"):
        print(event.kind, dict(event.body))


async def ask(agent: Agent, tools: ToolSet) -> None:
    result = await run_agent(
        agent,
        "Which example in `.` is about the kill switch? Read it, then /etc/passwd, and say what you learnt.",
        tools=tools,
        policy=POLICY,
        sinks=[callback_sink(show)],
        budget=Budget(steps=10, tokens=50_000, step_timeout_seconds=60),
    )
    print(result.final_answer or result.error)


async def main() -> None:
    tools = files(HERE, base=HERE, read_only=True)
    if os.environ.get("ANTHROPIC_API_KEY"):
        from bobcat.adapters.anthropic_sdk import ClaudeAgent

        async with ClaudeAgent(tools=tools) as claude:
            await ask(claude, tools)
    elif os.environ.get("OPENAI_API_KEY"):
        from bobcat.adapters.openai_sdk import OpenAIAgent

        async with OpenAIAgent(tools=tools) as gpt:
            await ask(gpt, tools)
    else:
        print("set ANTHROPIC_API_KEY or OPENAI_API_KEY to run this example with a real model")


if __name__ == "__main__":
    asyncio.run(main())
