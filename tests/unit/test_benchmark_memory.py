"""The figures about rules that remember on the page are those that were measured."""

from __future__ import annotations

from pathlib import Path

import pytest

BENCHES = Path(__file__).parents[2] / "benches"


def test_rules_that_remember_are_measured_at_every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHES))
    from memory_page import FIGURES

    results = FIGURES.committed()
    assert [row["rules"] for row in results["decisions"]] == [10, 100, 1_000, 10_000]
    assert results["rebuild"]["records"] == 10_000
    assert results["monitor_ns"] < 1000
