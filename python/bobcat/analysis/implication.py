"""When one match being true makes another true, and when two can never be true together.

Both answers are one-sided: True is certain, False means "not shown". What counts is the truth of a match, under the
table of `docs/reference/semantics.md`, for a rule that permits or one that restricts.
"""

from __future__ import annotations

from typing import Any

from bobcat.ir.canonical import encode, encode_value
from bobcat.ir.schema import All, AnyOf, Const, Expr, Leaf, Not, Rule
from bobcat.ir.visit import walk

PERMITS = frozenset(("allow", "transform"))


def conjuncts(expr: Expr) -> tuple[Expr, ...]:
    """The parts of a match that must all hold; the match itself where it has none."""
    return expr.items if isinstance(expr, All) and expr.items else (expr,)


def implies(strong: Rule, weak: Rule) -> bool:
    """Whether `weak` is true for every call for which `strong` is."""
    lenient = weak.verdict in PERMITS and strong.verdict not in PERMITS
    return all(
        any(_item_implies(have, wanted) for have in conjuncts(strong.match)) and not (lenient and _negates(wanted))
        for wanted in conjuncts(weak.match)
    )


def disjoint(left: Rule, right: Rule) -> bool:
    """Whether no call makes both matches true."""
    return contradict((*conjuncts(left.match), *conjuncts(right.match)))


def contradict(items: tuple[Expr, ...]) -> bool:
    """Whether no call makes every one of these true."""
    allowed: dict[tuple[str, tuple[str, ...]], set[bytes]] = {}
    for item in items:
        if isinstance(item, AnyOf) and not item.items:
            return True
        values = _values(item)
        if values is None or not isinstance(item, Leaf):
            continue
        place = item.head, item.path
        allowed[place] = allowed[place] & values if place in allowed else values
        if not allowed[place]:
            return True
    return False


def _negates(expr: Expr) -> bool:
    # A missing path makes `not` true in a rule that restricts, and leaves it open in one that permits.
    return any(isinstance(node, Not) for node in walk(expr))


def _item_implies(have: Expr, wanted: Expr) -> bool:
    if encode(have) == encode(wanted):
        return True
    if isinstance(wanted, All):
        return all(_item_implies(have, item) for item in wanted.items)
    if isinstance(wanted, AnyOf):
        return any(_item_implies(have, item) for item in wanted.items)
    if not (isinstance(have, Leaf) and isinstance(wanted, Leaf)):
        return False
    if (have.head, have.path) != (wanted.head, wanted.path):
        return False
    if wanted.op == "exists" and wanted.operand is True:
        return have.op != "exists"
    if wanted.op in ("starts_with", "ends_with"):
        return _affix_implies(have, wanted)
    mine, theirs = _values(have), _values(wanted)
    if mine is not None and theirs is not None:
        return mine <= theirs
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


def _bound_implies(have: Leaf, wanted: Leaf) -> bool:
    mine, theirs = _interval(have), _interval(wanted)
    if mine is None or theirs is None or mine[0] != theirs[0]:
        return False
    _, low, high = mine
    _, wanted_low, wanted_high = theirs
    return (wanted_low is None or (low is not None and low >= wanted_low)) and (
        wanted_high is None or (high is not None and high <= wanted_high)
    )


# Any: bounds of one kind compare with each other. The second item: 1 for an open lower one, -1 for an open upper one.
_Bound = tuple[Any, int] | None


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
