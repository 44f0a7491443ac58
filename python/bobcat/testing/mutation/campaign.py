"""The run of suites against every mutant of their policies, in one process or in several.

The outcomes do not depend on the number of processes.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Literal

from bobcat.bundle import Policy
from bobcat.ir.schema import HostRule
from bobcat.model.decision import ActionRequest, Decision
from bobcat.testing.mutation.exact import telling_calls
from bobcat.testing.mutation.missing import MissingCase, missing_case
from bobcat.testing.mutation.mutants import Mutant, compiled, mutants
from bobcat.testing.mutation.search import Search
from bobcat.testing.mutation.sequences import SequenceSearch
from bobcat.testing.mutation.subjects import Observed, Parts, PolicyCases
from bobcat.testing.suites.model import Case, Step
from bobcat.testing.suites.run import CaseResult
from bobcat.testing.suites.session import LoadedSuite, Selected
from bobcat.testing.suites.subjects import policy_path

CHUNK = 64
"""Mutants that a process gets at a time, at least those of one rule."""
SMALL = 200
"""Fewer mutants are not worth the start of processes."""
NAME_CHARS = 120

Kind = Literal["killed", "survived", "equivalent", "no_difference", "not_run", "rejected"]
"""`equivalent`: it is proved that no call is decided differently; `no_difference`: no such call was found."""


class WorkerKilled(Exception):
    """A process of a campaign ended before its work."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one mutant: the case that killed it, or the one that is missing."""

    kind: Kind
    killed_by: str | None = None
    missing: MissingCase | None = None


@dataclass(frozen=True, slots=True)
class MutantResult:
    """A mutant of the policy in a file, and its outcome."""

    file: str
    mutant: Mutant
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class CampaignResult:
    """The results in the order of the mutants. `callables` are rules without code, which are only dropped."""

    results: tuple[MutantResult, ...]
    callables: tuple[str, ...]
    seconds: float

    def count(self, kind: Kind) -> int:
        """Return the number of mutants with an outcome."""
        return sum(item.outcome.kind == kind for item in self.results)

    @property
    def score(self) -> float:
        """The share of killed mutants in percent, of those that a request tells from the policy."""
        killed, survived = self.count("killed"), self.count("survived")
        return 100.0 if not killed + survived else killed * 1000 // (killed + survived) / 10


