"""Generated functions mean the same as Python, as nodes, and in the core. `BOBCAT_CAMPAIGN` makes 50,000 of them."""

from __future__ import annotations

import os
from random import Random

import pytest

from bobcat.frontend.pyrules.lower import lower_function
from oracle.code import as_rule
from pyrules.both_ways import compiled, differ, hosted, is_own_error
from pyrules.calls import outcome, request
from pyrules.grammar import forget, rule_of, text_of

FUNCTIONS = 50_000 if os.environ.get("BOBCAT_CAMPAIGN") else 200
BATCHES = 20
CALLS = 5
LEAST_SHARE = 0.85
MOST_OWN_ERRORS = 0.002  # of the 200 functions none


@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_generated_function_means_the_same_all_three_ways(batch: int) -> None:
    size = FUNCTIONS // BATCHES
    made = calls = own = 0
    for seed in range(batch * size, (batch + 1) * size):
        function = rule_of(seed)
        rule = lower_function(function, "made", 0).rule
        if rule is not None:
            made += 1
            nodes, host, core = as_rule(rule), hosted(function, "made"), compiled(rule)
            for number in range(CALLS):
                call = request(Random(seed * CALLS + number))
                where = f"seed {seed}, call {number}: {call}\n{text_of(seed)}"
                assert outcome(nodes, call) == outcome(function, call), where
                found = differ(host, core, call)
                calls += 1
                if found is not None:
                    assert is_own_error(found[1]), f"{where}\n{found}"
                    own += 1
        forget(seed)
    assert made >= LEAST_SHARE * size - 3  # of ten functions, chance has its say
    assert own <= MOST_OWN_ERRORS * calls
