"""The cases of one policy: the requests that they decide, and the rules that each of them reaches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bobcat import _core
from bobcat.bundle import Policy
from bobcat.ir.schema import IrPolicy, IrRule
from bobcat.model.decision import ActionRequest, Decision
from bobcat.model.markers import default_of
from bobcat.testing.mutation.mutants import compiled, name_of
from bobcat.testing.suites.compare import named_rule
from bobcat.testing.suites.model import Case
from bobcat.testing.suites.run import CaseResult, run_case
from bobcat.testing.suites.session import LoadedSuite
from bobcat.testing.suites.subjects import Subject


@dataclass(frozen=True, slots=True)
class Observed:
    """One request that a case decides, and the last rule that it reaches; None for all."""

    case: int
    request: ActionRequest
    reached: int | None


class PolicyCases:
    """The cases of one policy. `failed` are those that fail without a mutation."""

    def __init__(self, policy: Policy, cases: Iterable[tuple[LoadedSuite, Case]]) -> None:
        self.policy = policy
        self.cases = list(cases)
        self.failed: list[CaseResult] = []
        self.observed: list[Observed] = []
        self._names: dict[str, int] = {}
        for index, rule in enumerate(policy.ir.rules):
            self._names.setdefault(name_of(rule), index)
        self._transforms = any(isinstance(rule, IrRule) and rule.verdict == "transform" for rule in policy.ir.rules)
        self._transforms |= any(not isinstance(rule, IrRule) for rule in policy.ir.rules)
        self.unfiltered = {index for index, (suite, case) in enumerate(self.cases) if self._observe(index, suite, case)}
        """The cases that depend on more than the rules' matches of their requests: earlier calls, changed arguments."""

    def _observe(self, index: int, suite: LoadedSuite, case: Case) -> bool:
        """Run a case, and keep its requests; return true if single rules do not predict its outcome."""
        seen: list[ActionRequest] = []
        result = run_case(case, suite.suite.file, suite.subject, lambda _policy, request, _state: seen.append(request))
        if not result.passed:
            self.failed.append(result)
        changed = False
        decided = [step for step in result.steps if not _refused(step.decision)]
        for request, step in zip(seen, decided, strict=False):
            name = named_rule(step.decision)
            changed |= step.decision.transform_args is not None
            everywhere = changed or bool(default_of(name)) or self.policy.combine is not None
            reached = None if everywhere else self._names.get(name)
            self.observed.append(Observed(index, request, reached))
        return self.policy.remembers or (self._transforms and changed) or len(seen) != len(decided)

    def reaching(self, first: int) -> list[Observed]:
        """Return the requests for which a rule from `first` on decides, or none."""
        return [item for item in self.observed if item.reached is None or item.reached >= first]

    def passes(self, index: int, mutant: Policy) -> bool:
        """Return true if a case passes with a mutant."""
        suite, case = self.cases[index]
        return run_case(case, suite.suite.file, Subject(mutant, suite.subject.tools), explains=False).passed


class Parts:
    """Decisions of single rules on requests, compared before and after a mutation."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._before: dict[tuple[int, int], tuple[list[ActionRequest], list[Decision]]] = {}

    def differing(
        self, parts: tuple[IrPolicy, IrPolicy], place: tuple[int, int], requests: list[ActionRequest]
    ) -> list[int] | None:
        """Return the indexes of the requests that the changed rules decide differently; None if they do not compile.

        `place` are the first and the last of the rules, of which there is one comparison at a time.
        """
        new = compiled(parts[1], self._policy)
        if new is None:
            return None
        known = self._before.get(place)
        if known is None or known[0] is not requests:
            old = compiled(parts[0], self._policy)
            assert old is not None
            known = requests, list(_core.evaluate_many(old, requests))
            self._before = {place: known}
        after = _core.evaluate_many(new, requests)
        return [index for index, (was, now) in enumerate(zip(known[1], after, strict=True)) if was != now]


def _refused(decision: Decision) -> bool:
    """Return true for the refusal of a call that the tools do not accept."""
    name = str(decision.matched_rules[0]) if decision.matched_rules else ""
    return name.startswith("<") and not name.startswith(("<default:", "<rule_error:"))
