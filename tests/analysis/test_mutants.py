"""Mutants of generated policies of 100 rules and of the examples: each is found by a call, or proved to be the same."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

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
EXAMPLES = Path(__file__).parents[2] / "examples/policies"
FEW = 5
"""Regions of one mutant that are looked for."""


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
        found = compare(Questions((policy, program), Effort.within(SECONDS)), limit=1)
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


@pytest.mark.filterwarnings("ignore")  # an example may have what `check` warns of
def test_mutants_of_the_examples_are_found_or_proved_the_same() -> None:
    answers: Counter[str] = Counter()
    files = sorted(EXAMPLES.glob("*.yaml"))
    for file in files:
        policy = Policy.compile(file)
        for mutant in mutants(policy):
            program = compiled(mutant.ir(policy.ir), policy)
            assert program is not None, mutant
            found = compare(Questions((policy, program), Effort.within(SECONDS)), limit=FEW)
            answers["same" if found.same else "found" if found.found else "unknown"] += 1
            assert all(region.witness is not None or region.reasons for region in found.regions), mutant
            for region in found.found:
                assert region.witness is not None
                call = region.witness.request
                assert differ(policy.evaluate(call), program.evaluate(call)), mutant
    assert len(files) >= 4
    assert answers["found"] > 400
    assert answers["unknown"] * 50 < answers.total(), answers


def _chosen(policy: Policy, seed: int) -> list[Mutant]:
    found = list(mutants(policy))
    return found if campaign.SIZE else random.Random(seed).sample(found, SHORT)
