"""Values of the reference evaluator: by the page's types, with the paths that lead to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from bobcat.ir import schema as ir
from bobcat.model.decision import ActionRequest, ExecutionContext

MAX_INT_BITS = 4096
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class CannotEvaluate(Exception):
    """A present value that cannot be evaluated, with the reason's `code`."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Missing(Exception):
    """The path is not there."""


@dataclass(frozen=True, slots=True)
class Timestamp:
    """An instant, in microseconds since the epoch."""

    micros: int


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value of a type that policies cannot evaluate."""


def view(value: Any) -> Any:
    """A Python value as one of: None, bool, int, float, str, list, a mapping, Timestamp, Opaque. Not deep."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, list):
        return list(list.__iter__(value))
    if isinstance(value, tuple):
        return list(tuple.__iter__(value))
    if isinstance(value, datetime):
        return _timestamp(value)
    if isinstance(value, Mapping):
        return value
    return Opaque()


def _timestamp(value: datetime) -> Timestamp | Opaque:
    try:
        if value.utcoffset() is None:
            return Opaque()
        return Timestamp((value - _EPOCH) // timedelta(microseconds=1))
    except Exception:
        return Opaque()


def checked(value: Any) -> Any:
    """`view`, with the errors that hold whatever the operator."""
    seen = view(value)
    if isinstance(seen, float) and seen != seen:
        raise CannotEvaluate("nan")
    if isinstance(seen, str) and any(0xD800 <= ord(c) <= 0xDFFF for c in seen):
        raise CannotEvaluate("bad_unicode")
    if isinstance(seen, int) and seen.bit_length() > MAX_INT_BITS:
        raise CannotEvaluate("out_of_range")
    if isinstance(seen, Opaque):
        raise CannotEvaluate("wrong_type")
    return seen


def step(value: Any, key: str) -> Any:
    """The entry `key` of a mapping; raises `Missing` or `CannotEvaluate`."""
    if value is None:
        raise Missing
    if isinstance(value, dict):
        for candidate, item in dict.items(value):
            if isinstance(candidate, str) and str.__str__(candidate) == key:
                return item
        raise Missing
    if isinstance(value, Mapping):
        try:
            return value[key]
        except KeyError:
            raise Missing from None
        except Exception:
            raise CannotEvaluate("wrong_type") from None
    raise CannotEvaluate("wrong_type")


@dataclass(frozen=True, slots=True)
class Ref:
    """An operand that is the value at another path."""

    head: str
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Test:
    """One of the tests of a nesting operator."""

    __test__ = False

    op: str
    operand: Any


@dataclass(frozen=True, slots=True)
class PartTests:
    """The names that lead to a part of a derived value, and the tests of it."""

    path: tuple[str, ...]
    tests: list[Test]


def read(head: str, path: tuple[str, ...], request: ActionRequest, context: ExecutionContext) -> Any:
    """The value at a path; raises `Missing` or `CannotEvaluate`."""
    match head:
        case "tool":
            return request.tool
        case "args":
            value: Any = request.args
        case "declared":
            return _attribute(request.declared, path[0])
        case "context" if path[0] == "extra":
            value, path = _attribute(context, "extra"), path[1:]
        case "context":
            value = context
            for name in path:
                value = _attribute(value, name)
            if path == ("task",) and value is None:
                raise Missing
            return value
    for key in path:
        value = step(value, key)
    return value


def _attribute(owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError:
        raise Missing from None
    except Exception:
        raise CannotEvaluate("wrong_type") from None


def constant(const: ir.Const) -> Any:
    """The value of a constant of the strict profile."""
    if isinstance(const, list | tuple):
        return [constant(item) for item in const]
    if isinstance(const, Mapping):
        if set(const) == {"path", "tests"}:
            return PartTests(
                tuple(const["path"]), [Test(item["op"], constant(item["operand"])) for item in const["tests"]]
            )
        ((tag, body),) = const.items()
        if tag == "ref":
            return Ref(body[0], tuple(body[1:]))
        if tag == "places":
            return [constant(place) for place in body]
        if tag == "tests":
            return [Test(item["op"], constant(item["operand"])) for item in body]
        if tag == "map":
            return {key: constant(item) for key, item in body.items()}
        if tag == "timestamp":
            return Timestamp(body)
        raise AssertionError(f"no constant of the strict profile: {tag}")
    return const


def type_name(value: Any) -> str:
    """The page's type of a viewed value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "list"
    if isinstance(value, Timestamp):
        return "timestamp"
    return "mapping"
