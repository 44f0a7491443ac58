"""The differences of policies, beside z3 as a second oracle."""

from __future__ import annotations

import random
import warnings

import pytest

from analysis.z3_policies import TOOL, Undecided, changed, missed_difference, random_policy
from bobcat import Policy
from bobcat.analysis import diff
from campaign import rounds, seeds

PARTS = 5
PAIRS = rounds(200)


@pytest.mark.parametrize("part", range(PARTS))
def test_no_difference_that_z3_finds_is_missing(part: int) -> None:
    differ = undecided = 0
    for seed in seeds(PAIRS, part, PARTS):
        rng = random.Random(seed)
        old = random_policy(rng)
        new = changed(rng, old) if rng.random() < 0.7 else random_policy(rng)
        policies = [_compiled(side.text()) for side in (old, new)]
        found = diff(*policies)
        assert (found.unknown, found.reasons) == ((), ()), (seed, found)
        pairs = set()
        for region in found.regions:
            assert region.witness is not None
            verdicts = tuple(policy.evaluate(region.witness.request).verdict.value for policy in policies)
            assert verdicts == (region.old.verdict, region.new.verdict), (seed, region)
            if region.tool == TOOL:
                pairs.add((region.old.verdict, region.new.verdict))
        try:
            assert missed_difference(old, new, pairs) is None, (seed, old.text(), new.text())
        except Undecided:
            undecided += 1
        differ += bool(pairs)
    assert differ > PAIRS // PARTS // 4
    assert undecided <= PAIRS // PARTS // 100


def _compiled(text: str) -> Policy:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # random rules are what `check` warns of
        return Policy.compile(text)


def test_z3_finds_a_difference_that_is_left_out() -> None:
    rng = random.Random(1)
    old = random_policy(rng)
    while missed_difference(old, new := changed(rng, old), set()) is None:
        pass
    pair = missed_difference(old, new, set())
    assert pair is not None
    found = {
        (region.old.verdict, region.new.verdict)
        for region in diff(_compiled(old.text()), _compiled(new.text())).regions
    }
    assert pair in found
