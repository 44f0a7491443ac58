"""Turns of a known length for long threads: a question, calls with their results, and an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bobcat import Budget, FinalAnswer, Message, Policy, ToolCall, ToolSet, Usage, tool
from bobcat.threads import Thread

POLICY = Policy.compile("rules: [{id: look, match: {tool: look}, decision: allow}]")
TURN_MESSAGES = 20
"""Messages of a turn of `Looker`."""


@tool(effect="none")
async def look(place: str) -> str:
    """Look at a place."""
    return f"nothing in {place}"


class Looker:
    """Makes as many calls as its turns need, and answers. It has no `stream`: the number of records is always the same.

    `text` goes out beside each call.
    """

    def __init__(self, messages: int = TURN_MESSAGES, text: str = "") -> None:
        self._calls, self._text = messages // 2 - 1, text

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        done = 0
        for message in reversed(conversation):
            if message.role == "user":
                break
            done += message.role == "tool"
        usage = Usage(100, 10, model="m")
        if done >= self._calls:
            return FinalAnswer("nothing there", usage)
        return ToolCall("look", {"place": f"room {done}"}, f"call_{done}", usage, text=self._text)


def talk(store: Any, id: str, agent: Any = None, **options: Any) -> Thread:
    """A thread of `Looker`."""
    return Thread(
        store, id, agent=agent or Looker(), tools=ToolSet.from_functions(look), policy=POLICY,
        budget=Budget(steps=100), **options,
    )  # fmt: skip


async def take(thread: Thread, turns: int) -> None:
    """Take further turns, each to its end."""
    for number in range(turns):
        await thread.queue(f"look around, {number}")
        await thread._task  # type: ignore[misc]  # the turn has ended, and its worker has released the thread
