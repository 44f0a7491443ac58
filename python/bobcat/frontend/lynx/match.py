"""Matches of the `lynx` profile: from plain data to expressions, accepting exactly what lynx-agent 2.5 accepts.

Order is significant (the first exception ends a rule), so nothing is sorted or merged. A path with an unknown root
always reads None; such a clause becomes the constant that its operator returns for None.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yaml.nodes import MappingNode, Node, SequenceNode

from bobcat.bundle.source_map import Position
from bobcat.frontend.lynx.source import entries
from bobcat.ir.canonical import EncodingError
from bobcat.ir.constants import to_const
from bobcat.ir.schema import AllExpr, AnyExpr, Const, Expr, Leaf, NotExpr
from bobcat.language.operators import ROWS
from bobcat.language.paths import HEADS

MAX_EXPR_DEPTH = 40
"""Depth of an expression, predicates expanded."""
MAX_CLAUSES = 200_000
"""Clauses of a policy, predicates expanded."""
MAX_CONST_DEPTH = 16
"""Depth of a constant."""
MAX_INT_BITS = 4096
"""Bits of an integer in a policy."""
MAX_STRING_BYTES = 1024 * 1024
"""UTF-8 bytes of one string in a policy."""
MAX_PATH_KEYS = 64
"""Keys of one path."""
MAX_PATTERN_LENGTH = 1000
"""Code points of a pattern; lynx-agent has the same limit."""

OPERATORS = frozenset(row.name for row in ROWS if row.lynx)
TRUE, FALSE = AllExpr(()), AnyExpr(())

# The pattern shapes that lynx-agent rejects: (x+)+ over a class or a letter or digit, and (x|x)+.
_NESTED_REPEAT = re.compile(r"\(\s*(?:\\?[wWsSdD.]|[a-zA-Z0-9])\s*[*+]\s*\)\s*[*+]")
_REPEATED_TWIN = re.compile(r"\(\s*([^)|]+)\s*\|\s*\1\s*\)\s*[*+]")


class MatchRefused(Exception):
    """lynx-agent rejects the policy, or a limit does (`capped`)."""

    def __init__(self, problem: str, node: Node | None = None, *, capped: bool = False) -> None:
        super().__init__(problem)
        self.node, self.capped = node, capped


@dataclass(frozen=True, slots=True)
class Clause:
    """One leaf as written, for the compatibility warnings."""

    key: str
    operator: str
    value: Any
    node: Node | None
    head: str
    path: tuple[str, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class MatchPart:
    """A lowered match: the expression, its depth, the positions of its leaves in pre-order, its clauses as written."""

    expr: Expr
    depth: int
    places: tuple[Position, ...]
    clauses: tuple[Clause, ...]


def constant(value: Any, node: Node | None = None) -> Const:
    """Return `value` as a constant of the IR; reject values without one and values past a limit."""
    try:
        _check_caps(value, 0, node)
        return to_const(value, "lynx")
    except (EncodingError, RecursionError) as error:
        raise MatchRefused(str(error), node, capped=True) from error


def _check_caps(value: Any, depth: int, node: Node | None) -> None:
    if depth > MAX_CONST_DEPTH:
        raise MatchRefused(f"a constant is nested more than {MAX_CONST_DEPTH} levels deep", node, capped=True)
    if isinstance(value, str):
        try:
            size = len(value.encode())
        except UnicodeEncodeError as error:
            raise MatchRefused("a string holds a lone surrogate", node, capped=True) from error
        if size > MAX_STRING_BYTES:
            raise MatchRefused(f"a string has more than {MAX_STRING_BYTES} bytes", node, capped=True)
    elif isinstance(value, int):
        if value.bit_length() > MAX_INT_BITS:
            raise MatchRefused(f"an integer has more than {MAX_INT_BITS} bits", node, capped=True)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _check_caps(key, depth + 1, node)
            _check_caps(item, depth + 1, node)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            _check_caps(item, depth + 1, node)


class LynxMatchLowering:
    """Lowering of matches and the predicates they name. One instance per policy."""

    def __init__(self, predicates: Any, node: Node | None) -> None:
        self._predicates = predicates
        self._nodes = entries(node)
        self._known: dict[tuple[str, bool], MatchPart] = {}
        self._open: list[str] = []
        self._clauses = 0

    def lower(self, spec: Any, node: Node | None) -> MatchPart:
        """Lower one rule's match to an expression."""
        piece = self._match(spec, node, negated=False)
        self._clauses += len(piece.places)
        if self._clauses > MAX_CLAUSES:
            raise MatchRefused(f"more than {MAX_CLAUSES} clauses after predicate expansion", node, capped=True)
        return piece

    def _match(self, spec: Any, node: Node | None, *, negated: bool) -> MatchPart:
        if isinstance(spec, str):
            return self._named(spec, node, negated=negated)
        if not isinstance(spec, Mapping):
            raise MatchRefused(f"Predicate must be Mapping or predicate name, got: {spec!r}", node)
        nodes = entries(node) if isinstance(node, MappingNode) else {}
        items: list[MatchPart] = []
        for key, value in spec.items():
            if not isinstance(key, str):
                raise MatchRefused(f"a key of a match must be a string, got {key!r}", node)
            key_node, value_node = nodes.get(key, (None, None))
            match key:
                case "all_of":
                    items.append(self._connective(AllExpr, value, value_node, negated=negated))
                case "any_of":
                    items.append(self._connective(AnyExpr, value, value_node, negated=negated))
                case "not":
                    inner = self._match(value, value_node, negated=not negated)
                    items.append(self._checked(NotExpr(inner.expr), inner.depth + 1, [inner], value_node))
                case _:
                    items.append(_leaf(key, value, key_node, value_node, negated=negated))
        return self._joined(AllExpr, items, node)

    def _connective(self, kind: type[AllExpr | AnyExpr], value: Any, node: Node | None, *, negated: bool) -> MatchPart:
        try:
            members = list(value)
        except TypeError as error:
            name = "all_of" if kind is AllExpr else "any_of"
            raise MatchRefused(f"`{name}` needs a list of matches, got {value!r}", node) from error
        nodes: list[Node | None] = [node] * len(members)
        if isinstance(node, SequenceNode) and len(node.value) == len(members):
            nodes = list(node.value)
        pieces = [self._match(member, place, negated=negated) for member, place in zip(members, nodes, strict=True)]
        return self._joined(kind, pieces, node)

    def _joined(self, kind: type[AllExpr | AnyExpr], items: list[MatchPart], node: Node | None) -> MatchPart:
        if len(items) == 1:
            return items[0]
        expr = kind(tuple(item.expr for item in items))
        return self._checked(expr, 1 + max((item.depth for item in items), default=0), items, node)

    def _checked(self, expr: Expr, depth: int, items: list[MatchPart], node: Node | None) -> MatchPart:
        if depth > MAX_EXPR_DEPTH:
            raise MatchRefused(f"a match is nested more than {MAX_EXPR_DEPTH} levels deep", node, capped=True)
        places: list[Position] = []
        clauses: dict[Clause, None] = {}
        for item in items:
            places += item.places
            clauses.update(dict.fromkeys(item.clauses))
            if len(places) > MAX_CLAUSES:
                raise MatchRefused(f"more than {MAX_CLAUSES} clauses after predicate expansion", node, capped=True)
        return MatchPart(expr, depth, tuple(places), tuple(clauses))

    def _named(self, name: str, node: Node | None, *, negated: bool) -> MatchPart:
        known = self._known.get((name, negated))
        if known is not None:
            return known
        if name not in self._predicates:
            near = difflib.get_close_matches(name, list(self._predicates), n=1, cutoff=0.6)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise MatchRefused(f"Unknown predicate: {name!r}{hint}", node)
        if name in self._open:
            chain = " -> ".join([*self._open, name])
            raise MatchRefused(f"the predicate {name!r} refers to itself: {chain}", node)
        self._open.append(name)
        piece = self._match(self._predicates[name], self._nodes.get(name, (None, None))[1], negated=negated)
        self._open.pop()
        self._known[name, negated] = piece
        return piece


