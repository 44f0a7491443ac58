"""Mutants of generated policies of 100 rules: each is found by a call, or proved to decide every call alike."""

from __future__ import annotations

import random
from collections import Counter

import pytest

import campaign
from analysis.long_policies import long_source
from bobcat import Policy
from bobcat.analysis.difference import compare, differ
from bobcat.analysis.engine import Effort, Questions
from bobcat.model.decision import ActionRequest
from bobcat.testing.mutation.mutants import Mutant, compiled, mutants

RULES = 100
SHORT = 40
"""Mutants of one policy without a campaign; with one, every mutant of each policy."""
POLICIES = max(1, campaign.SIZE // 1_000)
SECONDS = 60.0


@pytest.mark.parametrize("seed", campaign.seeds(POLICIES, 0, 1))
@pytest.mark.filterwarnings("ignore")  # random rules are what `check` warns of
def test_each_mutant_of_a_long_policy_is_found_by_a_call_or_proved_the_same(seed: int) -> None:
    policy = Policy.compile(long_source(random.Random(seed), RULES))
    answers: Counter[str] = Counter()
    calls: list[ActionRequest] = []
    alike: list[tuple[Mutant, Policy]] = []
    for mutant in _chosen(policy, seed):
        program = compiled(mutant.ir(policy.ir), policy)
        assert program is not None, mutant
        found = compare(Questions((policy, program), Effort(SECONDS)), limit=1)
        if found.same:
            answers["same"] += 1
            alike.append((mutant, program))
        elif found.found:
            answers["found"] += 1
            witness = found.found[0].witness
            assert witness is not None
            assert differ(policy.evaluate(witness.request), program.evaluate(witness.request)), mutant
            calls.append(witness.request)
        else:
            answers["unknown"] += 1
    decisions = [policy.evaluate(call) for call in calls]
    for mutant, program in alike:
        for call, decision in zip(calls, decisions, strict=True):
            assert not differ(decision, program.evaluate(call)), (mutant, call)
    print(f"seed {seed}: {dict(answers)}")
    assert answers["found"] > answers["same"] > 0
    assert answers["unknown"] * 50 <= answers.total()


def _chosen(policy: Policy, seed: int) -> list[Mutant]:
    found = list(mutants(policy))
    return found if campaign.SIZE else random.Random(seed).sample(found, SHORT)
