"""A process of threads with one window each: `python window_process.py STORE FILE MODE`.

Each agent writes the conversations that it sees into the file. With the mode `die`, the process kills itself when the
last turn of every thread waits in its second call; with `resume`, it continues those turns. Summaries, facts and
compressors differ between the modes.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bobcat import (
    Compressed,
    Facts,
    FinalAnswer,
    LastMessages,
    LastTokens,
    Message,
    Pinned,
    Policy,
    Recent,
    SQLiteStore,
    Summary,
    Thread,
    ToolCall,
    ToolSet,
    tool,
    truncate_compressor,
)
from bobcat.threads import Turn

STORE, FILE, MODE = sys.argv[1:]
POLICY = Policy.compile("rules: [{id: look, match: {tool: look}, decision: allow}]")
shorter = truncate_compressor(max_chars=20 if MODE == "die" else 50)


async def summarise(earlier: str | None, turns: Sequence[Turn]) -> str:
    return " ".join([*([earlier] if earlier else []), *(turn.messages[0].content for turn in turns)]) + f" ({MODE})"


async def facts(message: Message) -> str:
    return f"{message.content}: {MODE}"


CASES: dict[str, dict[str, Any]] = {
    "default": {},
    "last": {"window": LastMessages(4)},
    "tokens": {"window": LastTokens(160)},
    "recent": {"window": Recent(8, 10_000)},
    "summary": {"window": Summary(summarise, LastMessages(4))},
    "pinned": {"window": Pinned(LastMessages(4))},
    "compressed": {"window": Compressed(LastMessages(8), shorter)},
    "facts": {"window": Facts(LastMessages(4), facts)},
    "compressor": {"window": LastMessages(4), "compressor": shorter},
}
waiting: list[str] = []


@tool(effect="none")
async def look(what: str) -> str:
    """Look."""
    if what == "wait" and MODE == "die":
        waiting.append(what)
        if len(waiting) == len(CASES):
            os.kill(os.getpid(), signal.SIGKILL)
        await asyncio.get_running_loop().create_future()
    return f"{what}: {'x' * 100}"


class Looker:
    """Looks for what the user says; in the last turn, twice."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        _write(json.dumps([self._name, [_plain(each) for each in conversation]]))
        question = max(number for number, each in enumerate(conversation) if each.role == "user")
        said, calls = conversation[question].content, (len(conversation) - question) // 2
        if calls == 0:
            return ToolCall("look", {"what": said})
        return ToolCall("look", {"what": "wait"}) if said == "last" and calls == 1 else FinalAnswer(f"answer {said}")


def _write(line: str) -> None:
    with Path(FILE).open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def _plain(message: Message) -> dict[str, Any]:
    args = message.tool_call_args
    return {**asdict(message), "tool_call_args": None if args is None else dict(args)}


async def run(store: SQLiteStore, name: str) -> None:
    thread = Thread(
        store, name, agent=Looker(name), tools=ToolSet.from_functions(look), policy=POLICY, lease_seconds=0.5,
        **CASES[name],
    )  # fmt: skip
    async with thread:
        if MODE == "resume":
            async for _ in thread.resume():
                pass
            return
        for text in ("one", "two", "three", "last"):
            async for _ in thread.send(text):
                pass
            if text == "one":
                await thread.pin(1)


async def main() -> None:
    store = SQLiteStore(STORE)
    await asyncio.gather(*(run(store, name) for name in CASES))
    await store.aclose()


asyncio.run(main())
