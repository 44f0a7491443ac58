"""Candidate values that distinguish two readings of a clause: the operand, its neighbours, other types, wrapped,
missing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from bobcat.doctor.pattern_samples import pattern_samples, searcher
from bobcat.ir.constants import from_const
from bobcat.ir.schema import NESTING, Const, Leaf

MAX_ITEMS = 4
"""Number of items of a list operand that are tried."""

_LONGEST = 1_000
_AT: dict[tuple[str, ...], Any] = {
    ("context", "step_seq"): 1,
    ("context", "timestamp"): "2026-01-01T00:00:00+00:00",
    ("context", "principal", "kind"): "user",
    ("declared", "cost"): "low",
    ("declared", "reversible"): True,
    ("declared", "has_shadow"): True,
    ("declared", "blast_radius_hint"): 1,
}
"""Values at fixed paths; other paths have "x"."""


class Missing:
    """Sentinel for an absent value."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()

Values = list[Any]  # Any: JSON, or MISSING


@dataclass(frozen=True, slots=True)
class Candidates:
    """Values that probably satisfy a clause, values that probably do not, and values similar to either."""

    true: Values
    false: Values
    odd: Values

    def all(self) -> Values:
        """Return every candidate once, the plain ones first."""
        found: dict[str, Any] = {}
        for value in (*self.true, *self.false, *self.odd):
            found.setdefault(repr(value), value)
        return list(found.values())


def candidate_values(leaf: Leaf) -> Candidates:
    """Return the candidates for a clause's path; the paths that its operand refers to have `reference_values`."""
    operand = _with_reference_values(leaf.op, leaf.operand)
    true, false = by_tests(leaf.op, operand) if leaf.op in NESTING else _by_operator(leaf.op, operand)
    if leaf.head == "context" and leaf.path == ("timestamp",):
        return _moments(operand)
    true, false = [_json(value) for value in true], [_json(value) for value in false]
    odd = [variant for value in (*true[:2], *false[:1]) for variant in _variants(value)]
    return Candidates(true, [*false, MISSING], [*odd, None, "", 0, [], {}])


def reference_values(leaf: Leaf) -> dict[tuple[str, ...], Any]:  # Any: JSON
    """Return the values at the paths that an operand refers to, by path."""
    found: dict[tuple[str, ...], Any] = {}
    waiting: list[tuple[str, Const]] = [(leaf.op, leaf.operand)]
    while waiting:
        operator, operand = waiting.pop()
        if isinstance(operand, dict) and "ref" in operand:
            found[tuple(operand["ref"])] = _with_reference_values(operator, operand)
        elif isinstance(operand, dict) and "tests" in operand:
            waiting.extend((item["op"], item["operand"]) for item in operand["tests"])
    return found


def _with_reference_values(operator: str, operand: Const) -> Any:  # Any: a value, or pairs of operator and value
    """Return an operand with references replaced by values."""
    if isinstance(operand, dict) and "ref" in operand:
        sample = _AT.get(tuple(operand["ref"]), "x")
        return [sample] if operator == "in" else sample
    if isinstance(operand, dict) and "tests" in operand:
        return [(item["op"], _with_reference_values(item["op"], item["operand"])) for item in operand["tests"]]
    return from_const(operand)


def by_tests(operator: str, tests: list[tuple[str, Any]]) -> tuple[Values, Values]:  # Any: see `_with_reference_values`
    """Return values whose derived value probably passes some tests, and values whose derived value does not."""
    true: Values = []
    false: Values = []
    for inner, operand in tests:
        good, bad = by_tests(inner, operand) if inner in NESTING else _by_operator(inner, operand)
        true, false = [*true, *good], [*false, *bad]
    match operator:
        case "length":
            return _of_length(true), _of_length(false)
        case "lower":
            return [*_upper(true), *true], [*_upper(false), *false]
        case "any":
            return [[value] for value in true], [[], *([value] for value in false)]
        case "all":
            return [*([value] for value in true), []], [[*true[:1], value] for value in false]
        case _:
            return [*([value] for value in false), []], [[value] for value in true]


def _of_length(lengths: Values) -> Values:
    fitting = [length for length in lengths if isinstance(length, int) and 0 <= length <= _LONGEST]
    return [made for length in fitting for made in ("x" * length, ["x"] * length)]


def _upper(values: Values) -> Values:
    return [value.upper() for value in values if isinstance(value, str)]


