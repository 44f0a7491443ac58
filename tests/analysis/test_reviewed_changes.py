"""Changes of policies as reviewers meet them, each with the summary that `bobcat diff` must give.

A file of `reviewed/` is one change: both policies, and the lines that were written by hand from the reference pages.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import yaml

from bobcat import Policy
from bobcat.analysis import diff
from bobcat.analysis.summary import SAME, summary_lines

CHANGES = sorted((Path(__file__).parent / "reviewed").glob("*.yaml"))


def test_there_are_sixty_changes() -> None:
    assert len(CHANGES) >= 60


@pytest.mark.parametrize("file", CHANGES, ids=lambda file: file.stem)
def test_a_change_has_the_expected_summary(file: Path) -> None:
    change = yaml.safe_load(file.read_text(encoding="utf-8"))
    found = diff(_policy(change["old"]), _policy(change["new"]))
    first, *regions = summary_lines(found)
    expected, *others = change["summary"]
    assert [first, *sorted(regions)] == [SAME if expected == "same" else expected, *sorted(others)]


@pytest.mark.parametrize("file", CHANGES, ids=lambda file: file.stem)
def test_the_reverse_of_a_change_exchanges_its_directions(file: Path) -> None:
    change = yaml.safe_load(file.read_text(encoding="utf-8"))
    old, new = _policy(change["old"]), _policy(change["new"])
    found, back = diff(old, new), diff(new, old)
    assert found.same == back.same
    assert _regions(found.tightening) == _regions(region for region in back.loosening if region.change == "loosening")


def _policy(text: str) -> Policy:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the changes are examples of what `check` warns of
        return Policy.compile(text)


def _regions(regions) -> set[tuple[str | None, frozenset[str]]]:  # type: ignore[no-untyped-def]
    return {(region.tool, frozenset((region.old.verdict, region.new.verdict))) for region in regions}
