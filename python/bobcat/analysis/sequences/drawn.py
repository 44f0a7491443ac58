"""Values for sources: texts that rules want from one, and results that give them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import UnsetType

from bobcat.analysis.calls import plain
from bobcat.analysis.engine import Questions
from bobcat.analysis.matches import PERMITS, policy_of_match
from bobcat.analysis.model import Witness
from bobcat.analysis.paths import value_at, with_value
from bobcat.analysis.sequences.kinds import moved
from bobcat.ir import construct
from bobcat.ir.memory import TASK
from bobcat.ir.schema import AllExpr, AnyExpr, Definition, Expr, Leaf, NotExpr, Source
from bobcat.ir.visit import leaves

MAX_WANTED = 6
"""Values that sources give."""
_ANY_TEXT = {"op": "matches", "operand": ".", "dialect": "re2"}


def wanted(exprs: Iterable[Expr]) -> list[str]:
    """Return texts with which the matches that test sources can be true."""
    found: dict[str, None] = {}
    for expr in exprs:
        own = [leaf for leaf in leaves(expr) if _draws(leaf)]
        if not own:
            continue
        answer = Questions([policy_of_match(_any_source(expr), PERMITS, {})]).find({"match": 0, "is": ["true"]})
        if isinstance(answer, Witness):
            data = {"args": plain(answer.request.args)}
            for leaf in own:
                found |= dict.fromkeys(_texts(value_at(data, (str(leaf.head), *leaf.path))))
    return list(found)[:MAX_WANTED] or ["x"]


def reads_task(exprs: Iterable[Expr]) -> bool:
    """Return true if a match tests whether a value came from the task."""
    return any(TASK in names for expr in exprs for leaf in leaves(expr) for names in _sources(leaf.op, leaf.operand))


def result_of(sources: Iterable[Source], values: Iterable[str], given: Any) -> Any:  # Any: JSON
    """Return a result that gives some values to sources; `given` is what a formula wants of the result."""
    records = [record for source in sources for value in values for record in _records(source, value)]
    if isinstance(given, Mapping) and given and records and isinstance(records[0], Mapping):
        return {**records[0], **plain(given)}
    return records


def _records(source: Source, value: str) -> Iterator[Any]:  # Any: JSON
    path = source.fields[0]
    if not path:
        yield value
        return
    record = with_value({"args": {}}, ("args", *path), value)
    if not isinstance(source.where, UnsetType):
        same = construct.leaf("args", path, "eq", value)
        match = construct.all_([moved(source.where, "record", ("args",)), same])
        answer = Questions([policy_of_match(match, PERMITS, {})]).find({"match": 0, "is": ["true"]})
        record = {"args": plain(answer.request.args)} if isinstance(answer, Witness) else None
    if record is not None:
        yield record["args"]


def sources_of(definitions: Mapping[str, Definition]) -> dict[str, Source]:
    """Return the sources among some definitions."""
    return {name: definition for name, definition in definitions.items() if isinstance(definition, Source)}


def _draws(leaf: Leaf) -> bool:
    return any(True for _ in _sources(leaf.op, leaf.operand))


def _sources(op: str, operand: Any) -> Iterator[list[str]]:  # Any: an operand
    if op == "from":
        yield operand["sources"]
    elif isinstance(operand, dict):
        for test in operand.get("tests", ()):
            yield from _sources(test["op"], test["operand"])


def _any_source(expr: Expr) -> Expr:
    """Return a match without the run: any text comes from every source."""
    match expr:
        case AllExpr(items):
            return construct.all_(_any_source(item) for item in items)
        case AnyExpr(items):
            return construct.any_(_any_source(item) for item in items)
        case NotExpr(item):
            return construct.TRUE if any(_draws(leaf) or leaf.head == "run" for leaf in leaves(item)) else expr
        case Leaf() if expr.head == "run":
            return construct.TRUE
        case Leaf() if expr.op == "from":
            return construct.leaf(expr.head, expr.path, "matches", ".", "re2")
        case Leaf():
            return msgspec.structs.replace(expr, operand=_of_any(expr.operand))


def _of_any(operand: Any) -> Any:  # Any: an operand
    if not isinstance(operand, dict) or "tests" not in operand:
        return operand
    tests = [
        _ANY_TEXT if test["op"] == "from" else {**test, "operand": _of_any(test["operand"])}
        for test in operand["tests"]
    ]
    return {**operand, "tests": tests}


def _texts(value: Any) -> Iterator[str]:  # Any: JSON
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
