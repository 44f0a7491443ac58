"""The exact comparison of a policy and a mutant: a call that tells them apart, or the proof that no call does."""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.analysis.difference import compare
from bobcat.analysis.engine import Constraint, Effort, Questions
from bobcat.analysis.model import Unknown, Witness
from bobcat.bundle import Policy
from bobcat.model.decision import ActionRequest
from bobcat.testing.mutation.mutants import Mutant, name_of

SECONDS = 2.0
"""Seconds for the questions about one mutant."""


def telling_calls(policy: Policy, program: Policy, mutant: Mutant) -> tuple[tuple[ActionRequest, ...], bool]:
    """Return calls that a policy and a mutant decide differently, and true if it is proved that no other call does so.

    Decisions differ in their verdict, their arguments, or the rule that decides.
    """
    questions = Questions((policy, program), Effort.within(SECONDS))
    found = compare(questions, limit=1, terms=False)
    if not found.same:
        return tuple(region.witness.request for region in found.found if region.witness is not None), False
    calls, proved = [], True
    for where in _other_deciders(policy, program, mutant):
        answer = questions.find(*where)
        if isinstance(answer, Witness):
            calls.append(answer.request)
        proved = proved and not isinstance(answer, Unknown)
    return tuple(calls), proved


def _other_deciders(policy: Policy, program: Policy, mutant: Mutant) -> Iterator[tuple[Constraint, Constraint]]:
    """Yield the questions whether a changed rule decides a call in one of the policies only."""
    names = tuple([name_of(rule) for rule in each.ir.rules] for each in (policy, program))
    for name in dict.fromkeys(name_of(policy.ir.rules[index]) for index in mutant.rules):
        here, there = ([index for index, found in enumerate(side) if found == name] for side in names)
        for number, own, other in ((0, here, there), (1, there, here)):
            rest = [index for index in range(len(names[1 - number])) if index not in other]
            if own:
                yield {"policy": number, "rules": own}, {"policy": 1 - number, "rules": [*rest, None]}
