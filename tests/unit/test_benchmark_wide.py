"""The wide workloads, without the floor in C, which `make bench-gate` builds and compares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bobcat
import campaign

ROOT = Path(__file__).resolve().parents[2]
SHAPES = ("wide", "deep", "flat", "adversarial")


@pytest.fixture(autouse=True)
def benches_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benches"))


def leaves(match: Any, predicates: dict[str, Any]) -> set[str]:
    """The operators of a match, and its connectives."""
    from wide.matches import Leaf, Match, parsed

    found = set()
    items: list[Match | Leaf] = [parsed(match, predicates)]
    while items:
        item = items.pop()
        found.add(item.operator if isinstance(item, Leaf) else item.connective)
        items += () if isinstance(item, Leaf) else item.items
    return found


def test_a_workload_follows_from_its_seed() -> None:
    from wide.generate import wide_workload

    one, same, other = (wide_workload(100, seed) for seed in (1, 1, 2))
    assert one == same
    assert one.policy != other.policy
    assert one.requests != other.requests


def test_a_wide_workload_has_all_that_its_description_says() -> None:
    from wide.generate import wide_workload
    from wide.matches import OPERATORS

    work = wide_workload(1_000, 3)
    rules = work.policy["rules"]
    used = set().union(*(leaves(rule["match"], work.policy["predicates"]) for rule in rules))
    assert used - {"matches"} >= (OPERATORS - {"matches"}) | {"all", "any", "not"}
    assert {rule["decision"] for rule in rules} == {"allow", "deny", "dry_run", "approve_required", "transform"}
    assert len({rule["priority"] for rule in rules}) > 2
    everywhere = [rule for rule in rules if "tool" not in rule["match"] and "tool.in" not in rule["match"]]
    assert 10 <= len(everywhere) <= 60
    assert len({str(request) for request in work.requests}) == 600
    assert 100 <= len({request["tool"] for request in work.requests}) <= 160


@pytest.mark.parametrize("shape", SHAPES)
def test_python_by_hand_and_lynx_agent_decide_as_bobcat_does(shape: str) -> None:
    from wide.by_hand import decide_by_hand
    from wide.engines import bobcat_engine, check_agreement, lynx_engine, shown
    from wide.generate import wide_workload

    for rules in (10, 60):
        work = wide_workload(rules, 11, shape=shape, requests=150)
        ours = bobcat_engine(work)
        check_agreement(work, ours, lynx_engine(work), 60)
        by_hand = decide_by_hand(work)
        decided = [shown(ours.decide(request)) for request in ours.requests]
        assert decided == [shown(by_hand(request)) for request in ours.requests]
        assert len(set(decided)) > 3


def check_plain(shape: str, rules: int, seed: int, requests: int) -> None:
    """The index must lead to the decision of the plain path."""
    from wide.engines import bobcat_engine
    from wide.generate import wide_workload

    work = wide_workload(rules, seed, shape=shape, requests=requests)
    bundle = bobcat.compile_policy(work.policy)
    for request in bobcat_engine(work).requests:
        assert bundle.evaluate(request) == bundle.explain(request).decision, (shape, rules, seed, request)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_index_and_the_plain_path_decide_alike(shape: str) -> None:
    for rules, seed in ((10, 5), (40, 6)):
        check_plain(shape, rules, seed, 20)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_the_index_and_the_plain_path_decide_alike_on_many_seeds(shape: str) -> None:
    for seed in campaign.seeds(10, 0, 1):
        for rules in (3, 8, 12, 30, 300):
            check_plain(shape, rules, seed, 60)
