"""Search for a request that a policy and a mutant of it decide differently, where no earlier call matters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from itertools import chain, islice
from typing import Any

import msgspec

from bobcat import _core
from bobcat.bundle import Policy
from bobcat.doctor.candidate_values import MISSING, candidate_values
from bobcat.doctor.pattern_samples import longest_sample
from bobcat.doctor.probe_requests import probe_calls, with_value
from bobcat.errors import RequestError
from bobcat.ir import code as ir
from bobcat.ir.memory import reads_memory
from bobcat.ir.schema import AnyRule, FunctionRule, IrPolicy, IrRule, Leaf
from bobcat.ir.visit import code_nodes, leaves
from bobcat.language.facets import IR_OPERATORS
from bobcat.language.kinds import OperandForm
from bobcat.model.decision import ActionRequest, Decision
from bobcat.model.request_json import context_data, declared_data, request_from_data
from bobcat.testing.mutation.missing import MissingCase, missing_case
from bobcat.testing.mutation.mutants import Mutant
from bobcat.testing.mutation.subjects import Observed, Parts, PolicyCases
from bobcat.testing.suites.compare import plain
from bobcat.testing.suites.model import Step
from bobcat.testing.suites.session import LoadedSuite

MAX_BASES = 6
"""Requests of the suite that are varied."""
MAX_PROBES = 1_500
"""Requests that are made from the clauses of a rule."""
MAX_TRIED = 40
"""Requests that are decided by the whole policies, of those that the changed rules decide differently."""
MAX_RULES = 8
"""Rules whose clauses are varied if a mutant concerns all of them."""

Probe = tuple[LoadedSuite, ActionRequest]
Data = dict[str, Any]  # Any: JSON


class Candidates:
    """The values to set at clauses, computed once for each clause."""

    def __init__(self) -> None:
        self._known: dict[str, list[Any]] = {}  # Any: JSON

    def of(self, leaf: Leaf) -> list[Any]:  # Any: JSON
        """Return the candidates of a clause; of a pattern, also the longest text."""
        key = repr(leaf)
        if key not in self._known:
            found = candidate_values(leaf).all()
            is_pattern = IR_OPERATORS[leaf.op].operand is OperandForm.PATTERN and isinstance(leaf.operand, str)
            longest = longest_sample(leaf.operand) if is_pattern else None
            self._known[key] = found if longest is None or longest in found else [*found[:2], longest, *found[2:]]
        return self._known[key]


class Search:
    """Search for missing cases. The requests about one rule are made once, and used for its mutants in a row."""

    def __init__(self, cases: PolicyCases) -> None:
        self._cases = cases
        self._policy = cases.policy
        self._parts = Parts(cases.policy)
        self._candidates = Candidates()
        self._about: tuple[int, ...] | None = None
        self._pool: list[Probe] = []
        self._requests: list[ActionRequest] = []

    def missing(self, name: str, mutant: Mutant, program: Policy) -> MissingCase | None:
        """Return a case that the suites lack; None if no request of the search tells policy and mutant apart."""
        self._prepare(mutant)
        pair, place = mutant.part(self._policy.ir), (mutant.first, mutant.last)
        different = self._parts.differing(pair, place, self._requests) or []
        found = self._first(name, [self._pool[index] for index in different], program)
        if found is not None:
            return found
        pool = list(self._bound(self._of_change(mutant)))
        different = Parts(self._policy).differing(pair, place, [request for _, request in pool]) or []
        return self._first(name, [pool[index] for index in different], program)

    def _first(self, name: str, probes: list[Probe], program: Policy) -> MissingCase | None:
        """Return the case of the first request that the whole policies decide differently."""
        requests = [request for _, request in probes]
        pairs = zip(_core.evaluate_many(self._policy, requests), _core.evaluate_many(program, requests), strict=True)
        differing = [probe for probe, (one, two) in zip(probes, pairs, strict=True) if one != two]
        for suite, request in differing[:MAX_TRIED]:
            step = Step(request, None, suite.suite.policy_span)
            found = missing_case(name, (step,), suite, self._policy, program)
            if found is not None:
                return found
        return None

    def _prepare(self, mutant: Mutant) -> None:
        about = tuple(mutant.rules) or tuple(range(min(MAX_RULES, len(self._policy.ir.rules))))
        if about != self._about:
            self._about = about
            rules = [self._policy.ir.rules[index] for index in about]
            probes = chain(self._varied(self._bases(mutant.first), rules), self._made(tuple(rules)))
            self._pool = list(self._bound(islice(probes, MAX_PROBES)))
            self._requests = [request for _, request in self._pool]

    def _bases(self, first: int) -> list[Observed]:
        """Return requests of the suites: those that the rule decides, then those that reach it."""
        found = sorted(self._cases.reaching(first), key=lambda item: item.reached != first)
        distinct: dict[str, Observed] = {}
        for item in found:
            distinct.setdefault(f"{item.request.tool} {sorted(map(str, item.request.args))}", item)
        same = [item for item in found if item.reached == first][:2]
        return [*same, *distinct.values()][:MAX_BASES]

    def _suite(self, case: int) -> LoadedSuite:
        return self._cases.cases[case][0]

    def _varied(self, bases: list[Observed], rules: list[AnyRule]) -> Iterator[Probe]:
        """Yield the requests of the suites, and these with other values at the clauses of some rules."""
        for item in bases:
            yield self._suite(item.case), item.request
        for item in bases:
            for rule in rules:
                yield from self._with_values(item, self._settings(rule, item.request))

    def _with_values(self, item: Observed, settings: Iterator[tuple[tuple[str, ...], Any]]) -> Iterator[Probe]:
        data = request_data(item.request)
        for path, value in settings:
            changed = {**data, path[0]: deepcopy(data[path[0]])}
            if with_value(changed, path, value):
                with suppress(RequestError):
                    yield self._suite(item.case), request_from_data(changed)

    def _made(self, rules: tuple[AnyRule, ...]) -> Iterator[Probe]:
        """Yield requests that match rules, and those with one clause changed."""
        suite = self._suite(0)
        policy: IrPolicy = msgspec.structs.replace(self._policy.ir, rules=rules)
        for _, request in probe_calls(policy):
            yield suite, request

    def _of_change(self, mutant: Mutant) -> Iterator[Probe]:
        """Yield requests about clauses that only the mutant has."""
        bases = self._bases(mutant.first)
        for index, new in mutant.rules.items():
            old = self._policy.ir.rules[index]
            if not isinstance(new, IrRule) or not isinstance(old, IrRule) or mutant.mutation == "swap":
                continue
            known = list(leaves(old.match))
            for leaf in leaves(new.match):
                if leaf not in known:
                    for item in bases:
                        yield from self._with_values(item, self._values(leaf))
            if new.match != old.match:
                yield from islice(self._made((new,)), MAX_PROBES // 4)

    def _bound(self, probes: Iterator[Probe]) -> Iterator[Probe]:
        """Yield the requests as the tools of their suites complete them."""
        for suite, request in probes:
            bound = suite.subject.tools.bind(request)
            if not isinstance(bound, Decision):
                yield suite, bound

    def _settings(self, rule: AnyRule, request: ActionRequest) -> Iterator[tuple[tuple[str, ...], Any]]:  # Any: JSON
        """Yield values to set in a request, and where."""
        if isinstance(rule, IrRule):
            for leaf in leaves(rule.match):
                yield from self._values(leaf)
        elif isinstance(rule, FunctionRule):
            constants = [node.value for node in code_nodes(rule.body) if isinstance(node, ir.Constant)]
            numbers = [item for item in constants if isinstance(item, int | float) and not isinstance(item, bool)]
            near = [item + move for item in numbers for move in (-1, 0, 1)]
            for name in request.args:
                for value in (*near, *(item for item in constants if isinstance(item, str)), MISSING):
                    yield ("args", name), value

    def _values(self, leaf: Leaf) -> Iterator[tuple[tuple[str, ...], Any]]:  # Any: JSON
        if not reads_memory(leaf):
            path = (str(leaf.head), *leaf.path)
            yield from ((path, value) for value in self._candidates.of(leaf))


def request_data(request: ActionRequest) -> Data:
    """Return a request as JSON data."""
    context = {key: plain(value) for key, value in context_data(request.context).items()}
    declared = {key: plain(value) for key, value in declared_data(request.declared).items()}
    return {"tool": request.tool, "args": plain(request.args), "declared": declared, "context": context}
