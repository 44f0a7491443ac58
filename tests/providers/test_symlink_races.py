"""A process that swaps directories and files for links all the time: no byte is read or written outside of the root."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import campaign
from bobcat import ToolError
from bobcat.providers import files
from bobcat.providers.filesystem.root import RESOLVERS, SYMLINKS, Resolver, Symlinks

SECONDS = 30.0 if campaign.SIZE else 0.3
"""Least duration of one race; there are four."""
PATIENCE = 60.0
"""Seconds after which a race ends that did not execute every tool and refuse a path."""
SECRET = "the secret outside"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names are exchanged at once on Linux only")


class Race:
    """`ws/d` is a directory or a link to `outside`, `ws/f` and `ws/g` are files or links to `outside/f`."""

    def __init__(self, base: Path) -> None:
        self.base, self.ws, self.outside = base, base / "ws", base / "outside"
        for directory, content in ((self.ws / "d", "inside"), (self.outside, SECRET)):
            directory.mkdir(parents=True)
            for name in ("f", "victim", "log"):
                (directory / name).write_text(content)
            (directory / "empty").mkdir()
        (self.ws / "d-link").symlink_to("../outside")
        for name in ("f", "g"):
            (self.ws / name).write_text("inside")
            (self.ws / f"{name}-link").symlink_to("../outside/f")

    def state(self) -> list[Any]:
        """Names, inodes, times of change and contents of what is outside."""
        found = []
        for path in (self.outside, *sorted(self.outside.rglob("*"))):
            status = path.stat()
            content = path.read_text() if path.is_file() else None
            found.append((path.name, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, content))
        return found

    def read_naively(self) -> str:
        """A check of the path followed by an open of it, as tools often do. The control: the race is real."""
        path = self.ws / "d" / "f"
        try:
            return path.read_text() if self.ws in path.resolve().parents else ""
        except OSError:  # the path changed within one system call after the other
            return ""


@contextmanager
def swapping(race: Race) -> Iterator[None]:
    script = Path(__file__).with_name("swapper.py")
    command = [sys.executable, script, race.ws, "d", "d-link", "f", "f-link", "g", "g-link"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"swapping\n"
        try:
            yield
            assert process.poll() is None
        finally:
            process.stdin.close()
            process.wait(10)


def calls(number: int) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("fs.read", {"path": "ws/d/f"}),
        ("fs.read", {"path": "ws/g"}),
        ("fs.read", {"path": "ws/d/../d/victim"}),
        ("fs.list", {"path": "ws/d"}),
        ("fs.write", {"path": "ws/d/f", "content": "inside"}),
        ("fs.write", {"path": f"ws/d/new{number % 10}", "content": "inside"}),
        ("fs.write", {"path": "ws/f", "content": "inside"}),
        ("fs.append", {"path": "ws/d/log", "content": "."}),
        ("fs.append", {"path": "ws/g", "content": "inside"}),
        ("fs.mkdir", {"path": f"ws/d/m{number % 10}"}),
        ("fs.delete", {"path": f"ws/d/m{number % 10}"}),
        ("fs.delete", {"path": "ws/d/empty"}),
        ("fs.move", {"path": "ws/d/victim", "to": "ws/d/moved"}),
        ("fs.move", {"path": "ws/d/moved", "to": "ws/d/victim"}),
    ]


@pytest.mark.parametrize("symlinks", SYMLINKS)
@pytest.mark.parametrize("resolver", RESOLVERS)
def test_nothing_outside_is_read_or_written(resolver: Resolver, symlinks: Symlinks, tmp_path: Path) -> None:
    race = Race(tmp_path)
    tools = files(race.ws, base=tmp_path, resolver=resolver, symlinks=symlinks)
    before, done = race.state(), Counter[tuple[str, bool]]()
    every_tool = {tool for tool, _ in calls(0)}

    def varied() -> bool:
        return {tool for tool, ok in done if ok} == every_tool and done["fs.read", False] > 0

    async def play() -> None:
        start = time.monotonic()
        for number in count():
            for tool, args in calls(number):
                try:
                    shown = repr(await tools.get(tool).fn(**args))
                except ToolError as error:
                    shown = f"refused: {error}"
                assert SECRET not in shown
                done[tool, not shown.startswith("refused")] += 1
            taken = time.monotonic() - start
            if taken > PATIENCE or (taken > SECONDS and varied()):
                return

    with swapping(race):
        asyncio.run(play())
    assert race.state() == before
    assert varied(), done


def test_a_tool_that_checks_and_opens_afterwards_is_tricked(tmp_path: Path) -> None:
    race, until = Race(tmp_path), time.monotonic() + 30
    with swapping(race):
        while time.monotonic() < until and race.read_naively() != SECRET:
            pass
    assert time.monotonic() < until
