"""A call that a rule of a policy lets through, under further conditions: solved, then decided by the core.

    finder.find([(rule.match, True), (goal, True)], rule)    the call; None when there is none

Where another rule decides the call that was found, the search goes on without the calls of that rule: a refusal that
outranks the rule makes it answer None.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from bobcat.analysis.argument_schema import Tools
from bobcat.analysis.doctor.probes import Request, as_request
from bobcat.analysis.implication import PERMITS
from bobcat.analysis.pattern_syntax import Unreadable
from bobcat.analysis.text_search import Budget, OutOfBudget
from bobcat.analysis.values import Test, solve
from bobcat.bundle import PolicyBundle
from bobcat.errors import RequestError
from bobcat.ir.canonical import encode_value
from bobcat.ir.schema import All, AnyOf, Expr, HostRule, Leaf, Not, Policy, Rule
from bobcat.ir.visit import leaves, refs
from bobcat.requests import request_from_json

MAX_STEPS = 500_000
"""Steps of all searches for calls about one policy."""
MAX_STEPS_EACH = 25_000
"""Steps of one search."""
MAX_BRANCHES = 12
"""Ways to make a match true that are tried."""
MAX_ROUNDS = 6
"""Rules that one search steers around."""

Wanted: TypeAlias = tuple[Expr, bool]
_ORDERED = frozenset(("gt", "ge", "lt", "le"))


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a policy permits."""

    request: Request

    def __str__(self) -> str:
        """The tool and the arguments, and what else of the request matters, as a finding shows them."""
        parts = [f"`{self.request['tool']}` with `{_json(self.request.get('args', {}))}`"]
        declared = {name: value for name, value in self.request.get("declared", {}).items() if value is not True}
        if declared:
            parts.append(f"declared `{_json(declared)}`")
        context = self.request.get("context", {})
        if context:
            parts.append(f"in the context `{_json(context)}`")
        return " ".join(parts)


class Unknown:
    """The search ended without an answer."""


UNKNOWN = Unknown()
Answer: TypeAlias = Call | Unknown | None


class CallFinder:
    """Searches for calls that one policy permits, and that its tools take, as far as these are known.

    `exhausted` tells that the budget is spent, `ended` how many searches had no answer within theirs.
    """

    def __init__(self, policy: Policy, tools: Tools) -> None:
        self._tools = tools
        self._policy = policy
        self._bundle: PolicyBundle | None = None
        self._rules = {rule.id: rule for rule in policy.rules if isinstance(rule, Rule)}
        self._left = MAX_STEPS
        self._decidable = not any(isinstance(rule, HostRule) for rule in policy.rules)
        self._solved: dict[bytes, Any] = {}  # Any: JSON
        self.exhausted = False
        self.ended = 0

    def find(self, wanted: Sequence[Wanted], by: Rule) -> Answer:
        """A call for which every expression comes out as wanted and that `by` permits; None when there is none."""
        if not self._decidable or self.exhausted:
            return UNKNOWN
        budget = Budget(min(MAX_STEPS_EACH, self._left))
        before = budget.steps
        try:
            return self._find(list(wanted), by, budget)
        except OutOfBudget:
            self.ended += 1
            return UNKNOWN
        except (Unreadable, RecursionError):
            return UNKNOWN
        finally:
            self._left -= before - max(0, budget.steps) + 20
            self.exhausted = self._left <= 0

    def _find(self, wanted: list[Wanted], by: Rule, budget: Budget) -> Answer:
        unsure = any(next(refs(leaf.operand), None) is not None for expr, _ in wanted for leaf in leaves(expr))
        for _ in range(MAX_ROUNDS):
            blocker: Rule | None = None
            found = list(_branches(wanted))
            unsure = unsure or len(found) >= MAX_BRANCHES
            for branch in found:
                try:
                    request = self._request(branch, budget)
                except Unreadable:
                    unsure = True
                    continue
                if request is None:
                    continue
                deciding = self._permitting(request, by) if self._taken(request) else ""
                if deciding is None:
                    return Call(request)
                unsure = unsure or deciding not in self._rules
                blocker = blocker or self._rules.get(deciding)
            if blocker is None or blocker is by:
                return UNKNOWN if unsure or blocker is by else None
            wanted.append((blocker.match, False))
        return UNKNOWN

    def _taken(self, request: Request) -> bool:
        tool = self._tools.get(request["tool"])
        return tool is None or tool.takes(request.get("args", {}))

    def _permitting(self, request: Request, by: Rule) -> str | None:
        """None when `by` permits a request, otherwise the first rule that had a say."""
        if self._bundle is None:
            self._bundle = PolicyBundle.from_policy(self._policy)
        try:
            decision = self._bundle.evaluate(request_from_json(request))
        except RequestError:  # a value that its field can never have
            return ""
        if str(decision.verdict) in PERMITS and by.id in decision.matched_rules:
            return None
        return next((name for name in decision.matched_rules if not name.startswith("<")), "")

    def _request(self, branch: list[tuple[Leaf, bool]], budget: Budget) -> Request | None:
        tests: dict[tuple[str, ...], list[Test]] = {}
        for leaf, want in branch:
            operand = leaf.operand
            for path in refs(operand):
                if operand != {"ref": list(path)}:
                    raise Unreadable("a test of elements refers to another path")
                operand = _sample(leaf.op)
                tests.setdefault(path, []).append(("in" if leaf.op == "in" else "eq", operand, True))
            tests.setdefault((leaf.head, *leaf.path), []).append((leaf.op, operand, want))
        setting = {}
        for place, found in tests.items():
            key = encode_value([list(place), [list(test) for test in found]])
            if key not in self._solved:
                self._solved[key] = solve(place, found, budget)
            if self._solved[key] is None:
                return None
            setting[place] = self._solved[key]
        return as_request(setting)


def _sample(op: str) -> Any:  # Any: JSON
    """A value for the path that an operand refers to."""
    if op in _ORDERED:
        return 100
    return ["x"] if op == "in" else "/home/al" if op == "starts_with" else "x"


def _branches(wanted: Sequence[Wanted]) -> Iterator[list[tuple[Leaf, bool]]]:
    """Ways to make every expression come out as wanted, as leaves; at most `MAX_BRANCHES`."""
    waiting: list[tuple[list[Wanted], list[tuple[Leaf, bool]]]] = [(list(wanted), [])]
    given = 0
    while waiting and given < MAX_BRANCHES:
        left, found = waiting.pop()
        if not left:
            given += 1
            yield found
            continue
        (expr, want), rest = left[0], left[1:]
        match expr:
            case Leaf():
                waiting.append((rest, [*found, (expr, want)]))
            case Not(item):
                waiting.append(([(item, not want), *rest], found))
            case All(items) | AnyOf(items):
                if isinstance(expr, All) is want:
                    waiting.append(([*((item, want) for item in items), *rest], found))
                else:
                    waiting.extend(([(item, want), *rest], found) for item in reversed(items[:MAX_BRANCHES]))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=True)
