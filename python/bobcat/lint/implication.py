"""Implication and disjointness of matches.

Both results are one-sided: True is proven, False means "not proven". They concern the truth of a match, under the
table of `docs/reference/semantics.md`, for a rule that permits or one that restricts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bobcat.ir.canonical import encode, encode_value
from bobcat.ir.conjuncts import conjuncts
from bobcat.ir.schema import AllExpr, AnyExpr, Const, Expr, IrRule, Leaf, NotExpr
from bobcat.ir.visit import walk
from bobcat.language.facets import IR_OPERATORS
from bobcat.language.kinds import OperandForm
from bobcat.language.operators import Bound
from bobcat.lint.lazy_attribute import lazy

PERMITS = frozenset(("allow", "transform"))
_ORDER = frozenset(("gt", "ge", "lt", "le", "between"))
Path = tuple[str, ...]


class PathCondition:
    """One conjunct of a match, with cached data for comparisons."""

    def __init__(self, expr: Expr) -> None:
        self.expr = expr
        self.path: Path | None = (expr.head, *expr.path) if isinstance(expr, Leaf) else None
        """The path of a leaf, from its head on."""

    @lazy
    def key(self) -> bytes:
        """Return its canonical bytes."""
        return encode(self.expr)

    @lazy
    def values(self) -> set[bytes] | None:
        """Return the only values for which it is true, encoded; None if it does not enumerate them."""
        item = self.expr
        if not isinstance(item, Leaf) or IR_OPERATORS[item.op].anchors != "both" or isinstance(item.operand, dict):
            return None
        if IR_OPERATORS[item.op].operand is OperandForm.SCALARS:
            return {encode_value(value) for value in item.operand}
        return None if isinstance(item.operand, list) else {encode_value(item.operand)}

    @lazy
    def interval(self) -> tuple[str, Bound, Bound] | None:
        """Return the values for which it is true, if they form an interval."""
        return _interval(self.expr) if isinstance(self.expr, Leaf) else None

    @lazy
    def bounds(self) -> tuple[str, Bound, Bound] | None:
        """Return the interval of a comparison by order."""
        return self.interval if isinstance(self.expr, Leaf) and self.expr.op in _ORDER else None

    @lazy
    def negates(self) -> bool:
        """Return true if it contains a `not`: a missing path makes it true in a rule that restricts, and undefined in
        one that permits.
        """
        return not isinstance(self.expr, Leaf) and any(isinstance(node, NotExpr) for node in walk(self.expr))

    @lazy
    def items(self) -> tuple[PathCondition, ...]:
        """Return the items of a connective."""
        return tuple(map(PathCondition, self.expr.items)) if isinstance(self.expr, AllExpr | AnyExpr) else ()


def conditions(rule: IrRule) -> tuple[PathCondition, ...]:
    """Return the conjuncts of a rule's match."""
    return tuple(map(PathCondition, conjuncts(rule.match)))


def is_lenient(strong: IrRule, weak: IrRule) -> bool:
    """Return true if a `not` in `weak` can be undefined where `strong` takes it for true: one permits, the other does
    not.
    """
    return weak.verdict in PERMITS and strong.verdict not in PERMITS


def covers(strong: Sequence[PathCondition], weak: Sequence[PathCondition], *, lenient: bool) -> bool:
    """Return true if every condition of `weak` follows from one of `strong`."""
    for wanted in weak:
        if lenient and wanted.negates:
            return False
        path = wanted.path
        for have in strong:
            # PERF: most conditions are leaves, and a leaf follows from no other path; a call takes three times as long.
            if (path is None or path == have.path) and _item_implies(have, wanted):
                break
        else:
            return False
    return True


class Conjunction:
    """Conditions that must hold together, with the texts that they want at paths.

    PERF: most conditions are equalities with texts: different ones at a path clash, and equal ones do not.
    """

    __slots__ = ("_only_texts", "_texts", "clash", "items")

    def __init__(self, items: Sequence[PathCondition]) -> None:
        self.items = items
        self._texts: dict[Path | None, str] = {}
        self._only_texts = True
        self.clash = False
        """No call makes all of the conditions true."""
        texts = self._texts
        for item in items:
            expr = item.expr
            if type(expr) is not Leaf or expr.op != "eq" or type(expr.operand) is not str:
                self._only_texts = False
            elif texts.setdefault(item.path, expr.operand) != expr.operand:
                self.clash = True
                return
        if not self._only_texts:
            self.clash = _clash_of_others(items)

    @property
    def texts(self) -> Iterable[tuple[Path, str]] | None:
        """Return the path and the text of each condition in order, if all are equalities with texts at different
        paths.
        """
        texts = self._texts
        return texts.items() if self._only_texts and len(texts) == len(self.items) else None  # type: ignore[return-value]  # a leaf has a path

    def clashes(self, other: Conjunction) -> bool:
        """Return true if no call makes all of these conditions and all of another conjunction true."""
        if self.clash or other.clash:
            return True
        wanted = other._texts
        for path, text in self._texts.items():
            if wanted.get(path, text) != text:
                return True
        return not (self._only_texts and other._only_texts) and _clash_of_others((*self.items, *other.items))


