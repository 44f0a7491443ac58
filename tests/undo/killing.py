"""Kills processes at every boundary of an effect or of an undo, and reports what recovery makes of each.

A program of its own, which forks: `python killing.py DIRECTORY SCENARIO PHASE` prints a line of JSON for each boundary.
A boundary is before and after each statement of the undo store and of the database, and each call that changes a file;
a write is also cut in two.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bobcat import Guard, Undo
from bobcat.undo.store import UndoStore
from undo.scenarios import POLICY, SCENARIOS, Scenario

CALLS = ("rename", "fsync", "unlink", "rmdir", "mkdir", "symlink", "utime", "fchmod", "ftruncate", "link")
MOST = 400
"""More boundaries than any scenario has: a process that is never killed would loop for ever."""


class Countdown:
    """Kills this process at boundary `at`, counted from 1."""

    def __init__(self, at: int) -> None:
        self.left = at

    def tick(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def ticking(*args: Any, **options: Any) -> Any:
            self.tick()
            found = call(*args, **options)
            self.tick()
            return found

        return ticking

    def install(self, scenario: Scenario) -> None:
        for name in CALLS:
            setattr(os, name, self.around(getattr(os, name)))
        os.write = self._halves(os.write)  # type: ignore[assignment]
        UndoStore.run = self.around(UndoStore.run)  # type: ignore[method-assign]
        scenario.install(self.around)

    def _halves(self, write: Callable[..., int]) -> Callable[..., int]:
        def halved(fd: int, data: Any) -> int:
            self.tick()
            half = len(data) // 2
            if half:
                write(fd, data[:half])
                self.tick()
            done = half + write(fd, data[half:])
            self.tick()
            return done

        return halved


def in_child(work: Callable[[], Any]) -> tuple[int, Any]:
    """Fork, call `work` there, and return the exit status and its JSON value, None after a kill."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        try:
            value = json.dumps(work())
            with open(write, "w") as out:
                out.write(value)
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    os.close(write)
    with open(read) as file:
        text = file.read()
    _, status = os.waitpid(pid, 0)
    return status, json.loads(text) if text else None


async def effect(scenario: Scenario, place: str) -> None:
    async with Undo(place) as undo:
        tools = undo.protect(scenario.tools()).union(undo.tools())
        async with Guard(POLICY, tools) as guard:
            outcome = await guard.submit(scenario.tool, scenario.args)
            assert outcome.status == "ok", outcome


async def roll_back(scenario: Scenario, place: str) -> None:
    async with Undo(place) as undo:
        undo.protect(scenario.tools())
        (entry,) = await undo.entries(tool=scenario.tool)
        await undo.apply(entry.id)


async def recover(scenario: Scenario, place: str) -> dict[str, Any]:
    """Recover, and return the states before and after it. A change that is recorded is then undone: the way back."""
    found: dict[str, Any] = {"killed": scenario.state()}
    async with Undo(place) as undo:
        undo.protect(scenario.tools())
        found["problems"] = [each.problem for each in await undo.recover() if each.problem]
        found["recovered"] = scenario.state()
        entries = await undo.entries()
        found["entries"] = [[each.tool, each.state] for each in entries]
        found["again"] = [each.id for each in await undo.recover()]
        done = [each for each in entries if each.tool == scenario.tool and each.state == "done"]
        if done:
            await undo.apply(done[0].id)
            found["undone"] = scenario.state()
    return found


def boundary(directory: Path, name: str, phase: str, at: int) -> dict[str, Any]:
    """Kill a process at one boundary, and recover in another one."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    scenario = SCENARIOS[name](directory)
    place = str(directory / "undo.db")
    report: dict[str, Any] = {"at": at, "before": scenario.state()}
    if phase == "undo":
        status, _ = in_child(lambda: asyncio.run(effect(scenario, place)))
        assert status == 0
        report["after"] = scenario.state()

    def work() -> None:
        Countdown(at).install(scenario)
        asyncio.run((effect if phase == "effect" else roll_back)(scenario, place))

    status, _ = in_child(work)
    report["whole"] = status == 0
    assert status in (0, signal.SIGKILL), status
    if phase == "effect" and status == 0:
        report["after"] = scenario.state()
    status, found = in_child(lambda: asyncio.run(recover(scenario, place)))
    assert status == 0
    return {**report, **found}


def main() -> None:
    directory, name, phase = sys.argv[1:]
    for at in range(1, MOST):
        report = boundary(Path(directory), name, phase, at)
        print(json.dumps(report), flush=True)
        if report["whole"]:
            return


if __name__ == "__main__":
    main()
