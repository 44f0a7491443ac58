"""Search for a sequence of calls that a policy that remembers and a mutant of it decide differently."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from itertools import islice

import msgspec
from msgspec import UNSET

from bobcat.bundle import Policy
from bobcat.doctor.candidate_values import candidate_values
from bobcat.doctor.probe_requests import probe_calls, with_value
from bobcat.errors import RequestError
from bobcat.ir.memory import reads_memory
from bobcat.ir.schema import IrNode, IrPolicy, IrRule, Leaf
from bobcat.ir.visit import definition_exprs, leaves
from bobcat.model.decision import ActionRequest
from bobcat.model.request_json import request_from_data
from bobcat.testing.mutation.missing import MissingCase, missing_case
from bobcat.testing.mutation.mutants import Mutant
from bobcat.testing.mutation.search import request_data
from bobcat.testing.mutation.subjects import PolicyCases
from bobcat.testing.suites.model import Step
from bobcat.testing.suites.session import LoadedSuite

MAX_SEQUENCES = 400
"""Sequences that are decided for one mutant."""
MAX_STEPS = 12
MAX_REPEATS = 4
MAX_CALLS = 60
"""Single calls that are tried before sequences."""

Steps = tuple[Step, ...]
Variant = tuple[LoadedSuite, Steps]


class SequenceSearch:
    """Search for missing sequences, among variants of those that the suites have."""

    def __init__(self, cases: PolicyCases) -> None:
        self._cases = cases
        self._policy = cases.policy
        self._windows = sorted(_windows(cases.policy.ir))

    def missing(self, name: str, mutant: Mutant, program: Policy) -> MissingCase | None:
        """Return a case that the suites lack; None if no sequence of the search tells policy and mutant apart."""
        clauses = self._clauses(mutant)
        variants = (*islice(self._calls(mutant), MAX_CALLS), *islice(self._variants(mutant, clauses), MAX_SEQUENCES))
        for suite, steps in variants:
            found = missing_case(name, steps, suite, self._policy, program)
            if found is not None:
                return self._shortest(name, suite, steps, program) or found
        return None

    def _shortest(self, name: str, suite: LoadedSuite, steps: Steps, program: Policy) -> MissingCase | None:
        """Return the case of a sequence without the calls that it does not need; None if it needs all."""
        found, index = None, 0
        while index < len(steps):
            shorter = (*steps[:index], *steps[index + 1 :])
            case = missing_case(name, shorter, suite, self._policy, program) if shorter else None
            if case is None:
                index += 1
            else:
                found, steps = case, shorter
        return found

    def _clauses(self, mutant: Mutant) -> list[Leaf]:
        """Return the clauses that the mutant is about, without those that read the memory."""
        found: list[Leaf] = []
        rules = [self._policy.ir.rules[index] for index in mutant.rules] or list(self._policy.ir.rules[:8])
        changed = [rule for rule in mutant.rules.values() if rule is not None]
        for rule in (*rules, *changed):
            if isinstance(rule, IrRule):
                found += leaves(rule.match)
        memory = {} if self._policy.ir.memory is UNSET else self._policy.ir.memory
        for definition in memory.values():
            found += (leaf for expr in definition_exprs(definition) for leaf in leaves(expr))
        kept = [
            leaf for leaf in found if not reads_memory(leaf) and leaf.head in ("tool", "args", "declared", "context")
        ]
        return list({repr(leaf): leaf for leaf in kept}.values())

    def _calls(self, mutant: Mutant) -> Iterator[Variant]:
        rules = tuple(self._policy.ir.rules[index] for index in mutant.rules)
        suite = self._cases.cases[0][0]
        policy: IrPolicy = msgspec.structs.replace(self._policy.ir, rules=rules)
        for _, request in probe_calls(policy):
            yield suite, (Step(request, None, suite.suite.policy_span),)

    def _variants(self, mutant: Mutant, clauses: list[Leaf]) -> Iterator[Variant]:
        """Yield variants of the sequences, each kind of variant for every sequence before the next kind."""
        reaching = {item.case for item in self._cases.reaching(mutant.first)}
        bases = [
            (suite, tuple(replace(step, expect=None) for step in case.steps[:MAX_STEPS]))
            for index, (suite, case) in enumerate(self._cases.cases)
            if index in reaching
        ]
        bases.sort(key=lambda base: -len(base[1]))
        for kind in (self._same, self._later, self._repeated, self._shorter):
            for suite, steps in bases[:20]:
                for changed in kind(steps):
                    yield suite, changed
        for suite, steps in bases[:20]:
            for changed in _with_values(steps, clauses):
                yield suite, changed

    def _same(self, steps: Steps) -> Iterator[Steps]:
        yield steps

    def _later(self, steps: Steps) -> Iterator[Steps]:
        """Yield the sequence with one call moved to the ends of the windows."""
        for number in range(1, len(steps)):
            for window in self._windows:
                for seconds in (window - 1, window, window + 1):
                    if seconds >= 0:
                        moved = replace(steps[number], after=timedelta(seconds=seconds), timed=False, same_reply=False)
                        yield (*steps[:number], moved, *steps[number + 1 :])

    def _repeated(self, steps: Steps) -> Iterator[Steps]:
        """Yield the sequence with one call made several times, and with the last one after the ends of the windows."""
        for number in range(len(steps)):
            again = replace(steps[number], after=timedelta(), timed=False, numbered=False, in_sequence=True)
            for count in range(1, MAX_REPEATS + 1):
                longer = (*steps[: number + 1], *((again,) * count), *steps[number + 1 :])
                yield longer
                for window in self._windows:
                    for seconds in (window - 1, window, window + 1):
                        if seconds >= 0:
                            last = replace(longer[-1], after=timedelta(seconds=seconds), timed=False, same_reply=False)
                            yield (*longer[:-1], last)

    def _shorter(self, steps: Steps) -> Iterator[Steps]:
        for number in range(len(steps) if len(steps) > 1 else 0):
            yield (*steps[:number], *steps[number + 1 :])
        for number, step in enumerate(steps):
            if step.outcome is not None:
                yield (*steps[:number], replace(step, outcome=None, value=None), *steps[number + 1 :])


def _with_values(steps: Steps, clauses: list[Leaf]) -> Iterator[Steps]:
    """Yield the sequence with other values at some clauses in one call, the last one first."""
    for number in range(len(steps) - 1, -1, -1):
        data = request_data(steps[number].request)
        for leaf in clauses:
            for value in candidate_values(leaf).all()[:8]:
                changed = deepcopy(data)
                if not with_value(changed, (str(leaf.head), *leaf.path), value):
                    continue
                with suppress(RequestError):
                    new = request_from_data(changed)
                    yield (
                        *steps[:number],
                        replace(steps[number], request=_timed(new, steps[number])),
                        *steps[number + 1 :],
                    )


def _timed(request: ActionRequest, step: Step) -> ActionRequest:
    context = replace(request.context, timestamp=step.request.context.timestamp)
    return request if step.timed else ActionRequest(request.tool, request.args, request.declared, context)


def _windows(policy: IrPolicy) -> set[int]:
    """Return the windows of the definitions, in seconds."""
    found: set[int] = set()
    waiting: list[object] = [] if policy.memory is UNSET else list(policy.memory.values())
    while waiting:
        node = waiting.pop()
        if isinstance(node, tuple):
            waiting.extend(node)
        elif isinstance(node, IrNode):
            within = getattr(node, "within", UNSET)
            if isinstance(within, int):
                found.add(within // 1_000_000)
            waiting.extend(getattr(node, name) for name in node.__struct_fields__)
    return found
