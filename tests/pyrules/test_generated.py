"""Generated functions mean the same as Python, as nodes, and in the core: 50,000 of them in a campaign of 20,000."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

import campaign
from bobcat.frontend.python.lower import lower_function
from oracle.code import as_rule
from pyrules.calls import outcome, request
from pyrules.differential_rules import compiled, differ, hosted, is_own_error
from pyrules.grammar import forget, rule_of, text_of

pytestmark = pytest.mark.campaign
FUNCTIONS = max(200, campaign.SIZE * 5 // 2)
BATCHES = max(20, FUNCTIONS // 250)
CALLS = 5
LEAST_SHARE = 0.75
MOST_OWN_ERRORS = 0.01  # of a campaign; of the 200 functions none


@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_generated_function_means_the_same_all_three_ways(
    batch: int, record_property: Callable[[str, int], None]
) -> None:
    size = made = calls = own = 0
    for seed in campaign.seeds(FUNCTIONS, batch, BATCHES):
        size += 1
        function = rule_of(seed)
        rule = lower_function(function, "made", 0).rule
        if rule is not None:
            made += 1
            nodes, host, core = as_rule(rule), hosted(function, "made"), compiled(rule)
            for number in range(CALLS):
                call = request(Random(seed * CALLS + number))
                where = f"seed {seed}, call {number}: {call}"
                assert outcome(nodes, call) == outcome(function, call), f"{where}\n{text_of(seed)}"
                found = differ(host, core, call)
                calls += 1
                if found is not None:
                    assert is_own_error(found[1]), f"{where}\n{text_of(seed)}\n{found}"
                    own += 1
        forget(seed)
    record_property("functions generated", size)
    record_property("functions lowered and run three ways", made)
    record_property("calls of functions", calls)
    record_property("calls of functions that the core refused", own)
    assert made >= LEAST_SHARE * size - 3  # of ten functions, chance has its say
    assert own <= (CALLS + MOST_OWN_ERRORS * calls if campaign.SIZE else 0)
