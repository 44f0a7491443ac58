"""Changes of the operand of one clause, and of its operator to a neighbouring one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from bobcat import _core
from bobcat.ir.schema import Const, Dialect
from bobcat.language.facets import IR_OPERATORS
from bobcat.language.kinds import OperandForm

MAX_ITEMS = 10
"""Items of a list of which each is dropped once; a longer list loses its first ones."""
MAX_PATTERNS = 8
"""Changes of one pattern."""
SECOND = 1_000_000
_PIECE = re.compile(r"\\[pP]\{[^}]*\}|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{[0-9]*,?[0-9]*\}|.", re.DOTALL)
_COUNT = re.compile(r"\{([0-9]+)(,?)([0-9]*)\}")


class Operand(NamedTuple):
    """A changed comparison: the name of the mutation, the operator and its operand."""

    mutation: str
    operator: str
    operand: Const


def changed(operator: str, operand: Const, dialect: Dialect | None = None) -> Iterator[Operand]:
    """Yield the changes of a comparison."""
    row = IR_OPERATORS[operator]
    if row.neighbour is not None:
        yield Operand("quantifier" if row.nests else "bound", row.neighbour, operand)
    if isinstance(operand, dict) and "ref" in operand:
        return
    if isinstance(operand, dict) and "tests" in operand:
        yield from _tests(operator, operand)
    elif isinstance(operand, dict) and "sources" in operand:
        yield from (Operand("list", operator, {"sources": rest}) for rest in _without_one(operand["sources"]))
    elif isinstance(operand, dict) and "places" in operand:
        yield from (Operand("list", operator, {"places": rest}) for rest in _without_one(operand["places"]))
    elif row.operand is OperandForm.BOUND:
        yield from (Operand("bound", operator, moved) for moved in _moved(operand))
    elif row.operand is OperandForm.BOUNDS and isinstance(operand, list) and len(operand) == 2:
        low, high = operand
        yield from (Operand("bound", operator, [moved, high]) for moved in _moved(low))
        yield from (Operand("bound", operator, [low, moved]) for moved in _moved(high))
    elif row.operand is OperandForm.PATTERN and isinstance(operand, str):
        yield from (Operand("pattern", operator, text) for text in patterns(operand, dialect or "re2"))
    elif isinstance(operand, list):
        yield from (Operand("list", operator, rest) for rest in _without_one(operand))
    elif row.operand is OperandForm.BOOL:
        yield Operand("negate", operator, not operand)
    elif row.anchors in ("", "start", "end") and isinstance(operand, str) and len(operand) > 1:
        yield Operand("prefix", operator, operand[1:] if row.anchors == "end" else operand[:-1])


def _tests(operator: str, operand: dict[str, Const]) -> Iterator[Operand]:
    tests = operand["tests"]
    for index, test in enumerate(tests):
        before, after = tests[:index], tests[index + 1 :]
        if before or after:
            yield Operand("drop-clause", operator, {**operand, "tests": [*before, *after]})
        for mutation, inner, value in changed(test["op"], test["operand"], test.get("dialect")):
            new = {**test, "op": inner, "operand": value}
            yield Operand(mutation, operator, {**operand, "tests": [*before, new, *after]})


def _without_one(items: list[Const]) -> Iterator[list[Const]]:
    for index in range(min(len(items), MAX_ITEMS) if len(items) > 1 else 0):
        yield [*items[:index], *items[index + 1 :]]


def _moved(bound: Const) -> Iterator[Const]:
    """Yield a bound moved by one, or by a second."""
    if isinstance(bound, dict) and "timestamp" in bound:
        yield {"timestamp": bound["timestamp"] - SECOND}
        yield {"timestamp": bound["timestamp"] + SECOND}
    elif isinstance(bound, int | float) and not isinstance(bound, bool):
        yield bound - 1
        yield bound + 1


def patterns(pattern: str, dialect: Dialect) -> Iterator[str]:
    """Yield changes of a pattern that compile: without an anchor, an alternative or an escape, with other counts."""
    pieces = _PIECE.findall(pattern)
    found: dict[str, None] = {}
    for index, piece in enumerate(pieces):
        for new in _pieces(piece):
            found.setdefault("".join((*pieces[:index], new, *pieces[index + 1 :])))
    found.update(dict.fromkeys(_without_alternatives(pieces)))
    found.pop(pattern, None)
    count = 0
    for text in found:
        if count < MAX_PATTERNS and _compiles(text, dialect):
            count += 1
            yield text


def _pieces(piece: str) -> Iterator[str]:
    """Yield the replacements of one part of a pattern."""
    if piece in ("^", "$", r"\A", r"\z", r"\b"):
        yield ""
    elif piece == r"\.":
        yield "."
    elif piece in "+*" and piece:
        yield "*" if piece == "+" else "+"
    elif piece.startswith("[") and len(piece) > 2:
        yield f"[{piece[2:]}" if piece.startswith("[^") else f"[^{piece[1:]}"
    elif (count := _COUNT.fullmatch(piece)) is not None:
        low, comma, high = int(count[1]), count[2], count[3]
        if not comma:
            yield f"{{{low + 1}}}"
            return
        yield f"{{{low + 1},{high}}}"
        if high:
            yield f"{{{low},{int(high) + 1}}}"


def _without_alternatives(pieces: list[str]) -> Iterator[str]:
    """Yield a pattern without each alternative of its outermost or grouped alternation."""
    for index, piece in enumerate(pieces):
        if piece != "|":
            continue
        depth, end = 0, index + 1
        while end < len(pieces) and not (depth == 0 and pieces[end] in "|)"):
            depth += (pieces[end] == "(") - (pieces[end] == ")")
            end += 1
        yield "".join((*pieces[:index], *pieces[end:]))


def _compiles(pattern: str, dialect: Dialect) -> bool:
    try:
        _core.Pattern(pattern, dialect)
    except ValueError:
        return False
    return True
