"""A client whose process is killed at any await of a turn goes on in another process: nothing twice, nothing lost."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import campaign
from threads.turn_workloads import WORKLOADS

PROGRAM = str(Path(__file__).with_name("killed_turns.py"))
STEP = max(1, 20 * campaign.USUAL_SIZE // max(1, campaign.SIZE))
"""Every how many awaits a campaign kills: each with `BOBCAT_CAMPAIGN=20000`."""


@pytest.fixture
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    """The URL of a new store of a kind."""

    def place(kind: str) -> str:
        match kind:
            case "sqlite":
                return f"sqlite:///{tmp_path / 'threads.db'}"
            case "file":
                return f"file:{tmp_path / 'threads'}"
            case "postgres":
                return str(request.getfixturevalue("database"))
        return str(request.getfixturevalue("own_redis").url)

    return place


def killed(place: str, directory: Path, workload: str, *points: str) -> list[Any]:
    """Kill at these points: the points, where the processes ended, and what was wrong."""
    ledger = place if place.startswith(("sqlite", "postgres")) else f"sqlite:///{directory / 'ledger.db'}"
    command = [sys.executable, PROGRAM, place, ledger, str(directory), workload, *points]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    (_, count), *lines = map(json.loads, done.stdout.splitlines())
    assert count > 300, "a turn has so many awaits"
    return lines


def check(lines: list[Any]) -> None:
    assert lines
    assert any(places for _, _, places, _ in lines), "no process was killed"
    wrong = [(point, places, problems) for _, point, places, problems in lines if problems]
    assert not wrong, "\n".join(map(str, wrong))


def test_kills_are_found_that_double_an_effect(tmp_path: Path) -> None:
    lines = killed(f"sqlite:///{tmp_path / 'threads.db'}", tmp_path, "broken", "effect", "1")
    assert ["an effect is doubled" in str(problems) for _, _, _, problems in lines] == [True, False]


SAMPLES = [
    *(("sqlite", name, ("spread/3",)) for name in WORKLOADS),
    ("sqlite", "several", ("effect",)),
    ("postgres", "streaming", ("spread/2", "effect")),
    ("postgres", "approved", ("spread/4",)),
    ("file", "streaming", ("spread/3",)),
    ("redis", "several", ("spread/3",)),
]


@pytest.mark.parametrize(("kind", "workload", "points"), SAMPLES)
def test_a_killed_turn_goes_on_where_it_was(
    kind: str, workload: str, points: tuple[str, ...], places: Callable[[str], str], tmp_path: Path
) -> None:
    check(killed(places(kind), tmp_path, workload, *points))


CAMPAIGN = [
    *(("sqlite", name) for name in WORKLOADS),
    *(("postgres", name) for name in WORKLOADS),
    *((kind, name) for kind in ("file", "redis") for name in ("streaming", "approved")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "workload"), CAMPAIGN)
def test_no_await_is_one_where_a_kill_does_harm(
    kind: str,
    workload: str,
    places: Callable[[str], str],
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    rng = Random(campaign.FIRST_SEED)
    twice = [f"{rng.randrange(1, 3000)}+{rng.randrange(1, 1500)}" for _ in range(campaign.rounds(5))]
    first = 1 + campaign.FIRST_SEED % STEP
    lines = killed(places(kind), tmp_path, workload, "lines", f"*{first}/{STEP}", *twice)
    record_property(f"turns killed at an await, {kind}", len(lines))
    check(lines)
