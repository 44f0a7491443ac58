"""Patterns after the run: pairs of calls where one uses what the other returned, found by a sink with results."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from bobcat import AuditEvent, FinalAnswer, Message, Policy, ToolCall, ToolSet, tool
from bobcat.stores import MemoryStore
from bobcat.threads import Thread

POLICY = Policy.compile("rules: [{id: known, match: {tool.in: [find_invoice, notify]}, decision: allow}]")


@tool()
async def find_invoice(customer: str) -> str:
    return f"invoice-{customer}"


@tool(reversible=False)
async def notify(about: str) -> str:
    return "notified"


class Agent:
    """Finds the invoice of the customer in the message, and notifies the accountant about it."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        last = conversation[-1]
        if last.role == "user":
            return ToolCall("find_invoice", {"customer": last.content})
        return ToolCall("notify", {"about": last.content[5:]}) if last.name == "find_invoice" else FinalAnswer("done")


class Workflows:
    """Counts pairs of calls of which the second has the result of the first among its arguments."""

    results = True  # asks for `action.result` events

    def __init__(self) -> None:
        self.found: Counter[tuple[str, str]] = Counter()
        self._returned: dict[str, str] = {}

    async def __call__(self, event: AuditEvent) -> None:
        if event.kind == "step.proposed":
            sources = {self._returned[value] for value in event.body["args"].values() if value in self._returned}
            self.found.update((source, event.body["tool"]) for source in sources)
        elif event.kind == "action.result" and event.body["ok"]:
            self._returned[event.body["message"].removeprefix("[ok] ")] = event.body["tool"]


async def main() -> None:
    workflows, tools = Workflows(), ToolSet.from_functions(find_invoice, notify)
    async with Thread(MemoryStore(), "acme", agent=Agent(), tools=tools, policy=POLICY, sinks=[workflows]) as thread:
        for customer in ("ada", "bob", "ada"):
            print(len([event async for event in thread.send(customer)]), "events")
    print(workflows.found.most_common())


asyncio.run(main())
