"""The figures about rules that remember on the page are those that were measured."""

from __future__ import annotations

from pathlib import Path

import pytest

BENCHES = Path(__file__).parents[2] / "benches"


def test_the_figures_of_rules_that_remember_are_those_of_the_artefact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHES))
    from memory_page import PAGE, committed_results, page_with

    results = committed_results()
    assert PAGE.read_text(encoding="utf-8") == page_with(results)
    assert [row["rules"] for row in results["decisions"]] == [10, 100, 1_000, 10_000]
    assert results["rebuild"]["records"] == 10_000
    assert results["monitor_ns"] < 1000