@functools.lru_cache(maxsize=4096)
def _near_operator(tail: str) -> str | None:
    near = difflib.get_close_matches(tail, sorted(OPERATORS), n=1, cutoff=0.75)
    return near[0] if near else None


def _leaf(key: str, value: Any, key_node: Node | None, node: Node | None, *, negated: bool) -> MatchPart:
    path, operator = key, "eq"
    if "." in key:
        head, _, tail = key.rpartition(".")
        if tail in OPERATORS:
            path, operator = head, tail
        else:
            near = _near_operator(tail)
            if near is not None:
                raise MatchRefused(
                    f"Unknown operator suffix on {key!r}: {tail!r} looks like a typo of {near!r}. "
                    f"Known operators: {sorted(OPERATORS)}",
                    key_node,
                )
    _check_operand(operator, value, node)
    head, *steps = path.split(".")
    if len(steps) > MAX_PATH_KEYS:
        raise MatchRefused(f"a path has more than {MAX_PATH_KEYS} keys", key_node, capped=True)
    written = Clause(key, operator, _Unhashed(value), key_node, head, tuple(steps), negated)
    if head not in HEADS:
        return MatchPart(TRUE if _holds_for_none(operator, value) else FALSE, 1, (), (written,))
    _check_caps(path, 0, key_node)
    expr = Leaf(
        head,
        () if head == "tool" else tuple(steps),
        operator,
        constant(_operand(operator, value), node),
        "python" if operator == "matches" else None,
    )
    return MatchPart(expr, 1, (_position(key_node, node),), (written,))


