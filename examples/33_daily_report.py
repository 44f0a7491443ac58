"""An agent proposes a daily job, a person consents to what they see, and it fires into a thread: on one SQLite file.

The clock of the store is moved a day on here; a worker (`bobcat worker APP --store sqlite:///runs.db`) waits for it.
"""

import asyncio
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bobcat import (
    Ended,
    FinalAnswer,
    Message,
    Policy,
    SQLiteStore,
    Thread,
    ToolCall,
    ToolSet,
    TriggerError,
    Triggers,
    TurnStarted,
    WorkerTriggers,
    tool,
)
from bobcat.workers import Job, Runner, StoreDispatcher, Workers

POLICY = Policy.compile("""
rules:
  - {id: read, match: {tool: sales}, decision: allow}
  - {id: propose, match: {tool: propose_trigger, args.run.eq: report}, decision: allow}
""")
NOW = [datetime(2026, 11, 23, 15, tzinfo=UTC)]
workers = Workers()
app = WorkerTriggers(workers)


@tool(effect="idempotent", reversible=True)
async def sales(day: str) -> str:
    """The sales of a day."""
    return "120 EUR"


class Reporter:
    """Reports the sales; asked for it daily, it proposes a trigger."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        last = conversation[-1]
        if last.role == "tool":
            return FinalAnswer(last.content)
        if "every day" in last.content:
            payload = {"task": "report the sales"}
            return ToolCall("propose_trigger", {"run": "report", "cron": "0 9 * * *", "payload": payload})
        return ToolCall("sales", {"day": "yesterday"})


@workers.run("report")
def report(job: Job) -> dict[str, Any]:
    return {"agent": Reporter(), "task": job.payload["task"], "tools": ToolSet.from_functions(sales), "policy": POLICY}


async def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        store = SQLiteStore(Path(directory) / "runs.db", clock=lambda: NOW[0])
        triggers = Triggers(store, app)
        propose = triggers.tool(by="agent:reporter", names=["report"], thread="acme/42")
        tools = ToolSet({"sales": ToolSet.from_functions(sales).get("sales"), propose.name: propose})

        async with Thread(store, "acme/42", agent=Reporter(), tools=tools, policy=POLICY) as thread:
            async for event in thread.send("Report the sales every day at nine."):
                if isinstance(event, Ended):
                    print("agent:", str(event.answer).partition(" as ")[0])

        async def next_day() -> None:
            NOW[0] += timedelta(days=1)
            work = StoreDispatcher(until_idle=True).work
            await work(Runner(workers, store), concurrency=1, stop=asyncio.Event(), grace_seconds=5)

        await next_day()
        (trigger,) = await triggers.list()
        print(f"{trigger.state}: {trigger.name} {trigger.expression}, proposed by {trigger.by.id}")
        seen = await triggers.digest(trigger.id)
        try:
            await triggers.confirm(trigger.id, by="agent:reporter", digest=seen)
        except TriggerError as error:
            print("the agent cannot confirm:", error.code)
        print("alice confirms:", (await triggers.confirm(trigger.id, by="alice", digest=seen)).state)
        await next_day()
        await next_day()
        print("fired:", [each.due.strftime("%d %b %H:%M") for each in await triggers.history(trigger.id)])

        async for event in thread.events():
            if isinstance(event, TurnStarted | Ended):
                print(f"  turn {event.turn}:", event.text if isinstance(event, TurnStarted) else event.outcome)
        print("another payload:", (await triggers.change(trigger.id, payload={"task": "pay"}, by="bob")).reason)
        await store.aclose()


if __name__ == "__main__":
    asyncio.run(main())
