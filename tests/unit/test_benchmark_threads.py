"""The figures of threads on the page are those that were measured, and the benchmark measures every part."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def benches_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benches"))


def test_the_artefact_has_every_part() -> None:
    from threads_page import FIGURES

    assert {"latency", "events", "long", "ledger", "soak", "machine"} == set(FIGURES.committed())


def test_a_turn_of_a_long_thread_took_at_most_twice_one_of_a_short_thread() -> None:
    from threads_page import FIGURES

    for name, found in FIGURES.committed()["long"].items():
        assert found["ratio"] <= 2, name
        assert found["ratio_opened"] <= 2, name


@pytest.mark.slow
@pytest.mark.usefixtures("database")
def test_every_part_is_measured(tmp_path: Path) -> None:
    program = [sys.executable, str(ROOT / "benches" / "threads.py"), "--scale", "0.01", "--format", "json"]
    done = subprocess.run(
        [*program, "--only", "events", "--only", "latency"], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert set(found["events"]) == {"memory", "SQLite", "PostgreSQL", "files"}
    assert len(found["latency"]["sides"]) == 12
    assert all(row["median_ms"] > 0 for row in found["latency"]["sides"])
