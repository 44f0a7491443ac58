"""SIGKILL at every boundary of an effect and of an undo: recoverable, never half, and the same after recovery."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from undo.scenarios import POSTGRES, SCENARIOS

SECONDS = 300
FEWEST = 12
"""Fewest boundaries that any phase has: two for each of the statements of the undo store alone."""

USUAL = {("write", "effect"), ("write", "undo")}
"""The phases that are tried without a campaign."""
IN_STEPS = ("append", "append-new", "mkdir-parents")
"""Effects of the provider that a kill can cut in two. Recovery takes the first part back."""


def reports(directory: Path, name: str, phase: str, environment: dict[str, str]) -> list[dict[str, Any]]:
    """The report of each boundary; the last one is that of a process that was not killed."""
    program = Path(__file__).with_name("killing.py")
    done = subprocess.run(
        [sys.executable, str(program), str(directory), name, phase],
        capture_output=True, text=True, timeout=SECONDS, check=False,
        env={**os.environ, **environment, "PYTHONPATH": str(program.parents[1])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """A directory in memory where there is one: a kill does not lose what the kernel has, and syncs cost time."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else tmp_path) as found:
        yield Path(found) / "killed"


def is_whole(state: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> bool:
    """True if each resource is as before, as after, or absent between its two names."""
    names = {*state, *before, *after}
    return all(
        state.get(name) in (before.get(name), after.get(name)) for name in names if not name.startswith(".bobcat-undo-")
    )


@pytest.mark.parametrize(
    "name, phase",
    [
        pytest.param(name, phase, marks=() if (name, phase) in USUAL else pytest.mark.slow)
        for name in SCENARIOS
        for phase in ("effect", "undo")
    ],
)
def test_a_kill_at_every_boundary_is_recovered_from(
    name: str, phase: str, directory: Path, request: pytest.FixtureRequest
) -> None:
    server = name.startswith("postgres")
    found = reports(directory, name, phase, {POSTGRES: request.getfixturevalue("database")} if server else {})
    assert len(found) > FEWEST
    assert found[-1]["whole"]
    before = found[0]["before"]
    after = found[-1]["after"]
    outcomes: Counter[str] = Counter()
    for each in found:
        _, state = each["entries"][-1] if each["entries"] else ("", "")
        outcomes[state] += 1
        assert each["problems"] == [], each
        assert each["again"] == [], each
        assert name in IN_STEPS or is_whole(each["killed"], before, after), each
        if state == "uncertain":  # a tool's own functions prove no absence
            assert (name, phase) == ("function", "effect")
            assert each["recovered"] in (before, after)
        elif state == "done":
            assert each["recovered"] == after, each
            assert each["undone"] == before, each
        else:
            assert state == ("applied" if phase == "undo" else ""), each
            assert each["recovered"] == before, each
        if len(each["entries"]) > 1:
            assert each["entries"][0] == ["undo.apply", "done"], each
    assert outcomes["done"], "no kill came after the effect"
    assert outcomes["applied" if phase == "undo" else "uncertain" if name == "function" else ""], outcomes
