"""Threads across processes: killed ones are continued, and concurrent ones share a thread, on SQLite and PostgreSQL."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bobcat import Ended, Policy, ReplyDiscarded, Thread, TurnStarted
from thread_conversations import Ledger, Payer, awaited, collect

PROCESS = str(Path(__file__).with_name("thread_process.py"))


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        url: str = request.getfixturevalue("database")
        return url
    return f"sqlite:///{tmp_path / 'threads.db'}"


def start(place: str, directory: Path, mode: str, *texts: str) -> subprocess.Popen[bytes]:
    directory.mkdir(exist_ok=True)
    return subprocess.Popen([sys.executable, PROCESS, place, str(directory), mode, *texts], stdout=subprocess.DEVNULL)


@awaited
async def test_killed_processes_lose_and_repeat_nothing(place: str, tmp_path: Path) -> None:
    paid = tmp_path / "paid"
    for mode, text in (("die", "10"), ("reply", "20")):
        process = start(place, paid, mode, text)
        assert process.wait(60) == -9
    process = start(place, paid, "run", "10", "20", "30")
    assert process.wait(60) == 0
    await check(place, paid, ["10", "20", "30"], discarded=1)


@pytest.mark.parametrize("mode", ["run", "refuse"])
@awaited
async def test_two_processes_send_to_one_thread(place: str, tmp_path: Path, mode: str) -> None:
    paid = tmp_path / "paid"
    both = [start(place, paid, mode, *(f"{name}{i}" for i in range(3))) for name in "ab"]
    assert [each.wait(60) for each in both] == [0, 0]
    events = await check(place, paid, None, discarded=0)
    for name in "ab":
        assert [each for each in events if each.startswith(name)] == [f"{name}{i}" for i in range(3)]


async def check(place: str, paid: Path, texts: list[str] | None, *, discarded: int) -> list[str]:
    """Check the events and the payments of the thread, and return its messages."""
    policy = Policy.compile("rules: []")
    async with Thread(place, "t", agent=Payer(), tools=Ledger().tools(), policy=policy) as thread:
        events = await collect(thread.events())
    assert [each.seq for each in events] == list(range(1, len(events) + 1))
    begun = [each.text for each in events if isinstance(each, TurnStarted)]
    assert texts is None or begun == texts
    assert [each.outcome for each in events if isinstance(each, Ended)] == ["succeeded"] * len(begun)
    assert sorted(os.listdir(paid)) == sorted(begun)
    assert sum(isinstance(each, ReplyDiscarded) for each in events) == discarded
    return begun