class Campaign:
    """The mutants of the policies of some cases. `failed` are the cases that fail without a mutation."""

    def __init__(self, selected: Selected, rule: str | None = None) -> None:
        groups: dict[int, list[tuple[LoadedSuite, Case]]] = {}
        for suite, case in selected.cases:
            groups.setdefault(id(suite.subject.policy), []).append((suite, case))
        self._groups = [_Group(pairs, rule) for pairs in groups.values()]
        self.failed: list[CaseResult] = [result for group in self._groups for result in group.cases.failed]
        self.total = sum(len(group.mutants) for group in self._groups)

    def run(
        self,
        *,
        jobs: int | None = None,
        max_seconds: float | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> CampaignResult:
        """Run the suites against every mutant; those after `max_seconds` are not run. Raises `WorkerKilled`.

        `progress` gets numbers of mutants that are done.
        """
        started = time.monotonic()
        deadline = None if max_seconds is None else started + max_seconds
        count = (os.cpu_count() or 1) if jobs is None else jobs
        count = 1 if sys.platform != "linux" or (jobs is None and self.total < SMALL) else count
        chunks = [(number, *bounds) for number, group in enumerate(self._groups) for bounds in group.chunks()]
        results: list[MutantResult] = []
        for (number, start, stop), outcomes in zip(chunks, self._outcomes(chunks, count, deadline), strict=True):
            group = self._groups[number]
            for mutant, outcome in zip(group.mutants[start:stop], outcomes, strict=True):
                if outcome.kind != "rejected":
                    results.append(MutantResult(group.file, mutant, outcome))
            if progress is not None:
                progress(stop - start)
        callables = tuple(name for group in self._groups for name in group.callables)
        return CampaignResult(tuple(results), callables, time.monotonic() - started)

    def _outcomes(
        self, chunks: Sequence[tuple[int, int, int]], count: int, deadline: float | None
    ) -> Iterator[list[Outcome]]:
        if count <= 1:
            yield from (self.chunk(*chunk, deadline) for chunk in chunks)
            return
        context = multiprocessing.get_context("fork")  # a process inherits the policies and tools
        with ProcessPoolExecutor(count, context, _start, (self,)) as pool:
            try:
                yield from pool.map(_work, *zip(*chunks, strict=True), [deadline] * len(chunks))
            except BrokenProcessPool as error:
                raise WorkerKilled("a worker process was killed before its work was done") from error

    def chunk(self, group: int, start: int, stop: int, deadline: float | None) -> list[Outcome]:
        """Return the outcomes of some mutants of one policy."""
        return list(self._groups[group].outcomes(start, stop, deadline))


class _Group:
    """The mutants and the cases of one policy."""

    def __init__(self, pairs: list[tuple[LoadedSuite, Case]], rule: str | None) -> None:
        suite = pairs[0][0]
        self.file = policy_path(suite.suite)
        self.cases = PolicyCases(suite.subject.policy, pairs)
        self.policy = suite.subject.policy
        self.mutants = list(mutants(self.policy, rule))
        self.callables = [item.name for item in self.policy.ir.rules if isinstance(item, HostRule)]
        self._names = _names(self.mutants, {case.name for _, case in pairs})
        self._parts = Parts(self.policy)
        self._search = SequenceSearch(self.cases) if self.policy.remembers else Search(self.cases)
        self._first: int | None = None
        self._reaching: list[Observed] = []
        self._filtered: list[Observed] = []
        self._requests: list[ActionRequest] = []

    def chunks(self) -> Iterator[tuple[int, int]]:
        """Yield bounds of mutants that one process gets; those of one rule stay together."""
        start = 0
        for index in range(1, len(self.mutants) + 1):
            end = index == len(self.mutants)
            if end or (index - start >= CHUNK and self.mutants[index].first != self.mutants[index - 1].first):
                yield start, index
                start = index

    def outcomes(self, start: int, stop: int, deadline: float | None) -> Iterator[Outcome]:
        for index in range(start, stop):
            late = deadline is not None and time.monotonic() > deadline
            yield Outcome("not_run") if late else self._outcome(index)

    def _outcome(self, index: int) -> Outcome:
        mutant = self.mutants[index]
        candidates = self._candidates(mutant)
        if candidates is None:
            return Outcome("rejected")
        program = compiled(mutant.ir(self.policy.ir), self.policy)
        if program is None:
            return Outcome("rejected")
        for case in candidates:
            if not self.cases.passes(case, program):
                return Outcome("killed", self.cases.cases[case][1].name)
        missing = self._search.missing(self._names[index], mutant, program)
        if missing is not None:
            return Outcome("survived", missing=missing)
        calls, proved = telling_calls(self.policy, program, mutant)
        if proved and not calls:
            return Outcome("equivalent")
        for missing in filter(None, (self._case(self._names[index], call, program) for call in calls)):
            return Outcome("survived", missing=missing)
        return Outcome("no_difference")

    def _case(self, name: str, call: ActionRequest, program: Policy) -> MissingCase | None:
        """Return the case of one call, as the tools of the first suite complete it."""
        suite = self.cases.cases[0][0]
        bound = suite.subject.tools.bind(call)
        if isinstance(bound, Decision):
            return None
        return missing_case(name, (Step(bound, None, suite.suite.policy_span),), suite, self.policy, program)

    def _candidates(self, mutant: Mutant) -> list[int] | None:
        """Return the cases that can notice a mutant, those that its rule decides first; None if it does not compile."""
        if self._first != mutant.first:
            self._first = mutant.first
            self._reaching = sorted(self.cases.reaching(mutant.first), key=lambda item: item.reached != mutant.first)
            kept = [item for item in self._reaching if item.case not in self.cases.unfiltered]
            self._filtered, self._requests = kept, [item.request for item in kept]
        different = self._parts.differing(mutant.part(self.policy.ir), (mutant.first, mutant.last), self._requests)
        if different is None:
            return None
        found = dict.fromkeys(self._filtered[index].case for index in different)
        found |= dict.fromkeys(item.case for item in self._reaching if item.case in self.cases.unfiltered)
        return list(found)


def _names(mutants: Sequence[Mutant], taken: set[str]) -> list[str]:
    """Return a unique name for the missing case of each mutant."""
    found = []
    for mutant in mutants:
        base = f"{mutant.rule or 'policy'}: {mutant.change}"
        base = base if len(base) <= NAME_CHARS else f"{base[: NAME_CHARS - 3]}..."
        name, number = base, 1
        while name in taken:
            number += 1
            name = f"{base} ({number})"
        taken.add(name)
        found.append(name)
    return found


_campaign: list[Campaign] = []  # of a worker process, which serves one campaign only


def _start(campaign: Campaign) -> None:
    _campaign[:] = [campaign]


def _work(group: int, start: int, stop: int, deadline: float | None) -> list[Outcome]:
    return _campaign[0].chunk(group, start, stop, deadline)
