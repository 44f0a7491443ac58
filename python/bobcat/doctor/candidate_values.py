"""Candidate values that distinguish two readings of a clause: the operand, its neighbours, other types, wrapped,
missing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from bobcat.doctor.pattern_samples import pattern_samples, searcher
from bobcat.ir.constants import from_const
from bobcat.ir.schema import Const, Leaf
from bobcat.language.facets import IR_OPERATORS
from bobcat.language.kinds import OperandForm, ReferenceForm
from bobcat.language.paths import PATHS
from bobcat.language.probes import Candidates, Values, items


class Missing:
    """Sentinel for an absent value."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()


@dataclass(frozen=True, slots=True)
class ClauseCandidates:
    """Values that probably satisfy a clause, values that probably do not, and values similar to either."""

    true: Values
    false: Values
    unusual: Values

    def all(self) -> Values:
        """Return every candidate once, the plain ones first."""
        found: dict[str, Any] = {}
        for value in (*self.true, *self.false, *self.unusual):
            found.setdefault(repr(value), value)
        return list(found.values())


def candidate_values(leaf: Leaf) -> ClauseCandidates:
    """Return the candidates for a clause's path; the paths that its operand refers to have `reference_values`."""
    operand = with_reference_values(leaf.op, leaf.operand)
    true, false = by_operator(leaf.op, operand)
    if leaf.head == "context" and leaf.path == ("timestamp",):
        return _moments(operand)
    true, false = [_json(value) for value in true], [_json(value) for value in false]
    unusual = [variant for value in (*true[:2], *false[:1]) for variant in _variants(value)]
    return ClauseCandidates(true, [*false, MISSING], [*unusual, None, "", 0, [], {}])


def reference_values(leaf: Leaf) -> dict[tuple[str, ...], Any]:  # Any: JSON
    """Return the values at the paths that an operand refers to, by path."""
    found: dict[tuple[str, ...], Any] = {}
    waiting: list[tuple[str, Const]] = [(leaf.op, leaf.operand)]
    while waiting:
        operator, operand = waiting.pop()
        if isinstance(operand, dict) and "ref" in operand:
            found[tuple(operand["ref"])] = with_reference_values(operator, operand)
        elif isinstance(operand, dict) and "places" in operand:
            waiting.extend((operator, place) for place in operand["places"])
        elif isinstance(operand, dict) and "tests" in operand:
            waiting.extend((item["op"], item["operand"]) for item in operand["tests"])
    return found


def with_reference_values(operator: str, operand: Const) -> Any:  # Any: a value, or pairs of operator and value
    """Return an operand with references replaced by values."""
    if isinstance(operand, dict) and "ref" in operand:
        row = PATHS.get(tuple(operand["ref"]))
        sample = row.sample if row else "x"
        return [sample] if IR_OPERATORS[operator].reference is ReferenceForm.LIST else sample
    if isinstance(operand, dict) and "places" in operand:
        return [with_reference_values(operator, place) for place in operand["places"]]
    if isinstance(operand, dict) and "tests" in operand:
        return [(item["op"], with_reference_values(item["op"], item["operand"])) for item in operand["tests"]]
    return from_const(operand)


def by_operator(operator: str, operand: Any) -> Candidates:  # Any: see `with_reference_values`
    """Return values that probably pass a comparison, and values that probably do not."""
    row = IR_OPERATORS[operator]
    if row.nests:
        made = [by_operator(inner, inner_operand) for inner, inner_operand in operand]
        good, bad = ([value for pair in made for value in pair[which]] for which in (0, 1))
        return row.probes((good, bad))
    if row.operand is OperandForm.PATTERN:
        return pattern_samples(str(operand)), _unmatched(str(operand))
    return row.probes(operand)


def _unmatched(pattern: str) -> Values:
    try:
        search = searcher(pattern)
    except (re.error, OverflowError, RecursionError):
        return []
    return [text for text in ("-", "other", "", "0") if not search(text)][:1]


def _moments(operand: Any) -> ClauseCandidates:  # Any: as above
    """Return points in time around an operand, or around the epoch if it is not a timestamp."""
    moments = [item for item in (items(operand) if isinstance(operand, list) else [operand]) if _is_moment(item)]
    base = moments[0] if moments else datetime(2026, 1, 1, tzinfo=UTC)
    if not isinstance(base, datetime):
        base = datetime(base.year, base.month, base.day)
    base = base.replace(tzinfo=base.tzinfo or UTC)
    near = [base + timedelta(seconds=seconds) for seconds in (0, -1, 1)]
    return ClauseCandidates([moment.isoformat() for moment in near], [], [])


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
