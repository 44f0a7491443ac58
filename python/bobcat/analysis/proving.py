"""Proofs of invariants: for each one a proof, a call that violates it, or the reasons that neither was found."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from bobcat.analysis.difference import compare
from bobcat.analysis.engine import Constraint, Effort, Progress, Questions
from bobcat.analysis.inputs import PolicyInput, policy_of
from bobcat.analysis.invariants import Always, Invariant, Invariants, Never, OnlyIf, Within
from bobcat.analysis.invariants_document import read_invariants
from bobcat.analysis.model import ORDER, Answer, JsonData, Proof, Unknown, Witness, place_json
from bobcat.bundle.model import Policy
from bobcat.diagnostics.render import render_text
from bobcat.errors import PolicyCompileError
from bobcat.frontend.yaml.encoding import decode

_NOT_TRUE = ["false", "absent", "error"]
_DENIES = ["true", "error"]
"""The outcomes of a match with which a rule that denies decides."""


@dataclass(frozen=True, slots=True)
class Proved:
    """An invariant and the answer: a `Proof` that it holds, or a `Witness` that violates it.

    The decisions of the witness are that of the policy and, of `within`, that of the envelope.
    """

    invariant: Invariant
    answer: Answer

    @property
    def holds(self) -> bool:
        """Return true if the invariant is proved."""
        return isinstance(self.answer, Proof)

    def to_json(self) -> JsonData:
        """Return the result as JSON data."""
        given = {"id": self.invariant.id, "reason": self.invariant.reason, "holds": self.holds}
        if isinstance(self.answer, Unknown):
            given["holds"] = None
        return {**given, "place": place_json(self.invariant.span), **self.answer.to_json()}


def prove(
    policy: PolicyInput,
    invariants: Invariants | os.PathLike[str] | str,
    *,
    budget: float | None = None,
    progress: Progress | None = None,
) -> tuple[Proved, ...]:
    """Prove invariants of a policy, or find a call that violates each one.

    `invariants` are those of a file, given by its path or by its text, or by `read_invariants`. `budget` is the limit
    in seconds for all of them: those that are not reached are unknown. Raises `PolicyCompileError` for a
    file with errors.
    """
    subject = policy_of(policy)
    effort = Effort.within(budget, progress)
    return tuple(Proved(item, answer(subject, item, effort)) for item in _read(invariants).items)


def _read(given: Invariants | os.PathLike[str] | str) -> Invariants:
    if isinstance(given, Invariants):
        return given
    file = os.fspath(given) if isinstance(given, os.PathLike) else "<inline>"
    text, bad = decode(Path(given).read_bytes(), file) if isinstance(given, os.PathLike) else (given, None)
    found = read_invariants(text, file)
    diagnostics = found.diagnostics if bad is None else (bad,)
    if found.invariants is None or bad is not None:
        raise PolicyCompileError(render_text(diagnostics, {file: text}), diagnostics)
    return found.invariants


def answer(policy: Policy, invariant: Invariant, effort: Effort) -> Answer:
    """Return the proof of one invariant, a call that violates it, or the reasons that neither was found."""
    claim = invariant.claim
    policies = [policy]
    match claim:
        case Never(match, verdicts):
            where = [_given(verdicts), _is(policies, match, _DENIES)]
        case OnlyIf(match, when, verdicts):
            where = [_given(verdicts), _is(policies, when, _NOT_TRUE)]
            if match is not None:
                where.append(_is(policies, match, _DENIES))
        case Always(match, verdicts, permits):
            others = [name for name in ORDER if name not in verdicts]
            if not others:
                return Proof()
            where = [_given(others), _is(policies, match, ["true"] if permits else _DENIES)]
        case Within(envelope):
            return _of(exceeding(Questions((envelope, policy), effort)), 1, 0)
        case _:
            assert_never(claim)
    return _of(Questions(policies, effort).find(*where), 0)


def _of(found: Answer, *numbers: int) -> Answer:
    """Return an answer with the decisions of some of the policies in question: the others stand for matches."""
    if not isinstance(found, Witness):
        return found
    return Witness(found.request, tuple(found.decisions[number] for number in numbers))


def exceeding(questions: Questions) -> Answer:
    """Return a call that the second policy permits more than the first one, or runs with other arguments; or the proof
    that no such call exists.
    """
    found = compare(questions).exceeding_part
    for region in found.regions:
        if region.witness is not None:
            return region.witness
    reasons = [*found.reasons, *(reason for region in found.regions for reason in region.reasons)]
    return Unknown(tuple(dict.fromkeys(reasons))) if found.may_exceed else Proof()


def _given(verdicts: Iterable[str]) -> Constraint:
    return {"policy": 0, "verdicts": list(verdicts)}


def _is(policies: list[Policy], match: Policy, outcomes: list[str]) -> Constraint:
    """Add a match to the policies in question, and return the constraint on its outcome."""
    policies.append(match)
    return {"match": len(policies) - 1, "is": outcomes}
