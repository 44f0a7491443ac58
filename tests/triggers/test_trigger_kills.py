"""A worker is killed at its store operations, two others continue: each firing once, none lost, the history exact."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parent / "killed_worker.py"
FIRINGS = {"once": 1, "skip": 1, "all": 3}
"""Firings after a downtime in which three times have passed; with `skip`, after one with an old and a recent time."""


def killed(url: str, directory: Path, catch_up: str, target: str, *, first: int, step: int) -> list[dict[str, Any]]:
    """What has happened after each kill."""
    directory.mkdir()
    command = [sys.executable, str(PROGRAM), url, str(directory), catch_up, target, str(first), str(step)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def check(found: list[dict[str, Any]], catch_up: str, target: str) -> None:
    firings = FIRINGS[catch_up]
    assert [each["killed"] for each in found] == [True] * (len(found) - 1) + [False]
    assert len(found) >= 3
    for each in found:
        assert each == {
            **each,
            "runs": ["succeeded"] * firings,
            "history": ["queued"] * firings,
            "effects": firings,
            "turns": firings if target == "thread" else 0,
            "codes": [0, 0],
        }


SAMPLES = [
    ("once", "run", 0, 17),
    pytest.param("skip", "run", 1, 19, marks=pytest.mark.slow),
    pytest.param("all", "run", 2, 23, marks=pytest.mark.slow),
    pytest.param("once", "thread", 0, 11, marks=pytest.mark.slow),
    pytest.param("all", "thread", 3, 41, marks=pytest.mark.slow),
    pytest.param("once", "run", 0, 1, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("catch_up", "target", "first", "step"), SAMPLES)
def test_kills_on_sqlite(tmp_path: Path, catch_up: str, target: str, first: int, step: int) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"
    check(killed(url, tmp_path / "effects", catch_up, target, first=first, step=step), catch_up, target)


@pytest.mark.parametrize(("catch_up", "target", "first", "step"), [("once", "run", 5, 21), *SAMPLES[1:5]])
def test_kills_on_postgresql(tmp_path: Path, database: str, catch_up: str, target: str, first: int, step: int) -> None:
    found = killed(database, tmp_path / "effects", catch_up, target, first=first, step=step)
    check(found, catch_up, target)
