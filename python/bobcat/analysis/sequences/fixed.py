"""A policy in one state of a run: what its rules read of the run is replaced by its value there.

A read whose value is not known stays: questions about it are then answered `unknown`, or proved for each value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from bobcat.bundle.model import Policy
from bobcat.ir import construct
from bobcat.ir.memory import used
from bobcat.ir.schema import (
    AllExpr,
    AnyExpr,
    Definition,
    Expr,
    IrRule,
    Leaf,
    Measure,
    NotExpr,
)

Read: TypeAlias = Callable[[Any, Any], bool]  # Any: numbers
ERROR = construct.leaf("tool", (), "gt", 0)
"""The match that is an error for every call: a tool is a text."""
_COMPARED: Mapping[str, Read] = {
    "eq": lambda value, operand: bool(value == operand),
    "gt": lambda value, operand: bool(value > operand),
    "ge": lambda value, operand: bool(value >= operand),
    "lt": lambda value, operand: bool(value < operand),
    "le": lambda value, operand: bool(value <= operand),
    "in": lambda value, operand: value in operand,
    "not_in": lambda value, operand: value not in operand,
    "between": lambda value, operand: bool(operand[0] <= value <= operand[1]),
    "not_between": lambda value, operand: not operand[0] <= value <= operand[1],
}
_FLIPPED = {"eq": "eq", "gt": "lt", "ge": "le", "lt": "gt", "le": "ge"}


class Value:
    """The value of a definition in a state. `field`: the argument that the proposed call adds to it."""

    __slots__ = ("field", "value")

    def __init__(self, value: Any, field: tuple[str, ...] | None = None) -> None:  # Any: a bool, a number, or an error
        self.value = value
        self.field = field


Values: TypeAlias = Mapping[str, Value]
SourceValues: TypeAlias = Mapping[str, list[Any]]  # Any: texts and numbers


def fixed_policy(policy: Policy, values: Values, sources: SourceValues) -> Policy:
    """Return a policy in a state; a definition without a value is still read."""
    ir = policy.ir
    rules = [
        msgspec.structs.replace(rule, match=fixed(rule.match, values, sources)) if isinstance(rule, IrRule) else rule
        for rule in ir.rules
    ]
    known: Mapping[str, Definition] = {} if isinstance(ir.memory, UnsetType) else ir.memory
    return Policy.from_policy(
        msgspec.structs.replace(ir, rules=tuple(rules), memory=used(rules, known) or UNSET),
        host_rules=tuple(function for _, _, function in policy.python_rules),
    )


def fixed(expr: Expr, values: Values, sources: SourceValues) -> Expr:
    """Return an expression in a state."""
    match expr:
        case AllExpr(items):
            return construct.all_(fixed(item, values, sources) for item in items)
        case AnyExpr(items):
            return construct.any_(fixed(item, values, sources) for item in items)
        case NotExpr(item):
            return construct.not_(fixed(item, values, sources))
        case Leaf() if expr.head == "run":
            return _of_run(expr, values.get(expr.path[0]))
        case Leaf():
            changed = _operand(expr.op, expr.operand, values, sources)
            return expr if changed is None else construct.leaf(expr.head, expr.path, *changed, expr.dialect)


def _of_run(leaf: Leaf, known: Value | None) -> Expr:
    """Return the comparison of a known value with a constant, or with another path."""
    if known is None:
        return leaf
    value, operand = known.value, leaf.operand
    if isinstance(value, dict):
        return leaf if isinstance(operand, dict) else ERROR
    if isinstance(operand, dict):
        path = operand.get("ref", ())
        if known.field is not None or not path or path[0] == "run" or leaf.op not in _FLIPPED:
            return leaf
        return construct.leaf(path[0], tuple(path[1:]), _FLIPPED[leaf.op], value)
    numbers = operand if isinstance(operand, list) else [operand]
    if isinstance(value, bool):
        same = len(numbers) == 1 and isinstance(numbers[0], bool) and leaf.op == "eq"
        return leaf if not same else construct.TRUE if value is numbers[0] else construct.FALSE
    if leaf.op not in _COMPARED or not all(type(item) in (int, float) for item in numbers):
        return leaf
    if known.field is None:
        return construct.TRUE if _COMPARED[leaf.op](value, operand) else construct.FALSE
    rest = [_difference(item, value) for item in numbers]
    if None in rest:
        return leaf
    return construct.leaf("args", known.field, leaf.op, rest if isinstance(operand, list) else rest[0])


def _difference(bound: float, value: float) -> int | float | None:
    """Return the exact difference of two numbers; None where it has no exact form."""
    exact = Fraction(bound) - Fraction(value)
    if exact.denominator == 1:
        return int(exact)
    return float(exact) if Fraction(float(exact)) == exact else None


def _operand(op: str, operand: Any, values: Values, sources: SourceValues) -> tuple[str, Any] | None:  # Any: an operand
    """Return an operator and an operand without reads of known values; None if nothing changes."""
    if not isinstance(operand, dict):
        return None
    path = operand.get("ref", ())
    if path and path[0] == "run":
        known = values.get(path[1])
        plain = known is not None and known.field is None and not isinstance(known.value, dict)
        return (op, known.value) if known is not None and plain else None
    if op == "from":
        names = operand["sources"]
        if not all(name in sources for name in names):
            return None
        found = [value for name in names for value in sources[name]]
        return "in", found
    if "tests" not in operand:
        return None
    changed = []
    for test in operand["tests"]:
        other = _operand(test["op"], test["operand"], values, sources)
        new = test if other is None else {**test, "op": other[0], "operand": other[1]}
        changed.append(new)
    return None if changed == operand["tests"] else (op, {**operand, "tests": changed})


def measures_with_call(definitions: Mapping[str, Definition]) -> list[str]:
    """Return the names of the measures that include the proposed call."""
    return [name for name, definition in definitions.items() if isinstance(definition, Measure) and definition.this]
