"""The figures beside DBOS on the page are those that were measured, and Bobcat is ahead at every concurrency."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def benches_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benches"))


def test_both_sides_are_measured_at_every_concurrency() -> None:
    from dbos_page import COLUMNS, FIGURES

    results = FIGURES.committed()
    for side in ("bobcat", "dbos"):
        for concurrent in ("1", "8", "32"):
            assert set(results["sides"][side][concurrent]) == set(COLUMNS)


def test_bobcat_is_ahead_at_every_concurrency() -> None:
    from dbos_page import FIGURES

    sides = FIGURES.committed()["sides"]
    for concurrent, seen in sides["bobcat"].items():
        other = sides["dbos"][concurrent]
        assert seen["runs_per_second"] > other["runs_per_second"], concurrent
        assert all(seen[name] < other[name] for name in seen if name != "runs_per_second"), concurrent
