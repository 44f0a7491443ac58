"""The comparison with other engines, checked without them: the workload, the floor, the page."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def benches_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benches"))


def test_no_rule_of_a_shape_fires_at_any_of_its_smaller_sizes() -> None:
    import bobcat
    from corpora.shapes import SHAPES

    for shape in SHAPES:
        for size in shape.sizes[:2]:
            bundle, request = bobcat.compile_policy(shape.policy(size)), bobcat.request_from_json(shape.call(size))
            assert bundle.evaluate(request).matched_rules == ("<default:on_no_match>",), (shape.name, size)
            assert {rule.outcome for rule in bundle.explain(request).rules} == {"false"}, (shape.name, size)


@pytest.mark.parametrize("rules", [1, 10, 100])
def test_python_by_hand_decides_as_bobcat_does(rules: int) -> None:
    from corpora.mixed import workload
    from engines.cedar import subset
    from engines.sides import bobcat_engine, python_engine

    for work in (workload(rules), subset(rules)):
        ours, theirs = bobcat_engine(work), python_engine(work)
        decided = [ours.decide(request) for request in ours.requests]
        assert [(item.verdict, item.matched_rules) for item in decided] == [
            (item.verdict, item.matched_rules) for item in map(theirs.decide, theirs.requests)
        ]
        assert len({item.matched_rules for item in decided}) > 1


def test_the_rules_of_the_part_for_cedar_exclude_each_other() -> None:
    import bobcat
    from engines.cedar import subset

    work = subset(100)
    bundle = bobcat.compile_policy(work.policy)
    for call in work.requests:
        rules = bundle.explain(bobcat.request_from_json(call)).rules
        decided = next((number for number, rule in enumerate(rules) if rule.outcome == "true"), None)
        if decided is not None:
            later = {**work.policy, "rules": work.policy["rules"][decided + 1 :]}
            again = bobcat.compile_policy(later).evaluate(bobcat.request_from_json(call))
            assert again.matched_rules[0].startswith("<default")


@pytest.mark.skipif(shutil.which("cc") is None, reason="the floor is C, and there is no compiler")
def test_the_floor_decides_as_bobcat_does_and_faster() -> None:
    from engines.floor import floor_figures

    empty, looked_up, bobcat_time = floor_figures().values()
    assert 0 < empty < bobcat_time
    assert empty <= 2 * looked_up
