"""Search for a value that passes some tests and fails others: solved for texts and numbers, tried for other types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from bobcat.doctor.candidate_values import MISSING, Missing, by_tests
from bobcat.frontend.strict.vocabulary import VALUES
from bobcat.ir.constants import from_const
from bobcat.ir.schema import NESTING, Const
from bobcat.lint.judging import holds
from bobcat.lint.pattern_syntax import Alt, Assert, Cat, Chars, PatternSyntaxError, Repeat, Tree, parse
from bobcat.lint.text_search import SearchBudget, automaton, find_text

Test: TypeAlias = tuple[str, Const, bool]
"""An operator, its operand, and whether it must hold."""

_PLACES: dict[tuple[str, ...], list[Any]] = {  # Any: JSON
    ("declared", "reversible"): [True, False],
    ("declared", "has_shadow"): [False, True],
    ("declared", "blast_radius_hint"): [1, 10, 1_000],
    ("context", "step_seq"): [1, 10, 100],
}
_TEXTS = frozenset(("matches", "contains", "contains_any", "contains_all", "starts_with", "ends_with", "lower"))
_NUMBERS = frozenset(("gt", "ge", "lt", "le", "between", "not_between"))
_SOLVED = frozenset(("eq", "in", "exists", *_TEXTS, *_NUMBERS))
_FAR: Final = 10**9


def solve(place: tuple[str, ...], tests: Sequence[Test], budget: SearchBudget) -> Any:  # Any: JSON
    """Return a value for a path with the wanted result of every test, `MISSING` for an absent value; None if
    impossible.

    None is certain: if candidates are only tried, it raises `PatternSyntaxError`. A null is never returned. Raises
    `OutOfBudget`, too.
    """
    present = next((operand is want for op, operand, want in tests if op == "exists"), True)
    if not present:
        return MISSING if place != ("tool",) and all(op == "exists" for op, _, _ in tests) else None
    for value in _candidates(place, tests, budget):
        if value is not None and all(holds(op, operand, value) is want for op, operand, want in tests):
            return value
    if not isinstance(_PLACES.get(place), list) and not any(want for _, _, want in tests) and place != ("tool",):
        return MISSING if place[0] != "args" else None
    if any(op not in _SOLVED for op, _, _ in tests) or place == ("context", "timestamp"):
        raise PatternSyntaxError("no candidate passes, but other values may")
    return None


def _candidates(place: tuple[str, ...], tests: Sequence[Test], budget: SearchBudget) -> Iterator[Any]:  # Any: JSON
    closed = VALUES.get(place) or _PLACES.get(place)
    if closed:
        yield from closed
    if place == ("context", "timestamp"):
        return
    if place == ("declared", "scope"):
        wanted = [item for op, operand, want in tests if want for item in _elements(op, operand)]
        yield from ([], wanted, ["other"])
        return
    for op, operand, want in tests:
        if want and op in ("eq", "in"):
            yield from (from_const(item) for item in ([operand] if op == "eq" else operand[:200]))
            return
    if any(op in _NUMBERS for op, _, _ in tests):
        bounds = [bound for op, operand, _ in tests if op in _NUMBERS for bound in _bounds(operand)]
        numbers = [bound for bound in bounds if isinstance(bound, int | float) and not isinstance(bound, bool)]
        yield from (near for bound in numbers for near in (bound, bound - 1, bound + 1, bound - 0.5, bound + 0.5))
        yield from (-_FAR, _FAR)
        yield from (near for bound in bounds if isinstance(bound, str) for near in (bound, bound + "a", ""))
        return
    if any(op in ("any", "all", "none") for op, _, _ in tests):
        yield from _lists(tests, budget)
        return
    yield from _texts(tests, budget)
    yield "x"
    for op, operand, want in tests:
        if want and op in ("contains", "contains_any", "contains_all"):
            yield _elements(op, operand)
        if op in NESTING:
            pairs = [(item["op"], item["operand"]) for item in operand["tests"]]
            yield from by_tests(op, pairs)[not want]
    yield from (1, True, ["x"])


def _elements(op: str, operand: Const) -> list[Any]:  # Any: JSON
    if op == "contains":
        return [from_const(operand)]
    return [from_const(item) for item in operand] if op in ("contains_any", "contains_all") else []


def _bounds(operand: Const) -> list[Any]:  # Any: numbers and strings
    return list(operand) if isinstance(operand, list) else [operand]


def _lists(tests: Sequence[Test], budget: SearchBudget) -> Iterator[list[Any]]:  # Any: JSON
    """Yield the empty list, and one with an element for each test that needs one."""
    yield []
    every: list[Test] = []
    some: list[list[Test]] = []
    for op, operand, want in tests:
        if op in ("any", "all", "none"):
            inner: list[Test] = [(item["op"], item["operand"], True) for item in operand["tests"]]
            if (op == "any") is want and op != "none":
                some.append(inner if op == "any" else [(name, value, False) for name, value, _ in inner[:1]])
            elif op == "all":
                every += inner
            elif want is (op == "none"):
                every += [(name, value, False) for name, value, _ in inner[:1]]
            else:
                some.append(inner)
    elements = [solve(("args", ""), [*every, *inner], budget) for inner in some or [[]]]
    elements += [item for op, operand, want in tests if want for item in _elements(op, operand)]
    if not any(item is None or isinstance(item, Missing) for item in elements):
        yield [item for index, item in enumerate(elements) if item not in elements[:index]]


def _texts(tests: Sequence[Test], budget: SearchBudget) -> Iterator[str]:
    machines = [(automaton(tree, lower=lower), want) for tree, lower, want in _trees(tests)]
    if machines:
        found = find_text(machines, budget)
        if found is not None:
            yield found
            yield from (found + "x" * more for more in (1, 2, 4, 8))


def _trees(tests: Iterable[Test], *, lower: bool = False) -> Iterator[tuple[Tree, bool, bool]]:
    """Yield the tests of a text as patterns, with the lower-case flag and the wanted result."""
    for op, operand, want in tests:
        match op:
            case "matches":
                yield parse(operand), lower, want
            case "lower" if want or len(operand["tests"]) == 1:
                inner = [(item["op"], item["operand"], want) for item in operand["tests"]]
                yield from _trees(inner, lower=True)
            case "contains_all" if want:
                yield from ((_literal(item), lower, True) for item in operand if isinstance(item, str))
            case "contains" | "contains_any" | "starts_with" | "ends_with" | "eq" | "in":
                items = operand if isinstance(operand, list) else [operand]
                texts = [_literal(item) for item in items if isinstance(item, str)]
                if texts:
                    yield _at(op, Alt(tuple(texts))), lower, want
            case _:
                pass


def _at(op: str, tree: Tree) -> Tree:
    start = (Assert("text_start"),) if op in ("starts_with", "eq", "in") else ()
    end = (Assert("text_end"),) if op in ("ends_with", "eq", "in") else ()
    return Cat((*start, tree, *end))


def _literal(text: str) -> Tree:
    return Cat(tuple(Chars(((ord(char), ord(char)),)) for char in text))


def text_tree(op: str, operand: Const) -> Tree | None:
    """Return the pattern of one test of a text; None for other tests. Raises `PatternSyntaxError`."""
    return next((tree for tree, _, want in _trees([(op, operand, True)]) if want), None)


def literal_prefix(tree: Tree) -> tuple[str, bool]:
    """Return the characters that every match of an anchored tree starts with, and true if the match ends there."""
    found: list[str] = []
    waiting = [tree]
    while waiting:
        item = waiting.pop()
        match item:
            case Assert():
                continue
            case Cat(items):
                waiting.extend(reversed(items))
            case Chars(((low, high),), (), False, fold) if low == high:
                found.append(chr(low).lower() if fold else chr(low))
            case Alt((only,)):
                waiting.append(only)
            case Repeat(inner, 1, 1):
                waiting.append(inner)
            case _:
                return "".join(found), False
    return "".join(found), True
