"""A process of a thread: `python attaching_process.py STORE MODE` sends two messages, or continues what another left.

The agent answers with the messages that it saw and the bytes beside them. With the mode `die`, the process kills itself
in the second turn, after a call.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence

from bobcat import Ended, FinalAnswer, Message, Policy, Thread, ToolCall, ToolSet, tool
from bobcat.attachments import Attachment

STORE, MODE = sys.argv[1:]
IMAGE = Attachment.from_bytes(b"\x89PNG\r\n\x1a\n" + bytes(16), name="shot.png")
NOTE = Attachment.text("12 EUR", name="bill.txt")


@tool
async def look() -> str:
    """Look."""
    return "seen"


class Reader:
    """Looks, and says what it was shown."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        last = conversation[-1]
        if last.role == "user":
            return ToolCall("look", {})
        if MODE == "die" and any(each.content == "and now the bill" for each in conversation):
            os.kill(os.getpid(), signal.SIGKILL)
        shown = [(each.content, [file.content().hex() for file in each.attachments]) for each in conversation]
        return FinalAnswer(repr([each for each in shown if each[1]]))


async def main() -> None:
    policy = Policy.compile("rules: [{id: look, match: {tool: look}, decision: allow}]")
    tools = ToolSet.from_functions(look)
    async with Thread(STORE, "t", agent=Reader(), tools=tools, policy=policy, lease_seconds=0.3) as thread:
        for text, files in (("look", [IMAGE]), ("and now the bill", [NOTE, IMAGE])):
            events = [event async for event in thread.send(text, attachments=files, key=text)]
            assert isinstance(events[-1], Ended)
            print(events[-1].answer, flush=True)


asyncio.run(main())
