"""Kinds of calls: what the definitions of a memory take of a call and of its result.

Two calls of one kind lead from one state to the same state. The result of a call is one more argument of it here, so
that one question is about both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UnsetType

from bobcat.analysis.engine import Constraint, Questions
from bobcat.analysis.matches import PERMITS, RESTRICTS, policy_of_match
from bobcat.analysis.model import Proof, Reason, Unknown, Witness
from bobcat.bundle.model import Policy
from bobcat.ir import construct
from bobcat.ir.canonical import encode
from bobcat.ir.conjuncts import named_tools
from bobcat.ir.schema import (
    AllExpr,
    AnyExpr,
    CallEvent,
    Definition,
    Expr,
    Formula,
    FormulaDefinition,
    IrRule,
    Leaf,
    Measure,
    NotExpr,
    ResultEvent,
    Source,
)
from bobcat.ir.visit import formula_parts
from bobcat.model.decision import ActionRequest

RESULT = "bobcat result"
"""The argument that stands for the result of a call in a question."""
MAX_KINDS = 400
"""Kinds of calls that one question tells apart."""

Outcome: TypeAlias = Literal["true", "false", "error", "any"]
"""The outcome of an atom; `any` where it makes no difference."""
_OUTCOMES: Mapping[Outcome, list[str]] = {"true": ["true"], "false": ["false", "absent"], "error": ["error"]}


@dataclass(frozen=True, slots=True)
class Atom:
    """A match that definitions evaluate on a call, or on its result."""

    policy: Policy
    tools: frozenset[object]
    of_result: bool


@dataclass(frozen=True, slots=True)
class Kind:
    """The calls of one tool with the same outcome of each atom, with one of them. `tool` is None for any other tool."""

    tool: str | None
    outcomes: tuple[Outcome, ...]
    request: ActionRequest

    def where(self, numbers: Iterable[int], first: int) -> list[Constraint]:
        """Return the constraints on some atoms, which are policies of a question from number `first` on."""
        return [
            {"match": first + number, "is": _OUTCOMES[self.outcomes[number]]}
            for number in numbers
            if self.outcomes[number] != "any"
        ]


class Atoms:
    """The atoms of some definitions, and for each definition the numbers of its atoms."""

    def __init__(self, definitions: Mapping[str, Definition]) -> None:
        self.items: list[Atom] = []
        self._known: dict[bytes, int] = {}
        self.of: dict[str, tuple[int, ...]] = {}
        self._needed: dict[int, int] = {}
        for name, definition in definitions.items():
            own: list[int] = []
            for match, permits, of_result in _matches(definition):
                needed = own[0] if own and isinstance(definition, Measure) else None
                own.append(self._number(match, permits, of_result, needed))
            self.of[name] = tuple(dict.fromkeys(own))

    def _number(self, match: Expr, permits: bool, of_result: bool, needed: int | None) -> int:
        """Return the number of an atom; it makes a difference only where the atom `needed` is true."""
        key = encode(match) + repr((permits, of_result, needed)).encode()
        if key not in self._known:
            policy = policy_of_match(match, PERMITS if permits else RESTRICTS, {})
            rule = policy.ir.rules[0]
            assert isinstance(rule, IrRule)
            number = self._known[key] = len(self.items)
            self.items.append(Atom(policy, frozenset(named_tools(rule)), of_result))
            if needed is not None:
                self._needed[number] = needed
        return self._known[key]

    def taken(self, name: str, definition: Definition, kind: Kind) -> Outcome:
        """Return whether a measure counts a call of a kind."""
        outcomes = [kind.outcomes[number] for number in self.of[name]]
        if isinstance(definition, Measure) and len(outcomes) > 1 and outcomes[0] == "true":
            return "true" if outcomes[1] == "true" else "error"
        return outcomes[0]

    def kinds(self, questions: Questions, tools: Sequence[str | None], first: int) -> Iterator[Kind | Unknown]:
        """Yield the kinds of calls of some tools, or the reasons that one is unknown.

        The atoms are the policies of the questions from number `first` on.
        """
        count = 0
        for tool in tools:
            for found in self._split(questions, tool, (), first):
                yield found
                count += 1
                if count > MAX_KINDS:
                    yield Unknown((Reason("kinds", f"there are more than {MAX_KINDS} kinds of calls"),))
                    return

    def _split(
        self, questions: Questions, tool: str | None, known: tuple[Outcome, ...], first: int
    ) -> Iterator[Kind | Unknown]:
        """Yield the kinds whose first outcomes are known."""
        while len(known) < len(self.items) and (fixed := self._fixed(tool, known)) is not None:
            known = (*known, fixed)
        number = len(known)
        if number == len(self.items):
            kind = Kind(tool, known, _NO_REQUEST)
            answer = questions.find(*kind.where(range(number), first), tools=[tool])
            if isinstance(answer, Witness):
                yield Kind(tool, known, answer.request)
            elif isinstance(answer, Unknown):
                yield answer
            return
        for outcome in _OUTCOMES:
            longer: tuple[Outcome, ...] = (*known, outcome)
            partial = Kind(tool, longer, _NO_REQUEST)
            if not isinstance(questions.find(*partial.where(range(number + 1), first), tools=[tool]), Proof):
                yield from self._split(questions, tool, longer, first)

    def _fixed(self, tool: str | None, known: tuple[Outcome, ...]) -> Outcome | None:
        """Return the outcome of the next atom for a tool if no question about it is needed."""
        number = len(known)
        atom = self.items[number]
        if atom.tools and tool not in atom.tools:
            return "false"
        needed = self._needed.get(number)
        return "any" if needed is not None and known[needed] != "true" else None


_NO_REQUEST: Any = None  # Any: a kind that is not known to have a call


def split_result(request: ActionRequest) -> tuple[ActionRequest, Any]:  # Any: JSON
    """Return a call without the argument that stands for its result, and the result."""
    args = dict(request.args)
    result = args.pop(RESULT, {})
    return ActionRequest(request.tool, args, request.declared, request.context), result


def _matches(definition: Definition) -> Iterator[tuple[Expr, bool, bool]]:
    """Yield the matches of a definition: whether it is read as a rule that permits, and whether it reads a result."""
    match definition:
        case Measure(of, field):
            yield of, False, False
            if not isinstance(field, UnsetType):
                numbers = [construct.leaf("args", field, op, 0) for op in ("ge", "lt")]
                yield construct.any_(numbers), False, False
        case Source(of):
            yield of, True, False
        case FormulaDefinition(formula):
            waiting: list[Formula] = [formula]
            while waiting:
                item = waiting.pop()
                waiting += formula_parts(item)
                if isinstance(item, CallEvent):
                    yield item.match, False, False
                elif isinstance(item, ResultEvent):
                    yield with_result(item.match), False, True


def with_result(expr: Expr) -> Expr:
    """Return a match of a result as one of a call that has its result as an argument."""
    return moved(expr, "result", ("args", RESULT))


def moved(expr: Expr, head: str, to: tuple[str, ...]) -> Expr:
    """Return an expression with the paths of one head below another path."""

    def operand(value: Any) -> Any:  # Any: an operand
        if isinstance(value, list):
            return [operand(item) for item in value]
        if not isinstance(value, dict):
            return value
        if value.get("ref", ("",))[0] == head:
            return {"ref": [*to, *value["ref"][1:]]}
        return {key: operand(item) for key, item in value.items()}

    match expr:
        case AllExpr(items):
            return construct.all_(moved(item, head, to) for item in items)
        case AnyExpr(items):
            return construct.any_(moved(item, head, to) for item in items)
        case NotExpr(item):
            return construct.not_(moved(item, head, to))
        case Leaf():
            changed = msgspec.structs.replace(expr, operand=operand(expr.operand))
            if expr.head != head:
                return changed
            return msgspec.structs.replace(changed, head=to[0], path=(*to[1:], *expr.path))
