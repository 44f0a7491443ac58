"""Patterns after the run: sequences of calls that succeed again and again, found in the events of a thread."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise

from bobcat import FinalAnswer, Message, Policy, ToolCall, ToolSet, tool
from bobcat.stores import MemoryStore
from bobcat.threads import CallResult, Ended, Thread, ThreadEvent

POLICY = Policy.compile("""
rules:
  - {id: known, match: {tool.in: [find_invoice, notify]}, decision: allow}
""")


@tool()
async def find_invoice() -> str:
    """Find the last invoice."""
    return "invoice 12"


@tool(reversible=False)
async def notify() -> str:
    """Notify the accountant."""
    return "notified"


class Agent:
    """Makes the calls that the message names."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        asked = max(number for number, message in enumerate(conversation) if message.role == "user")
        names, done = conversation[asked].content.split(), len(conversation[asked:]) // 2
        return ToolCall(names[done], {}) if done < len(names) else FinalAnswer("done")


async def repeated(events: AsyncIterator[ThreadEvent]) -> list[tuple[tuple[str, str], int]]:
    """Pairs of calls that succeed one after the other in more than one turn, the most frequent first."""
    found: Counter[tuple[str, str]] = Counter()
    calls: list[str] = []
    async for event in events:
        if isinstance(event, CallResult) and event.ok:
            calls.append(event.tool)
        elif isinstance(event, Ended):
            found.update(set(pairwise(calls)))
            calls = []
    return [(pair, turns) for pair, turns in found.most_common() if turns > 1]


async def main() -> None:
    tools = ToolSet.from_functions(find_invoice, notify)
    thread = Thread(MemoryStore(), "acme/42", agent=Agent(), tools=tools, policy=POLICY)
    for text in ("find_invoice notify", "notify find_invoice", "find_invoice notify"):
        print(len([event async for event in thread.send(text)]), "events")
    print(await repeated(thread.events()))


asyncio.run(main())