def _by_operator(operator: str, operand: Any) -> tuple[Values, Values]:  # Any: whatever an author wrote
    match operator:
        case "eq":
            return [operand], [_other(operand)]
        case "in":
            return _items(operand), [_other(operand)]
        case "matches":
            return pattern_samples(str(operand)), _unmatched(str(operand))
        case "contains":
            inside = [operand, f"a {operand} b"] if isinstance(operand, str) else []
            return [[operand], *inside] if not inside else [*inside, [operand]], [[_other(operand)], "-"]
        case "contains_any" | "contains_all":
            items = _items(operand)
            wanted = items if operator == "contains_all" else items[:1]
            text = [" ".join(map(str, wanted))] if wanted and all(isinstance(item, str) for item in wanted) else []
            return [wanted, *text], [[_other(operand)], "-"]
        case "gt" | "ge" | "lt" | "le":
            below, above = _around(operand)
            up = operator in ("gt", "ge")
            at = [operand] if operator in ("ge", "le") else []
            not_at = [] if at else [operand]
            return [*([above] if up else [below]), *at], [*([below] if up else [above]), *not_at]
        case "starts_with" | "ends_with":
            texts = operand[:MAX_ITEMS] if isinstance(operand, list) else [operand]
            more = [f"{text}x" if operator == "starts_with" else f"x{text}" for text in texts]
            return [*texts, *more], ["-"]
        case "between" | "not_between":
            bounds = _items(operand)
            inside, outside = bounds, [_around(bounds[0])[0], _around(bounds[-1])[1]] if bounds else []
            return (inside, outside) if operator == "between" else (outside, inside)
        case _:
            return [operand], [_other(operand)]


def _items(operand: Any) -> Values:  # Any: whatever an author wrote
    if isinstance(operand, Iterable):
        return list(operand)[:MAX_ITEMS]
    return [operand]


def _other(operand: Any) -> Any:  # Any: as above
    """Return a value of the same type that is neither the operand nor one of its items."""
    sample = next(iter(_items(operand)), "x") if not isinstance(operand, str | bytes) else operand
    match sample:
        case bool():
            return not sample
        case int() | float():
            return max([item for item in _items(operand) if _is_number(item)], default=0) + 1
        case _:
            return "other"


def _around(bound: Any) -> tuple[Any, Any]:  # Any: as above
    """Return a value below and one above."""
    if _is_number(bound):
        return bound - 1, bound + 1
    if isinstance(bound, str):
        return "", bound + "a"
    return 0, 1


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _unmatched(pattern: str) -> Values:
    try:
        search = searcher(pattern)
    except (re.error, OverflowError, RecursionError):
        return []
    return [text for text in ("-", "other", "", "0") if not search(text)][:1]


def _moments(operand: Any) -> Candidates:  # Any: as above
    """Return points in time around an operand, or around the epoch if it is not a timestamp."""
    moments = [item for item in (_items(operand) if isinstance(operand, list) else [operand]) if _is_moment(item)]
    base = moments[0] if moments else datetime(2026, 1, 1, tzinfo=UTC)
    if not isinstance(base, datetime):
        base = datetime(base.year, base.month, base.day)
    base = base.replace(tzinfo=base.tzinfo or UTC)
    near = [base + timedelta(seconds=seconds) for seconds in (0, -1, 1)]
    return Candidates([moment.isoformat() for moment in near], [], [])


def _is_moment(value: object) -> bool:
    return isinstance(value, date)


def _json(value: Any) -> Any:  # Any: YAML data to JSON
    """Return the JSON value nearest to a YAML value."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Mapping():
            return {str(name): _json(item) for name, item in value.items()}
        case list() | tuple():
            return [_json(item) for item in value]
        case set() | frozenset():
            return sorted((_json(item) for item in value), key=repr)
        case _:
            return str(value)


def _variants(value: Any) -> Values:  # Any: JSON
    """Return values that resemble this one."""
    wrapped: Values = [[value], {"value": value}]
    match value:
        case bool():
            return [int(value), str(value).lower(), *wrapped]
        case int() | float():
            return [str(value), *wrapped, float(value) if abs(value) < 2**53 else str(value), True, -value]
        case str():
            return [*wrapped, *_spellings(value)]
        case list():
            first = value[:1]
            return [*first, *wrapped, [], {str(item): True for item in value if isinstance(item, str)}]
        case _:
            return wrapped


def _spellings(text: str) -> Values:
    """Return the same string with other case, digits and white space."""
    spelled = [
        text + "\n",
        f"x\n{text}",
        f"{text}\nx",
        f" {text}",
        text.upper(),
        text.lower(),
        re.sub("[0-9]", "٣", text),
        re.sub("[kK]", "\N{KELVIN SIGN}", text),
        text.replace(" ", "\n"),
        text.replace(" ", "\N{NO-BREAK SPACE}"),
    ]
    numbers: Values = [int(text)] if re.fullmatch(r"-?[0-9]{1,15}", text) else []
    return [*numbers, *(spelling for spelling in spelled if spelling != text)]
