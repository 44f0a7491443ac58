"""Search for example calls that a rule permits under further conditions: solved, then verified by the core.

    finder.find([(rule.match, True), (goal, True)], rule)    the call; None if no call exists

If another rule decides the candidate call, the search continues without the calls of that rule: a denial that
outranks the rule makes the result None.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from bobcat.bundle import Policy
from bobcat.doctor.probe_requests import Request, as_request
from bobcat.errors import RequestError
from bobcat.ir.canonical import encode_value
from bobcat.ir.memory import reads_memory
from bobcat.ir.schema import AllExpr, AnyExpr, Expr, HostRule, IrPolicy, IrRule, Leaf, NotExpr
from bobcat.ir.visit import leaves, refs
from bobcat.language.facets import IR_OPERATORS
from bobcat.language.kinds import OperandForm, ReferenceForm
from bobcat.lint.argument_schema import Tools
from bobcat.lint.implication import PERMITS
from bobcat.lint.pattern_syntax import PatternSyntaxError
from bobcat.lint.permissive_run import without_memory
from bobcat.lint.values import OutOfBudget, SearchBudget, Test, solve
from bobcat.model.request_json import request_from_json

MAX_STEPS = 500_000
"""Steps of all searches for calls about one policy."""
MAX_STEPS_EACH = 25_000
"""Steps of one search."""
STEPS_OF_A_SEARCH = 100
"""Steps that every search costs, for all that it does beside the search for texts."""
MAX_BRANCHES = 12
"""Maximum number of ways to satisfy a match that are tried."""
MAX_ROUNDS = 6
"""Maximum number of rules that one search excludes."""

Wanted: TypeAlias = tuple[Expr, bool]


@dataclass(frozen=True, slots=True)
class ExampleCall:
    """A call that a policy permits."""

    request: Request

    def __str__(self) -> str:
        """Format the tool and the arguments, and other relevant parts of the request, for a diagnostic."""
        parts = [f"`{self.request['tool']}` with `{_json(self.request.get('args', {}))}`"]
        declared = {name: value for name, value in self.request.get("declared", {}).items() if value is not True}
        if declared:
            parts.append(f"declared `{_json(declared)}`")
        context = self.request.get("context", {})
        if context:
            parts.append(f"in the context `{_json(context)}`")
        return " ".join(parts)


class Undecided:
    """The search ended without a result."""


UNDECIDED = Undecided()
CallSearchResult: TypeAlias = ExampleCall | Undecided | None


class CallFinder:
    """Search for calls that one policy permits and that its tools accept, as far as these are known.

    `exhausted` is true once the budget is spent, `ended` counts the searches without a result within their budget.
    """

    def __init__(self, policy: IrPolicy, tools: Tools) -> None:
        self._tools = tools
        self._policy = policy
        self._bundle: Policy | None = None
        self._rules = {rule.id: rule for rule in policy.rules if isinstance(rule, IrRule)}
        self._left = MAX_STEPS
        self._decidable = not any(isinstance(rule, HostRule) for rule in policy.rules)
        self._solved: dict[bytes, Any] = {}  # Any: JSON
        self.exhausted = False
        self.ended = 0

    @property
    def searching(self) -> bool:
        """Return true if a search can succeed; false for a policy with Python rules, and once the budget is spent."""
        return self._decidable and not self.exhausted

    def find(self, wanted: Sequence[Wanted], by: IrRule) -> CallSearchResult:
        """Return a call for which every expression has the wanted value and that `by` permits; None if no call
        exists.
        """
        if not self.searching:
            return UNDECIDED
        budget = SearchBudget(min(MAX_STEPS_EACH, self._left))
        before = budget.steps
        try:
            return self._find(list(wanted), by, budget)
        except OutOfBudget:
            self.ended += 1
            return UNDECIDED
        except (PatternSyntaxError, RecursionError):
            return UNDECIDED
        finally:
            self._left -= before - budget.steps + STEPS_OF_A_SEARCH
            self.exhausted = self._left <= 0

    def _find(self, wanted: list[Wanted], by: IrRule, budget: SearchBudget) -> CallSearchResult:
        uncertain = any(next(refs(leaf.operand), None) is not None for expr, _ in wanted for leaf in leaves(expr))
        for _ in range(MAX_ROUNDS):
            blocker: IrRule | None = None
            found = list(_branches(wanted))
            uncertain = uncertain or len(found) >= MAX_BRANCHES
            for branch in found:
                try:
                    request = self._request(branch, budget)
                except PatternSyntaxError:
                    uncertain = True
                    continue
                if request is None:
                    continue
                deciding = self._permitting(request, by) if self._taken(request) else ""
                if deciding is None:
                    return ExampleCall(request)
                uncertain = uncertain or deciding not in self._rules
                blocker = blocker or self._rules.get(deciding)
            if blocker is None or blocker is by:
                return UNDECIDED if uncertain or blocker is by else None
            wanted.append((blocker.match, False))
        return UNDECIDED

    def _taken(self, request: Request) -> bool:
        tool = self._tools.get(request["tool"])
        return tool is None or tool.takes(request.get("args", {}))

    def _permitting(self, request: Request, by: IrRule) -> str | None:
        """Return None if `by` permits a request, otherwise the first rule that affected the decision."""
        if self._bundle is None:
            self._bundle = Policy.from_policy(without_memory(self._policy))
        try:
            decision = self._bundle.evaluate(request_from_json(request))
        except RequestError:  # a value that its field can never have
            return ""
        if str(decision.verdict) in PERMITS and by.id in decision.matched_rules:
            return None
        return next((name for name in decision.matched_rules if not name.startswith("<")), "")

    def _request(self, branch: list[tuple[Leaf, bool]], budget: SearchBudget) -> Request | None:
        tests: dict[tuple[str, ...], list[Test]] = {}
        for leaf, want in branch:
            operand = leaf.operand
            for path in refs(operand):
                if operand != {"ref": list(path)}:
                    raise PatternSyntaxError("a test of elements refers to another path")
                operand = _sample(leaf.op)
                one = "in" if IR_OPERATORS[leaf.op].reference is ReferenceForm.LIST else "eq"
                tests.setdefault(path, []).append((one, operand, True))
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
    """Return a value for the path that an operand refers to."""
    row = IR_OPERATORS[op]
    if row.operand is OperandForm.BOUND:
        return 100
    return ["x"] if row.reference is ReferenceForm.LIST else "/home/al" if row.anchors == "start" else "x"


def _branches(wanted: Sequence[Wanted]) -> Iterator[list[tuple[Leaf, bool]]]:
    """Yield ways to give every expression the wanted value, as leaves; at most `MAX_BRANCHES`."""
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
            case Leaf() if reads_memory(expr):  # some run has this value
                waiting.append((rest, found))
            case Leaf():
                waiting.append((rest, [*found, (expr, want)]))
            case NotExpr(item):
                waiting.append(([(item, not want), *rest], found))
            case AllExpr(items) | AnyExpr(items):
                if isinstance(expr, AllExpr) is want:
                    waiting.append(([*((item, want) for item in items), *rest], found))
                else:
                    waiting.extend(([(item, want), *rest], found) for item in reversed(items[:MAX_BRANCHES]))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=True)
