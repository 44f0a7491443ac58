"""The case corpus, decided by the slow reference evaluator."""

from __future__ import annotations

from typing import Any

import pytest

from bobcat.frontend.strict.policy import compile_strict
from bobcat.ir.schema import IrPolicy
from oracle.corpus import Group, load
from oracle.reference import decide

GROUPS = load()


def lower(policy: Any) -> IrPolicy:
    lowered = compile_strict(policy, "policy.yaml")
    assert lowered.policy is not None, lowered.findings
    return lowered.policy


def test_the_corpus_is_large_and_names_no_case_twice() -> None:
    names = [case.name for group in GROUPS for case in group.cases]
    assert len(names) >= 400
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_the_reference_evaluator_decides_as_the_case_says(group: Group) -> None:
    policy = lower(group.policy)
    failures = {}
    for case in group.cases:
        found = case.failures(decide(policy, case.build()))
        if found:
            failures[case.name] = found
    assert not failures
