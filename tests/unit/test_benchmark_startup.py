"""The figures about start-up on the page are those that were measured."""

from __future__ import annotations

from pathlib import Path

import pytest

BENCHES = Path(__file__).parents[2] / "benches"


def test_every_command_is_measured_in_many_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHES))
    from startup_page import FIGURES

    results = FIGURES.committed()
    assert results["rounds"] >= 30
    names = [row["name"] for row in results["rows"]]
    assert names[:2] == ["python -c pass", "a worker's imports"]
    assert {"a worker's first decision", "bobcat --help", "bobcat eval BUNDLE"} <= set(names)
