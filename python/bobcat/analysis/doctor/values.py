"""The values that tell two readings of a clause apart: at its operand, around it, of other types, wrapped, missing."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from bobcat.analysis.doctor.samples import samples, searcher
from bobcat.ir.constants import from_const
from bobcat.ir.schema import Leaf

MAX_ITEMS = 4
"""How many items of a list operand are tried."""


class Missing:
    """No value at all."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()

Values = list[Any]  # Any: JSON, or MISSING


@dataclass(frozen=True, slots=True)
class Candidates:
    """Values under which a clause probably holds, probably does not, and values that one might mistake for either."""

    true: Values
    false: Values
    odd: Values

    def all(self) -> Values:
        """Every candidate once, the plain ones first."""
        found: dict[str, Any] = {}
        for value in (*self.true, *self.false, *self.odd):
            found.setdefault(repr(value), value)
        return list(found.values())


def candidates(leaf: Leaf) -> Candidates:
    """What to try at the path of a clause."""
    operand = from_const(leaf.operand)
    true, false = _by_operator(leaf.op, operand)
    if leaf.head == "context" and leaf.path == ("timestamp",):
        return _moments(operand)
    true, false = [_json(value) for value in true], [_json(value) for value in false]
    odd = [twist for value in (*true[:2], *false[:1]) for twist in _twists(value)]
    return Candidates(true, [*false, MISSING], [*odd, None, "", 0, [], {}])


def _by_operator(operator: str, operand: Any) -> tuple[Values, Values]:  # Any: whatever an author wrote
    match operator:
        case "eq":
            return [operand], [_other(operand)]
        case "in":
            return _items(operand), [_other(operand)]
        case "matches":
            return samples(str(operand)), _unmatched(str(operand))
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
    """A value of the same type that is not it, nor one of its items."""
    sample = next(iter(_items(operand)), "x") if not isinstance(operand, str | bytes) else operand
    match sample:
        case bool():
            return not sample
        case int() | float():
            return max([item for item in _items(operand) if _is_number(item)], default=0) + 1
        case _:
            return "other"


def _around(bound: Any) -> tuple[Any, Any]:  # Any: as above
    """A value below and one above."""
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
    """Points in time around an operand, or around the epoch when it is none."""
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
    """The JSON value nearest to what YAML can hold."""
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


def _twists(value: Any) -> Values:  # Any: JSON
    """Values that look like this one."""
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
    """The same string in other letters, digits and white space."""
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
