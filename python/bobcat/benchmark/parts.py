"""Cost attribution to rules and clauses: each is measured alone in a program, minus a program without rules.

The sum over the rules is not the cost of a decision: in a whole policy, rules share indexes and automata.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from bobcat.benchmark.report import ClauseCost
from bobcat.benchmark.timing import excess
from bobcat.bundle import Policy
from bobcat.ir.canonical import encode
from bobcat.ir.pretty import expr_lines
from bobcat.ir.schema import IrPolicy, IrRule, Leaf
from bobcat.ir.visit import leaves
from bobcat.model.decision import ActionRequest

Wanted: TypeAlias = Mapping[int, Sequence[ActionRequest]]
"""Rules by their index in evaluation order, with the requests that each decides."""

REQUESTS = 32
"""Maximum number of requests per measured rule or clause."""


class CostAttribution:
    """Measurement of a policy's rules and clauses. `requests` are used for rules that decide no request."""

    def __init__(self, bundle: Policy, requests: Sequence[ActionRequest]) -> None:
        self._bundle = bundle
        self._policy: IrPolicy = bundle.ir
        self._empty = Policy.from_policy(msgspec.structs.replace(self._policy, rules=()))
        self._others = _thinned(requests)

    def rules(self, wanted: Wanted, budget: float) -> dict[int, float]:
        """Measure the cost of each rule alone, within `budget` seconds. Python rules are not measured."""
        end = time.perf_counter() + budget
        found: dict[int, float] = {}
        for index, requests in wanted.items():
            rule = self._policy.rules[index]
            if time.perf_counter() > end:
                break
            if isinstance(rule, IrRule):
                found[index] = self._excess(rule, requests)
        return found

    def clauses(self, wanted: Wanted, budget: float) -> tuple[tuple[ClauseCost, ...], int]:
        """Measure the clauses of the rules within `budget` seconds; also return the number of unmeasured clauses.

        Equal clauses are measured once, with the first of their rules; the most expensive comes first.
        """
        end = time.perf_counter() + budget
        first: dict[bytes, tuple[int, int, Leaf]] = {}
        used: Counter[bytes] = Counter()
        for index in wanted:
            rule = self._policy.rules[index]
            if isinstance(rule, IrRule):
                keys = [encode(leaf) for leaf in leaves(rule.match)]
                used.update(set(keys))
                for number, (key, leaf) in enumerate(zip(keys, leaves(rule.match), strict=True)):
                    first.setdefault(key, (index, number, leaf))
        found = []
        for key, (index, number, leaf) in first.items():
            if time.perf_counter() > end:
                break
            found.append(self._clause(index, number, leaf, wanted[index], used[key]))
        return tuple(sorted(found, key=lambda item: -item.cost)), len(first) - len(found)

    def _clause(self, index: int, number: int, leaf: Leaf, requests: Sequence[ActionRequest], rules: int) -> ClauseCost:
        rule = self._policy.rules[index]
        assert isinstance(rule, IrRule)
        alone = msgspec.structs.replace(rule, match=leaf)
        span = self._bundle.source_map.leaf_span(index, number) if self._bundle.source_map is not None else None
        return ClauseCost(
            rule=str(rule.id),
            clause=" ".join(line.strip() for line in expr_lines(leaf)),
            place=f"{span.file}:{span.line}:{span.column}" if span is not None and span.line else "",
            cost=self._excess(alone, requests),
            rules=rules,
        )

    def _excess(self, rule: IrRule, requests: Sequence[ActionRequest]) -> float:
        # A transform is omitted: it does not affect its match, and its result would be evaluated again.
        shown = msgspec.structs.replace(rule, verdict="deny", transform=None) if rule.transform is not None else rule
        program = Policy.from_policy(msgspec.structs.replace(self._policy, rules=(shown,)))
        return excess(program, self._empty, _thinned(requests) if requests else self._others)


def _thinned(requests: Sequence[ActionRequest]) -> Sequence[ActionRequest]:
    """Return at most `REQUESTS` requests, at equal distances."""
    if len(requests) <= REQUESTS:
        return requests
    return [requests[index * len(requests) // REQUESTS] for index in range(REQUESTS)]
