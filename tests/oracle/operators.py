"""The operators of the strict profile and the four truth values, for the reference evaluator."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from oracle import facets, occurrence
from oracle.values import CannotEvaluate, Missing, PartTests, Ref, Test, Timestamp, checked, step, type_name


class Kind(Enum):
    """The four truth values."""

    TRUE = "true"
    FALSE = "false"
    ABSENT = "absent"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Truth:
    """The outcome of a clause; `code` is set exactly for errors."""

    kind: Kind
    code: str | None = None


TRUE, FALSE, ABSENT = Truth(Kind.TRUE), Truth(Kind.FALSE), Truth(Kind.ABSENT)


def truth(value: bool) -> Truth:
    return TRUE if value else FALSE


def all_of(items: list[Truth]) -> Truth:
    return _first(items, (Kind.FALSE, Kind.ERROR, Kind.ABSENT)) or TRUE


def any_of(items: list[Truth]) -> Truth:
    return _first(items, (Kind.TRUE, Kind.ERROR, Kind.ABSENT)) or FALSE


def negate(item: Truth) -> Truth:
    return {Kind.TRUE: FALSE, Kind.FALSE: TRUE}.get(item.kind, item)


def _first(items: list[Truth], kinds: tuple[Kind, ...]) -> Truth | None:
    for kind in kinds:
        for item in items:
            if item.kind is kind:
                return item
    return None


def scalars_equal(left: Any, right: Any) -> bool:
    return type_name(left) == type_name(right) and bool(left == right)


def deep_equal(value: Any, operand: Any) -> bool:
    """Deep equality of a value with a constant; raises at an incomparable value met before the answer."""
    seen = checked(value)
    if isinstance(operand, list):
        if not isinstance(seen, list) or len(seen) != len(operand):
            return False
        return all(deep_equal(a, b) for a, b in zip(seen, operand, strict=True))
    if isinstance(operand, dict):
        if type_name(seen) != "mapping":
            return False
        try:
            size = dict.__len__(seen) if isinstance(seen, dict) else len(list(seen.keys()))
        except Exception:
            raise CannotEvaluate("wrong_type") from None
        if size != len(operand):
            return False
        for key in sorted(operand):
            try:
                item = step(seen, key)
            except Missing:
                return False
            if not deep_equal(item, operand[key]):
                return False
        return True
    return scalars_equal(seen, operand)


def equals(value: Any, operand: Any) -> bool:
    seen = checked(value)
    kind = type_name(seen)
    if isinstance(operand, list | dict):
        if kind in ("list", "mapping"):
            return deep_equal(seen, operand)
        if kind == "null":
            return False
        raise CannotEvaluate("wrong_type")
    if kind in ("list", "mapping"):
        raise CannotEvaluate("wrong_type")
    return equals_scalar(seen, operand)


def equals_scalar(seen: Any, operand: Any) -> bool:
    """`eq` of a checked scalar: a bool operand compares with bools only, and null equals none."""
    if isinstance(operand, bool) and type_name(seen) not in ("bool", "null"):
        raise CannotEvaluate("wrong_type")
    return scalars_equal(seen, operand)


def contains(value: Any, operand: Any) -> bool:
    seen = checked(value)
    kind = type_name(seen)
    if kind == "string" and isinstance(operand, str):
        return operand in seen
    if kind == "mapping" and isinstance(operand, str):
        try:
            step(seen, operand)
        except Missing:
            return False
        return True
    if kind == "list":
        return any(scalars_equal(checked(item), operand) for item in seen)
    raise CannotEvaluate("wrong_type")


def compare(value: Any, op: str, operand: Any) -> bool:
    seen = checked(value)
    if type_name(seen) != type_name(operand):
        raise CannotEvaluate("wrong_type")
    left, right = (seen.micros, operand.micros) if isinstance(operand, Timestamp) else (seen, operand)
    match op:
        case "gt":
            return bool(left > right)
        case "ge":
            return bool(left >= right)
        case "lt":
            return bool(left < right)
        case _:
            return bool(left <= right)


@functools.lru_cache(maxsize=4096)
def _pattern(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def search(value: Any, pattern: str) -> bool:
    seen = checked(value)
    if type_name(seen) != "string":
        raise CannotEvaluate("wrong_type")
    return _pattern(pattern).search(seen) is not None


def _attempt(test: Callable[[], bool]) -> Truth:
    try:
        return truth(test())
    except CannotEvaluate as failure:
        return Truth(Kind.ERROR, failure.code)


At = Callable[[Ref], Any]
"""Reads another path; raises `Missing` or `CannotEvaluate`."""

MAX_REF_IN_ELEMENTS = 1000


def operate(value: Any, op: str, operand: Any, at: At, *, each: bool = False) -> Truth:
    """One operator on a value that is there. `each`: the value is an element, or made from one."""
    if op == "occurs_in":
        return _occurring(value, operand, at, lower=False)
    if isinstance(operand, Ref):
        return _relate(value, op, operand, at, each)
    if isinstance(value, facets.Version) and op != "part":
        operand = [facets.semver(item) for item in operand] if isinstance(operand, list) else facets.semver(operand)
        return truth(_of_versions(value, op, operand))
    match op:
        case "all_of":
            return _every(value, operand, at, each)
        case "any_of":
            return any_of([operate(value, test.op, test.operand, at, each=each) for test in operand])
        case "not":
            return negate(_every(value, operand, at, each))
        case "url" | "ip" | "cidr" | "path" | "email" | "semver" | "json" | "shell" | "sql" | "links":
            try:
                seen = checked(value)
                if not isinstance(seen, str):
                    raise CannotEvaluate("wrong_type")
                made = facets.derive(op, seen)
            except CannotEvaluate as failure:
                return Truth(Kind.ERROR, failure.code)
            return _every(made, operand, at, each)
        case "part":
            return _of_part(value, operand, at, each)
        case "within":
            return _attempt(lambda: facets.within(value, operand if isinstance(operand, list) else [operand]))
        case "starts_with" | "ends_with":
            return _attempt(lambda: affix(value, op, operand))
        case "length" | "byte_length" | "lower":
            try:
                made = {"length": length, "byte_length": byte_length, "lower": lower}[op](value)
            except CannotEvaluate as failure:
                return Truth(Kind.ERROR, failure.code)
            outcomes = [
                _occurring(value, test.operand, at, lower=True)
                if op == "lower" and test.op == "occurs_in"
                else operate(made, test.op, test.operand, at, each=each)
                for test in operand
            ]
            return all_of(outcomes)
        case "any" | "all" | "none" | "first":
            return _elements(value, op, operand, at)
        case "eq":
            return _attempt(lambda: equals(value, operand))
        case "in":
            tests = [_attempt(lambda: equals(value, ""))]
            if tests[0].kind is Kind.ERROR:
                return tests[0]
            return any_of([_attempt(functools.partial(equals, value, item)) for item in operand])
        case "empty":
            return _attempt(lambda: _is_empty(value) is operand)
        case "not_in":
            return negate(operate(value, "in", operand, at, each=each))
        case "subset_of":
            return _elements(value, "all", [Test("in", operand)], at)
        case "matches":
            return _attempt(lambda: search(value, operand))
        case "contains":
            return _attempt(lambda: contains(value, operand))
        case "contains_any":
            return _containing(value, operand, any_of)
        case "contains_all":
            return _containing(value, operand, all_of)
        case "gt" | "ge" | "lt" | "le":
            return _attempt(lambda: compare(value, op, operand))
        case "between" | "not_between":
            lo, hi = operand
            inside = all_of([_attempt(lambda: compare(value, "ge", lo)), _attempt(lambda: compare(value, "le", hi))])
            return inside if op == "between" else negate(inside)
    raise AssertionError(op)


def _of_part(value: Any, operand: PartTests, at: At, each: bool) -> Truth:
    """Tests of a part: a missing one makes every test absent but `exists`."""
    try:
        for name in operand.path:
            value = step(checked(value), name) if _is_plain(value) else facets.part(value, name)
    except (Missing, CannotEvaluate) as failure:
        missing = ABSENT if isinstance(failure, Missing) else Truth(Kind.ERROR, failure.code)
        return all_of([truth(not test.operand) if test.op == "exists" else missing for test in operand.tests])
    return all_of(
        [
            truth(test.operand) if test.op == "exists" else operate(value, test.op, test.operand, at, each=each)
            for test in operand.tests
        ]
    )


def _is_plain(value: Any) -> bool:
    """Return true for a value of the request; false for one that a facet derived."""
    derived = (facets.Host, facets.Path, facets.Network, facets.Version)
    of_facet = isinstance(value, dict) and any(isinstance(item, facets.Uncertain) for item in value.values())
    return not isinstance(value, derived) and not of_facet


def _occurring(value: Any, operand: Any, at: At, *, lower: bool) -> Truth:
    """A text or a number in one of several texts; those that are not there do not count."""
    try:
        seen = checked(value)
    except CannotEvaluate as failure:
        return Truth(Kind.ERROR, failure.code)
    outcomes = []
    for place in operand if isinstance(operand, list) else [operand]:
        try:
            text = checked(at(place)) if isinstance(place, Ref) else place
            if type_name(text) != "string" or type_name(seen) not in ("string", "number"):
                raise CannotEvaluate("wrong_type")
            outcomes.append(truth(occurrence.occurs(seen, text, lower=lower)))
        except Missing:
            continue
        except CannotEvaluate as failure:
            outcomes.append(Truth(Kind.ERROR, failure.code))
    return any_of(outcomes) if outcomes else ABSENT


def _of_versions(value: facets.Version, op: str, operand: Any) -> bool:
    match op:
        case "eq":
            return bool(value == operand)
        case "in":
            return value in operand
        case "not_in":
            return value not in operand
        case "gt":
            return bool(value > operand)
        case "ge":
            return bool(value >= operand)
        case "lt":
            return bool(value < operand)
        case "le":
            return bool(value <= operand)
        case "between":
            return bool(operand[0] <= value <= operand[1])
        case "not_between":
            return not operand[0] <= value <= operand[1]
    raise AssertionError(op)


def _containing(value: Any, operand: list[Any], fold: Callable[[list[Truth]], Truth]) -> Truth:
    """`contains_any` and `contains_all`: the type of the value is checked even when the operand is empty."""
    if not operand:
        try:
            kind = type_name(checked(value))
        except CannotEvaluate as failure:
            return Truth(Kind.ERROR, failure.code)
        if kind not in ("string", "list", "mapping"):
            return Truth(Kind.ERROR, "wrong_type")
    return fold([_attempt(functools.partial(contains, value, item)) for item in operand])


def affix(value: Any, op: str, operand: Any) -> bool:
    seen = checked(value)
    if not isinstance(seen, str):
        raise CannotEvaluate("wrong_type")
    texts = tuple(operand) if isinstance(operand, list) else operand
    return seen.startswith(texts) if op == "starts_with" else seen.endswith(texts)


def length(value: Any) -> int:
    """Code points of a string, items of a list, entries of a mapping."""
    seen = checked(value)
    match type_name(seen):
        case "string" | "list":
            return len(seen)
        case "mapping" if isinstance(seen, dict):
            return dict.__len__(seen)
        case "mapping":
            try:
                return len(list(seen.keys()))
            except Exception:
                raise CannotEvaluate("wrong_type") from None
    raise CannotEvaluate("wrong_type")


def byte_length(value: Any) -> int:
    """Bytes of a string in UTF-8."""
    seen = checked(value)
    if type_name(seen) != "string":
        raise CannotEvaluate("wrong_type")
    return len(seen.encode())


def _is_empty(value: Any) -> bool:
    kind = type_name(checked(value))
    return kind == "null" or (kind in ("string", "list", "mapping") and length(value) == 0)


def lower(value: Any) -> str:
    seen = checked(value)
    if not isinstance(seen, str):
        raise CannotEvaluate("wrong_type")
    return seen.lower()


def _every(value: Any, tests: list[Test], at: At, each: bool) -> Truth:
    return all_of([operate(value, test.op, test.operand, at, each=each) for test in tests])


def _elements(value: Any, op: str, tests: list[Test], at: At) -> Truth:
    try:
        seen = checked(value)
    except CannotEvaluate as failure:
        return Truth(Kind.ERROR, failure.code)
    if type_name(seen) != "list":
        return Truth(Kind.ERROR, "wrong_type")
    outcomes = [_every(element, tests, at, True) for element in (seen[:1] if op == "first" else seen)]
    match op:
        case "first":
            return outcomes[0] if outcomes else truth(False)
        case "any":
            return any_of(outcomes)
        case "all":
            return all_of(outcomes)
        case _:
            return negate(any_of(outcomes))


def _relate(value: Any, op: str, ref: Ref, at: At, each: bool) -> Truth:
    """A comparison with the value at another path: by kind of operator, on two values that are there."""
    try:
        seen = checked(value)
        other = at(ref)
    except Missing:
        return ABSENT
    except CannotEvaluate as failure:
        return Truth(Kind.ERROR, failure.code)
    return _attempt(lambda: _related(seen, op, checked(other), each))


def _related(left: Any, op: str, right: Any, each: bool) -> bool:
    if op in ("starts_with", "ends_with"):
        if type_name(right) != "string":
            raise CannotEvaluate("wrong_type")
        return affix(left, op, right)
    if op == "in":
        if type_name(right) != "list":
            raise CannotEvaluate("wrong_type")
        _bounded(each, len(right))
        return contains(right, _single(left))
    if op == "not_in":
        return not _related(left, "in", right, each)
    if op == "subset_of":
        if type_name(right) != "list":
            raise CannotEvaluate("wrong_type")
        _bounded(each, len(right))
        if type_name(left) != "list":
            raise CannotEvaluate("wrong_type")
        outcomes = [_attempt(functools.partial(_contains_single, right, item)) for item in left]
        outcome = all_of(outcomes)
        if outcome.code:
            raise CannotEvaluate(outcome.code)
        return outcome is TRUE
    if op == "contains":
        wanted = _single(right)
        if each and isinstance(left, str) and isinstance(wanted, str):
            _bounded(each, len(wanted.encode()))
        return contains(left, wanted)
    if op == "eq":
        return equals_scalar(_single(left), _single(right))
    if type_name(right) not in ("number", "string", "timestamp"):
        raise CannotEvaluate("wrong_type")
    return compare(left, op, right)


def _contains_single(items: list[Any], value: Any) -> bool:
    return contains(items, _single(checked(value)))


def _single(value: Any) -> Any:
    if type_name(value) in ("list", "mapping"):
        raise CannotEvaluate("wrong_type")
    return value


def _bounded(each: bool, size: int) -> None:
    if each and size > MAX_REF_IN_ELEMENTS:
        raise CannotEvaluate("out_of_range")
