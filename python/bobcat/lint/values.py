"""Search for a value that passes some tests and fails others: solved for texts and numbers, tried for other types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from bobcat._core import find_text
from bobcat.doctor.candidate_values import MISSING, Missing, by_operator, with_reference_values
from bobcat.ir.constants import from_const
from bobcat.ir.schema import Const
from bobcat.language.facets import IR_NESTING, IR_OPERATORS
from bobcat.language.kinds import OperandForm, OperandKind
from bobcat.language.operators import ROWS
from bobcat.language.paths import PATHS, values_at
from bobcat.lint.evaluate import holds
from bobcat.lint.pattern_syntax import Alt, Assert, Cat, Chars, PatternSyntaxError, Repeat, Tree, parse

Test: TypeAlias = tuple[str, Const, bool]
"""An operator, its operand, and whether it must hold."""

_NUMBERS = frozenset(row.name for row in ROWS if row.operand in (OperandForm.BOUND, OperandForm.BOUNDS))
_SOLVED = _NUMBERS | {
    row.name for row in ROWS if row.anchors is not None or row.path_only or row.derived is OperandKind.LOWER
}
_PARTS = (OperandForm.PART, OperandForm.PARTS, OperandForm.SOME_PARTS)
_TextTest: TypeAlias = tuple[Literal["pattern", "", "start", "end", "both"], list[str], bool, bool]
_DISTANT: Final = 10**9


class OutOfBudget(Exception):
    """The search ended without a result because its budget is spent."""


@dataclass(slots=True)
class SearchBudget:
    """Remaining steps of searches; less than none after a search that took more."""

    steps: int

    def spend(self, steps: int) -> None:
        """Spend steps. Raises `OutOfBudget`."""
        self.steps -= steps
        if self.steps < 0:
            raise OutOfBudget


def solve(place: tuple[str, ...], tests: Sequence[Test], budget: SearchBudget) -> Any:  # Any: JSON
    """Return a value for a path with the wanted result of every test, `MISSING` for an absent value; None if
    impossible.

    None is certain: if candidates are only tried, it raises `PatternSyntaxError`. A null is never returned. Raises
    `OutOfBudget`, too.
    """
    present = next((operand is want for op, operand, want in tests if op == "exists"), True)
    if not present:
        return MISSING if place != ("tool",) and all(op == "exists" for op, _, _ in tests) else None
    row = PATHS.get(place)
    is_mapping = row is not None and row.open
    for value in _candidates(place, tests, budget):
        fits = value is not None and (isinstance(value, dict) or not is_mapping)
        if fits and all(holds(op, operand, value) is want for op, operand, want in tests):
            return value
    if not _tried(place) and not any(want for _, _, want in tests) and place != ("tool",):
        return MISSING if place[0] != "args" else None
    if is_mapping or any(op not in _SOLVED for op, _, _ in tests) or place == ("context", "timestamp"):
        raise PatternSyntaxError("no candidate passes, but other values may")
    return None


def _candidates(place: tuple[str, ...], tests: Sequence[Test], budget: SearchBudget) -> Iterator[Any]:  # Any: JSON
    yield from values_at(place) or _tried(place)
    if place == ("context", "timestamp"):
        return
    if place == ("declared", "scope"):
        wanted = [item for op, operand, want in tests if want for item in _elements(op, operand)]
        yield from ([], wanted, ["other"])
        return
    for op, operand, want in tests:
        if want and IR_OPERATORS[op].anchors == "both":
            listed = IR_OPERATORS[op].operand is OperandForm.SCALARS
            yield from (from_const(item) for item in (operand[:200] if listed else [operand]))
            return
    if any(op in _NUMBERS for op, _, _ in tests):
        operands = [operand if isinstance(operand, list) else [operand] for op, operand, _ in tests if op in _NUMBERS]
        bounds = [bound for operand in operands for bound in operand]
        numbers = [bound for bound in bounds if isinstance(bound, int | float) and not isinstance(bound, bool)]
        yield from (near for bound in numbers for near in (bound, bound - 1, bound + 1, bound - 0.5, bound + 0.5))
        yield from (-_DISTANT, _DISTANT)
        yield from (near for bound in bounds if isinstance(bound, str) for near in (bound, bound + "a", ""))
        return
    if any(IR_OPERATORS[op].elements for op, _, _ in tests):
        yield from _lists(tests, budget)
        return
    yield from _texts(tests, budget)
    yield "x"
    for op, operand, want in tests:
        if want and IR_OPERATORS[op].operand in _PARTS:
            yield _elements(op, operand)
        if op in IR_NESTING:
            yield from by_operator(op, with_reference_values(op, operand))[not want]
    yield from (1, True, ["x"])


def _tried(place: tuple[str, ...]) -> tuple[Any, ...]:  # Any: JSON
    row = PATHS.get(place)
    return row.tried if row else ()


def _elements(op: str, operand: Const) -> list[Any]:  # Any: JSON
    form = IR_OPERATORS[op].operand
    if form is OperandForm.PART:
        return [from_const(operand)]
    return [from_const(item) for item in operand] if form in _PARTS else []


def _lists(tests: Sequence[Test], budget: SearchBudget) -> Iterator[list[Any]]:  # Any: JSON
    """Yield the empty list, and one with an element for each test that needs one."""
    yield []
    every: list[Test] = []
    some: list[list[Test]] = []
    for op, operand, want in tests:
        if IR_OPERATORS[op].elements:
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
    wanted = list(_text_tests(tests))
    if wanted:
        found = _find([*wanted, ("both", [""], False, False)], budget)
        if found is None:
            yield ""
        else:
            yield found
            yield from (found + "x" * more for more in (1, 2, 4, 8))


def _find(wanted: list[_TextTest], budget: SearchBudget) -> str | None:
    try:
        found, steps = find_text(wanted, budget.steps)
    except ValueError as error:  # a lone surrogate, or a pattern that is too large
        raise PatternSyntaxError(str(error)) from None
    budget.spend(steps)
    return found


def _text_tests(tests: Iterable[Test], *, lower: bool = False) -> Iterator[_TextTest]:
    """Yield the tests that are about the text itself, as `find_text` takes them."""
    for op, operand, want in tests:
        row = IR_OPERATORS[op]
        if row.operand is OperandForm.PATTERN:
            yield "pattern", [operand], lower, want
        elif row.derived is OperandKind.LOWER:
            if want or len(operand["tests"]) == 1:
                inner = [(item["op"], item["operand"], want) for item in operand["tests"]]
                yield from _text_tests(inner, lower=True)
        elif row.operand is OperandForm.SOME_PARTS:
            if want:
                yield from (("", [item], lower, True) for item in operand if isinstance(item, str))
        elif row.anchors is not None:
            items = operand if isinstance(operand, list) else [operand]
            texts = [item for item in items if isinstance(item, str)]
            if texts:
                yield row.anchors, texts, lower, want


def text_tree(op: str, operand: Const) -> Tree | None:
    """Return the pattern of one test of a text; None for other tests. Raises `PatternSyntaxError`."""
    for kind, texts, _, _ in _text_tests([(op, operand, True)]):
        if kind == "pattern":
            return parse(texts[0])
        start = (Assert("text_start"),) if kind in ("start", "both") else ()
        end = (Assert("text_end"),) if kind in ("end", "both") else ()
        return Cat((*start, Alt(tuple(map(_literal, texts))), *end))
    return None


def _literal(text: str) -> Tree:
    return Cat(tuple(Chars(((ord(char), ord(char)),)) for char in text))


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
