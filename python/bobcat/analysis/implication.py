"""When one match being true makes another true, and when two can never be true together.

Both answers are one-sided: True is certain, False means "not shown". What counts is the truth of a match, under the
table of `docs/reference/semantics.md`, for a rule that permits or one that restricts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from bobcat.ir.canonical import encode, encode_value
from bobcat.ir.schema import All, AnyOf, Const, Expr, Leaf, Not, Rule
from bobcat.ir.visit import walk

PERMITS = frozenset(("allow", "transform"))

# Any: bounds of one kind compare with each other. The second item: 1 for an open lower one, -1 for an open upper one.
_Bound = tuple[Any, int] | None


def conjuncts(expr: Expr) -> tuple[Expr, ...]:
    """The parts of a match that must all hold; the match itself where it has none."""
    return expr.items if isinstance(expr, All) and expr.items else (expr,)


class Condition:
    """One of the parts of a match that must all hold, with what comparing it takes, worked out once."""

    def __init__(self, expr: Expr) -> None:
        self.expr = expr

    @cached_property
    def key(self) -> bytes:
        """Its canonical bytes."""
        return encode(self.expr)

    @cached_property
    def path(self) -> tuple[str, tuple[str, ...]] | None:
        """What a leaf looks at."""
        return (self.expr.head, self.expr.path) if isinstance(self.expr, Leaf) else None

    @cached_property
    def values(self) -> set[bytes] | None:
        """The only values that it is true for, encoded; None when it does not name them."""
        return _values(self.expr)

    @cached_property
    def interval(self) -> tuple[str, _Bound, _Bound] | None:
        """The values that it is true for, when these are an interval."""
        return _interval(self.expr) if isinstance(self.expr, Leaf) else None

    @cached_property
    def negates(self) -> bool:
        """Whether a `not` is in it."""
        return _negates(self.expr)

    @cached_property
    def items(self) -> tuple[Condition, ...]:
        """The items of a connective."""
        return tuple(map(Condition, self.expr.items)) if isinstance(self.expr, All | AnyOf) else ()


def conditions(rule: Rule) -> tuple[Condition, ...]:
    """The conjuncts of a rule's match."""
    return tuple(map(Condition, conjuncts(rule.match)))


def implies(strong: Rule, weak: Rule) -> bool:
    """Whether `weak` is true for every call for which `strong` is."""
    return covers(conditions(strong), conditions(weak), lenient=is_lenient(strong, weak))


def is_lenient(strong: Rule, weak: Rule) -> bool:
    """Whether a `not` in `weak` can be open where `strong` takes it for true: one permits, the other does not."""
    return weak.verdict in PERMITS and strong.verdict not in PERMITS


def covers(strong: Sequence[Condition], weak: Sequence[Condition], *, lenient: bool) -> bool:
    """Whether every condition of `weak` follows from one of `strong`."""
    return all(
        not (lenient and wanted.negates) and any(_item_implies(have, wanted) for have in strong) for wanted in weak
    )


def disjoint(left: Rule, right: Rule) -> bool:
    """Whether no call makes both matches true."""
    return clash((*conditions(left), *conditions(right)))


def contradict(items: tuple[Expr, ...]) -> bool:
    """Whether no call makes every one of these true."""
    return clash(tuple(map(Condition, items)))


def clash(items: Sequence[Condition]) -> bool:
    """Whether no call makes every one of these true."""
    allowed: dict[tuple[str, tuple[str, ...]], set[bytes]] = {}
    for item in items:
        if isinstance(item.expr, AnyOf) and not item.expr.items:
            return True
        if item.values is None or item.path is None:
            continue
        place = item.path
        allowed[place] = allowed[place] & item.values if place in allowed else item.values
        if not allowed[place]:
            return True
    return False


def _negates(expr: Expr) -> bool:
    # A missing path makes `not` true in a rule that restricts, and leaves it open in one that permits.
    return any(isinstance(node, Not) for node in walk(expr))


def _item_implies(have: Condition, wanted: Condition) -> bool:
    if have.path is not None and wanted.path is not None and have.path != wanted.path:
        return False
    if have.key == wanted.key:
        return True
    if isinstance(wanted.expr, All):
        return all(_item_implies(have, item) for item in wanted.items)
    if isinstance(wanted.expr, AnyOf):
        return any(_item_implies(have, item) for item in wanted.items)
    if not (isinstance(have.expr, Leaf) and isinstance(wanted.expr, Leaf)):
        return False
    if wanted.expr.op == "exists" and wanted.expr.operand is True:
        return have.expr.op != "exists"
    if wanted.expr.op in ("starts_with", "ends_with"):
        return _affix_implies(have.expr, wanted.expr)
    if have.values is not None and wanted.values is not None:
        return have.values <= wanted.values
    return _bound_implies(have, wanted)


def _affix_implies(have: Leaf, wanted: Leaf) -> bool:
    """Whether every text that `have` is true for has one of the ends that `wanted` names."""
    if have.op not in ("eq", "in", wanted.op) or not isinstance(have.operand, str | list):
        return False
    texts: list[Any] = [have.operand] if isinstance(have.operand, str) or have.op == "eq" else have.operand
    ends: Any = [wanted.operand] if isinstance(wanted.operand, str) else wanted.operand
    if not isinstance(ends, list) or not all(isinstance(text, str) for text in texts):
        return False
    at = str.startswith if wanted.op == "starts_with" else str.endswith
    return all(at(text, tuple(ends)) for text in texts)


def _values(item: Expr) -> set[bytes] | None:
    """The only values a leaf is true for, encoded; None when it does not name them."""
    if isinstance(item, Leaf) and item.op == "eq" and not isinstance(item.operand, list | dict):
        return {encode_value(item.operand)}
    if isinstance(item, Leaf) and item.op == "in" and isinstance(item.operand, list):
        return {encode_value(value) for value in item.operand}
    return None


def _bound_implies(have: Condition, wanted: Condition) -> bool:
    mine, theirs = have.interval, wanted.interval
    if mine is None or theirs is None or mine[0] != theirs[0]:
        return False
    _, low, high = mine
    _, wanted_low, wanted_high = theirs
    return (wanted_low is None or (low is not None and low >= wanted_low)) and (
        wanted_high is None or (high is not None and high <= wanted_high)
    )


def _interval(leaf: Leaf) -> tuple[str, _Bound, _Bound] | None:
    operand = leaf.operand
    if isinstance(operand, dict) and "timestamp" not in operand:
        return None
    match leaf.op:
        case "gt":
            return _kind(operand), (_number(operand), 1), None
        case "ge":
            return _kind(operand), (_number(operand), 0), None
        case "lt":
            return _kind(operand), None, (_number(operand), -1)
        case "le":
            return _kind(operand), None, (_number(operand), 0)
        case "between":
            return _kind(operand[0]), (_number(operand[0]), 0), (_number(operand[1]), 0)
        case "eq" if _kind(operand) != "other":
            return _kind(operand), (_number(operand), 0), (_number(operand), 0)
        case _:
            return None


def _kind(operand: Const) -> str:
    if isinstance(operand, bool):
        return "other"
    if isinstance(operand, int | float):
        return "number"
    if isinstance(operand, str):
        return "string"
    return "timestamp" if isinstance(operand, dict) and "timestamp" in operand else "other"


def _number(operand: Const) -> Any:  # Any: a number or a string, which the kind tells
    return operand["timestamp"] if isinstance(operand, dict) else operand
