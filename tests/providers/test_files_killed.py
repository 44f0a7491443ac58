"""Processes that are killed in the middle of a call: files are whole, and the resumed call happened once."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bobcat import Guard, Outcome
from bobcat.providers import files
from bobcat.providers.filesystem.writing import DRAFT_PREFIX
from providers.killed_writer import LEASE_SECONDS, POLICY

WRITE = ("fs.write", {"path": "ws/f", "content": "new"})
DELETE = ("fs.delete", {"path": "ws/f"})
MOVE = ("fs.move", {"path": "ws/f", "to": "ws/g"})
OLD, NEW, GONE, MOVED = {"f": "old"}, {"f": "new"}, {}, {"g": "old"}
CASES = [
    (WRITE, "rename", "before", OLD, NEW, "ok"),
    (WRITE, "rename", "after", NEW, NEW, "ok"),
    (WRITE, "fsync", "before", OLD, NEW, "ok"),
    (DELETE, "unlink", "after", GONE, GONE, "ok"),
    (DELETE, "unlink", "before", OLD, OLD, "waiting"),  # the file may be a new one: a person decides
    (MOVE, "rename_noreplace", "before", OLD, MOVED, "ok"),
    (MOVE, "rename_noreplace", "after", MOVED, MOVED, "ok"),
]
USUAL = (1, 4)
"""The cases that are tried without a campaign."""


def content(base: Path) -> dict[str, str]:
    return {each.name: each.read_text() for each in (base / "ws").iterdir() if not each.name.startswith(DRAFT_PREFIX)}


@pytest.mark.parametrize(
    ("call", "function", "when", "left", "then", "status"),
    [pytest.param(*case, marks=() if n in USUAL else pytest.mark.slow) for n, case in enumerate(CASES)],
)
def test_a_killed_call_leaves_whole_files_and_is_completed_once(
    call: tuple[str, dict[str, Any]],
    function: str,
    when: str,
    left: dict[str, str],
    then: dict[str, str],
    status: str,
    tmp_path: Path,
) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/f").write_text("old")
    script = Path(__file__).with_name("killed_writer.py")
    command = [sys.executable, str(script), str(tmp_path), call[0], json.dumps(call[1]), function, when]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert content(tmp_path) == left
    time.sleep(LEASE_SECONDS)
    outcome = asyncio.run(submitted_again(tmp_path, call))
    assert outcome.status == status, outcome
    assert content(tmp_path) == then


async def submitted_again(base: Path, call: tuple[str, dict[str, Any]]) -> Outcome:
    tools = files("ws", base=base)
    async with Guard(POLICY, tools, store=f"sqlite:///{base}/runs.db", lease_seconds=LEASE_SECONDS) as guard:
        outcome = await guard.submit(*call, key="one")
        while outcome.code == "busy":
            await asyncio.sleep(0.1)
            outcome = await guard.submit(*call, key="one")
        return outcome