@dataclass(frozen=True, slots=True, eq=False)
class _Unhashed:
    """Any value, compared by identity: clauses are collected in a dict."""

    value: Any


def _check_operand(operator: str, value: Any, node: Node | None) -> None:
    match operator:
        case "matches":
            check_python_pattern(value, node)
        case "in" if not isinstance(value, list | tuple | set | frozenset):
            kind = type(value).__name__
            raise MatchRefused(
                f"`in` operator requires a list/tuple/set on the right-hand side, got {kind}: {value!r}", node
            )
        case "between" | "not_between":
            _check_bounds(operator, value, node)


def check_python_pattern(pattern: Any, node: Node | None) -> None:
    """Raise `MatchRefused` for a pattern that lynx-agent does not accept."""
    if not isinstance(pattern, str):
        raise MatchRefused(f"`matches` operator requires a string, got {type(pattern).__name__}: {pattern!r}", node)
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise MatchRefused(f"Regex pattern too long ({len(pattern)} > {MAX_PATTERN_LENGTH})", node)
    if _NESTED_REPEAT.search(pattern) or _REPEATED_TWIN.search(pattern):
        raise MatchRefused(
            f"Regex pattern {pattern!r} contains a nested unbounded quantifier; "
            "would be vulnerable to catastrophic backtracking",
            node,
        )
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise MatchRefused(f"Invalid regex {pattern!r}: {error}", node) from error


def _check_bounds(operator: str, value: Any, node: Node | None) -> None:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise MatchRefused(f"`{operator}` operator requires a 2-element list/tuple [lo, hi], got: {value!r}", node)
    if operator == "not_between":
        return
    lo, hi = value
    try:
        empty = lo > hi
    except TypeError as error:
        raise MatchRefused(f"`between` operator: {lo!r} and {hi!r} have no order: {error}", node) from error
    if empty:
        raise MatchRefused(f"`between` operator: lo > hi ({lo} > {hi}); range is empty", node)


def _operand(operator: str, value: Any) -> Any:
    """Return the operand as the IR represents it: an iterable operand becomes a list in iteration order."""
    if operator in ("in", "contains_any", "contains_all"):
        if isinstance(value, set | frozenset):
            return _sorted(value)
        if isinstance(value, str | bytes | tuple | Mapping):
            return list(value)
    return list(value) if operator in ("between", "not_between") else value


def _sorted(items: set[Any] | frozenset[Any]) -> list[Any]:
    from bobcat.ir.canonical import encode_value

    return sorted(items, key=lambda item: encode_value(constant(item)))


def _holds_for_none(operator: str, value: Any) -> bool:
    if operator == "eq":
        return value is None
    return operator == "in" and any(item is None for item in value)


def _position(key: Node | None, value: Node | None) -> Position:
    if key is None or value is None:
        return (0, 0, 0, 0)
    start, end = key.start_mark, value.end_mark
    if end.index < start.index:  # an alias: its value is elsewhere
        end = key.end_mark
    return (start.line + 1, start.column + 1, end.line + 1, end.column + 1)
