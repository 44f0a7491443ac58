"""A soak: a process takes turns in one thread, and its memory does not grow with their number."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROCESS = str(Path(__file__).with_name("soak_process.py"))
WARM = 500
"""Turns until the caches are full: the thread keeps the messages of 256 turns."""


def memory(store: str, turns: int, every: int) -> dict[int, int]:
    """The resident memory in KiB by the number of turns."""
    done = subprocess.run(
        [sys.executable, PROCESS, store, str(turns), str(every)], capture_output=True, text=True, check=True
    )
    return {int(number): int(size) for number, size in map(str.split, done.stdout.splitlines())}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_2000_turns_leave_the_memory_of_a_process_as_it_was(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    store = str(tmp_path / "threads.db") if kind == "sqlite" else request.getfixturevalue("database")
    found = memory(store, 2000, 250)
    assert list(found) == list(range(250, 2001, 250))
    assert found[2000] <= found[WARM] + 4_096, found


def test_turns_are_taken_and_their_memory_is_read(tmp_path: Path) -> None:
    found = memory(str(tmp_path / "threads.db"), 6, 2)
    assert list(found) == [2, 4, 6]
    assert all(10_000 < size < 1_000_000 for size in found.values()), found
