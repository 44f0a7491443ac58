"""The memory of a process does not grow with the runs that it made, and suspended runs leave nothing in it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SOAK = Path(__file__).resolve().parents[2] / "benches" / "soak.py"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def soak(store: str, runs: int, suspended: int) -> dict[str, Any]:
    command = [sys.executable, str(SOAK), store, "--runs", str(runs), "--suspended", str(suspended)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def flat(found: dict[str, Any], runs: int, suspended: int) -> None:
    assert len(found["resident"]) == 8
    assert found["slope"] * runs / 2 < 2 * 1024 * 1024, found
    left = found["suspended"]
    assert (left["runs"], left["listed"], left["held"]) == (suspended, suspended, 0)
    assert (left["tasks"], left["leases"]) == (0, 0)


def test_memory_is_flat_over_runs_and_suspended_runs_leave_nothing_behind(tmp_path: Path) -> None:
    flat(soak(f"sqlite:///{tmp_path}/runs.db", 1_200, 100), 1_200, 100)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_memory_is_flat_over_twenty_thousand_runs(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = f"sqlite:///{tmp_path}/runs.db" if kind == "sqlite" else request.getfixturevalue("own_postgres").url
    flat(soak(url, 20_000, 10_000), 20_000, 10_000)
