"""A table of facts: the policy reads them as `context.extra`, and the model reads them before the message."""

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence

from bobcat import ActionRequest, FinalAnswer, Message, Policy, ToolCall, ToolSet, tool
from bobcat.stores import MemoryStore
from bobcat.threads import Decided, Facts, Recent, Thread

POLICY = Policy.compile("""
rules:
  - id: paid-customers
    match: {tool: refund, args.customer.in: [acme, globex], context.extra.plan.eq: paid}
    decision: allow
""")
TABLE = sqlite3.connect(":memory:")
TABLE.execute("CREATE TABLE facts (subject TEXT, name TEXT, value TEXT, PRIMARY KEY (subject, name))")
TABLE.executemany("INSERT INTO facts VALUES (?, ?, ?)", [("acme", "plan", "paid"), ("globex", "plan", "trial")])


def facts_about(subject: str) -> dict[str, str]:
    return dict(TABLE.execute("SELECT name, value FROM facts WHERE subject = ?", (subject,)))


async def for_policy(request: ActionRequest) -> Mapping[str, str]:
    """What the table knows about the customer of the call, right before the decision."""
    return facts_about(str(request.args["customer"]))


async def for_model(message: Message) -> str | None:
    """What the table knows about the words of the message."""
    return "\n".join(f"{word}: {facts}" for word in message.content.split() if (facts := facts_about(word))) or None


@tool(reversible=False)
async def refund(customer: str) -> str:
    """Refund the last invoice of a customer."""
    return f"refunded {customer}"


class Agent:
    """Prints the facts it was given, then refunds the customer that the message ends with."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        if conversation[-1].role == "tool":
            return FinalAnswer(conversation[-1].content)
        print(conversation[-2].content)
        return ToolCall("refund", {"customer": conversation[-1].content.split()[-1]})


async def main() -> None:
    tools, facts, store = ToolSet.from_functions(refund), Facts(Recent(), for_model), MemoryStore()
    for customer in ("acme", "globex"):
        thread = Thread(store, customer, agent=Agent(), tools=tools, policy=POLICY, window=facts, extra=for_policy)
        print([event.verdict async for event in thread.send(f"please refund {customer}") if isinstance(event, Decided)])


asyncio.run(main())
