"""The figures about start-up on the page are those that were measured."""

from __future__ import annotations

from pathlib import Path

import pytest

BENCHES = Path(__file__).parents[2] / "benches"


def test_the_figures_of_start_up_are_those_of_the_artefact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHES))
    from startup_page import PAGE, committed_results, page_with

    results = committed_results()
    assert PAGE.read_text(encoding="utf-8") == page_with(results)
    assert results["rounds"] >= 30
    names = [row["name"] for row in results["rows"]]
    assert names[:2] == ["python -c pass", "a worker's imports"]
    assert {"a worker's first decision", "bobcat --help", "bobcat eval BUNDLE"} <= set(names)