def clash(items: Sequence[PathCondition]) -> bool:
    """Return true if no call makes all of these true."""
    return Conjunction(items).clash


def _clash_of_others(items: Sequence[PathCondition]) -> bool:
    if len({item.path for item in items}) == len(items) and not any(map(_is_empty, items)):
        return False  # PERF: most other matches
    return _clash(items)


def _is_empty(item: PathCondition) -> bool:
    """Return true if a condition may be false for every value: it has no alternatives, or lists no value."""
    expr = item.expr
    return not expr.operand if isinstance(expr, Leaf) else isinstance(expr, AnyExpr) and not expr.items


def _clash(items: Sequence[PathCondition]) -> bool:
    allowed: dict[Path, set[bytes]] = {}
    for item in items:
        if isinstance(item.expr, AnyExpr) and not item.expr.items:
            return True
        if item.values is None or item.path is None:
            continue
        place = item.path
        allowed[place] = allowed[place] & item.values if place in allowed else item.values
        if not allowed[place]:
            return True
    return False


def _item_implies(have: PathCondition, wanted: PathCondition) -> bool:
    if have.path is not None and wanted.path is not None and have.path != wanted.path:
        return False
    if wanted.bounds is not None:  # PERF: up to 2,000,000 pairs
        return _within(have.interval, wanted.bounds)
    if have.expr == wanted.expr and have.key == wanted.key:  # PERF: equal bytes are equal nodes, not the reverse
        return True
    if isinstance(wanted.expr, AllExpr):
        return all(_item_implies(have, item) for item in wanted.items)
    if isinstance(wanted.expr, AnyExpr):
        return any(_item_implies(have, item) for item in wanted.items)
    if not (isinstance(have.expr, Leaf) and isinstance(wanted.expr, Leaf)):
        return False
    if wanted.expr.op == "exists" and wanted.expr.operand is True:
        return have.expr.op != "exists"
    if IR_OPERATORS[wanted.expr.op].anchors in ("start", "end"):
        return _affix_implies(have.expr, wanted.expr)
    if have.values is not None and wanted.values is not None:
        return have.values <= wanted.values
    return wanted.interval is not None and _within(have.interval, wanted.interval)


def _affix_implies(have: Leaf, wanted: Leaf) -> bool:
    """Return true if every text for which `have` is true has an affix that `wanted` names."""
    if IR_OPERATORS[have.op].anchors not in ("both", IR_OPERATORS[wanted.op].anchors):
        return False
    held, ends = texts(have), texts(wanted)
    at = str.startswith if IR_OPERATORS[wanted.op].anchors == "start" else str.endswith
    return bool(held and ends) and all(at(text, ends) for text in held)


def texts(leaf: Leaf) -> tuple[str, ...]:
    """Return the texts of a leaf whose operand is a text or a list of texts; otherwise empty."""
    items = (
        [leaf.operand]
        if isinstance(leaf.operand, str) or IR_OPERATORS[leaf.op].operand is OperandForm.VALUE
        else leaf.operand
    )
    return tuple(items) if isinstance(items, list) and all(isinstance(item, str) for item in items) else ()


def _within(held: tuple[str, Bound, Bound] | None, required: tuple[str, Bound, Bound]) -> bool:
    if held is None or held[0] != required[0]:
        return False
    _, low, high = held
    _, wanted_low, wanted_high = required
    return (wanted_low is None or (low is not None and low >= wanted_low)) and (
        wanted_high is None or (high is not None and high <= wanted_high)
    )


def _interval(leaf: Leaf) -> tuple[str, Bound, Bound] | None:
    operand = leaf.operand
    if isinstance(operand, dict) and "timestamp" not in operand:
        return None
    row = IR_OPERATORS[leaf.op]
    bounds = operand if row.operand is OperandForm.BOUNDS else [operand]
    kinds = {_kind(bound) for bound in bounds}
    if row.interval is None or len(kinds) != 1 or "other" in kinds:
        return None
    low, high = row.interval([*map(_number, bounds)] if row.operand is OperandForm.BOUNDS else _number(operand))
    return kinds.pop(), low, high


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
