"""Windows and compressors of real threads: a killed turn that another process resumes has the same conversation."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bobcat import MemoryStore, Message, SQLiteStore, Thread
from bobcat.errors import ThreadError
from bobcat.threads.history import Choice, History
from thread_conversations import POLICY, Ledger, Payer, awaited, collect

PROCESS = str(Path(__file__).with_name("window_process.py"))
TURN = {text: [text, "", f"[ok] {text}: {'x' * 100}", f"answer {text}"] for text in ("one", "two", "three", "last")}


def shortened(text: str) -> str:
    whole = TURN[text][2].removeprefix("[ok] ")
    return f"[ok] {whole[:12]}\n…[{len(whole) - 20} characters left out]…\n{whole[-8:]}"


SEEN = {
    "default": [*TURN["one"], *TURN["two"], *TURN["three"]],
    "last": TURN["three"],
    "tokens": ["two", "answer two", *TURN["three"]],
    "recent": [*TURN["two"], *TURN["three"]],
    "summary": ["[Summary of the conversation up to here]\none (die) two (die)", *TURN["three"]],
    "pinned": [*TURN["one"], *TURN["three"]],
    "compressed": ["two", "", shortened("two"), "answer two", *TURN["three"]],
    "facts": [*TURN["three"], "[Facts]\nlast: die"],
    "compressor": ["three", "", shortened("three"), "answer three"],
}


def run(directory: Path, mode: str) -> tuple[int, dict[str, list[Any]]]:
    """Run a process, and return the last conversation that each agent saw."""
    seen = directory / mode
    done = subprocess.run([sys.executable, PROCESS, str(directory / "threads.db"), str(seen), mode], timeout=60)
    lines = map(json.loads, seen.read_text(encoding="utf-8").splitlines())
    return done.returncode, dict(lines)


@awaited
async def test_a_resumed_turn_has_the_conversation_that_the_killed_one_had(tmp_path: Path) -> None:
    code, before = run(tmp_path, "die")
    assert code == -9
    for name, seen in SEEN.items():
        last = [*TURN["last"][:2], shortened("last") if name == "compressor" else TURN["last"][2]]
        assert [each["content"] for each in before[name]] == [*seen, *last], name
    code, after = run(tmp_path, "resume")
    assert code == 0
    for name in SEEN:
        assert json.dumps(after[name][:-2]) == json.dumps(before[name]), name
        assert len(after[name]) == len(before[name]) + 2
    store = SQLiteStore(tmp_path / "threads.db")
    records = await store.load("thread:compressor#4")
    await store.aclose()
    wholes = [each.body["whole"] for each in records if "whole" in each.body]
    assert len(wholes) == 2
    assert all("x" * 100 in json.dumps(whole) for whole in wholes)


class Pins:
    """Shows nothing, and notes the numbers of the pinned turns."""

    async def choose(self, history: History, message: Message) -> Choice:
        self.found = [turn.number for turn in await history.pinned()]
        return []


@awaited
async def test_pins_belong_to_one_thread_and_are_taken_away() -> None:
    store, pins, payments = MemoryStore(), Pins(), Ledger()
    options: dict[str, Any] = {"agent": Payer(), "tools": payments.tools(), "policy": POLICY, "window": pins}
    async with Thread(store, "acme", **options) as short, Thread(store, "acme/42", **options) as long:
        for talk in (short, long):
            for text in ("10", "20"):
                await collect(talk.send(text))
        await short.pin(1)
        await long.pin(2)
        for talk, found in ((short, [1]), (long, [2])):
            await collect(talk.send("30"))
            assert pins.found == found
        await long.pin(2, False)
        await collect(long.send("40"))
        assert pins.found == []
        for wrong in (0, 9, True, "1"):
            with pytest.raises(ThreadError) as error:
                await long.pin(wrong)  # type: ignore[arg-type]
            assert error.value.code == "bad_turn"
