"""Vocabulary of the policy language: paths, operators, and common misspellings of both."""

from __future__ import annotations

from enum import Enum
from typing import Literal, TypeAlias, get_args

from bobcat.frontend.suggest import distance
from bobcat.ir.schema import NESTING, Head, Operator
from bobcat.model.decision import Effect

Written: TypeAlias = Operator | Literal["glob"]
"""An operator as written in a policy; `glob` is lowered to `matches`."""
OPERATORS: tuple[Written, ...] = (*get_args(Operator), "glob")
BELOW_ARGS: frozenset[Written] = frozenset(("starts_with", "ends_with", "glob", *NESTING))
"""Operators that do not test a mapping of arguments: directly under `args` these are names of arguments."""
ELEMENTS: frozenset[Written] = frozenset(("any", "all", "none"))
"""Operators that test every element of a list."""
CONNECTIVES = ("all_of", "any_of", "not")
HEADS: tuple[Head, ...] = get_args(Head)


class OperandKind(Enum):
    """The declared type of the value at a path. The enum value is its name with an article."""

    ANY = "a value of any type"
    STRING = "a string"
    NULLABLE_STRING = "a string or null"
    BOOL = "a bool"
    NUMBER = "a number"
    NULLABLE_NUMBER = "a number or null"
    STRINGS = "a list of strings"
    MAPPING = "a mapping"
    TIME = "a point in time"
    COUNT = "a number of characters or items"
    LOWER = "a string in lower case"

    __hash__ = object.__hash__  # PERF: members are singletons; the inherited hash is a Python call


DECLARED = {
    "cost": OperandKind.STRING,
    "reversible": OperandKind.BOOL,
    "scope": OperandKind.STRINGS,
    "blast_radius_hint": OperandKind.NULLABLE_NUMBER,
    "has_shadow": OperandKind.BOOL,
    "isolation": OperandKind.NULLABLE_STRING,
    "effect": OperandKind.STRING,
}
PRINCIPAL = {"kind": OperandKind.STRING, "id": OperandKind.STRING, "name": OperandKind.NULLABLE_STRING}
CONTEXT = {
    "environment": OperandKind.STRING,
    "workspace": OperandKind.STRING,
    "correlation_id": OperandKind.STRING,
    "step_seq": OperandKind.NUMBER,
    "timestamp": OperandKind.TIME,
    "extra": OperandKind.MAPPING,
    "principal": OperandKind.MAPPING,
}
VALUES: dict[tuple[str, ...], tuple[str, ...]] = {
    ("declared", "cost"): ("low", "medium", "high"),
    ("declared", "effect"): get_args(Effect),
    ("context", "principal", "kind"): ("user", "service", "agent"),
}
"""Closed paths whose values are a closed set of strings."""

OPERATOR_NAMES = frozenset(OPERATORS)
_LONG_OPERATORS = tuple(name for name in OPERATORS if len(name) >= 6)
_ORDINARY = frozenset(
    "batches catches exits hatches latches lengths lengthy marches matched matcher matchers patches watches".split()
)
"""English words that differ in one letter from an operator."""
_OPERATORS_MEANT = {
    "regex": "matches",
    "regexp": "matches",
    "match_regex": "matches",
    "like": "matches",
    "ilike": "matches",
    "fnmatch": "glob",
    "wildcard": "glob",
    "startswith": "starts_with",
    "start_with": "starts_with",
    "starts": "starts_with",
    "begins_with": "starts_with",
    "has_prefix": "starts_with",
    "endswith": "ends_with",
    "end_with": "ends_with",
    "has_suffix": "ends_with",
    "len": "length",
    "lowercase": "lower",
    "lower_case": "lower",
    "tolower": "lower",
    "to_lower": "lower",
    "icontains": "lower.contains",
    "ieq": "lower.eq",
    "iequals": "lower.eq",
    "some": "any",
    "every": "all",
    "each": "all",
    "any_of": "any",
    "all_of": "all",
    "none_of": "none",
    "exactly": "eq",
    "not_in": "in",
    "notin": "in",
    "nin": "in",
    "one_of": "in",
    "oneof": "in",
    "is_in": "in",
    "ne": "eq",
    "neq": "eq",
    "not_eq": "eq",
    "equals": "eq",
    "equal": "eq",
    "not_equals": "eq",
    "==": "eq",
    "!=": "eq",
    "gte": "ge",
    "lte": "le",
    ">": "gt",
    ">=": "ge",
    "<": "lt",
    "<=": "le",
    "greater_than": "gt",
    "less_than": "lt",
    "not_contains": "contains",
    "includes": "contains",
    "contains_none": "contains_any",
    "not_matches": "matches",
    "not_starts_with": "starts_with",
    "not_ends_with": "ends_with",
    "in_range": "between",
    "not": "eq",
    "not_equal": "eq",
}
FOREIGN = tuple(_OPERATORS_MEANT)
"""Operators of other languages."""
NEGATED = frozenset(
    {
        "not",
        "not_equal",
        "not_in",
        "notin",
        "nin",
        "ne",
        "neq",
        "not_eq",
        "not_equals",
        "!=",
        "not_contains",
        "not_matches",
        "contains_none",
        "not_starts_with",
        "not_ends_with",
    }
)
CONNECTIVES_MEANT = {
    "and": "all_of",
    "all": "all_of",
    "or": "any_of",
    "any": "any_of",
    "one_of": "any_of",
    "oneof": "any_of",
    "either": "any_of",
    "none_of": "not",
    "noneof": "not",
    "unless": "not",
}
HEADS_MEANT = {
    "arg": "args",
    "arguments": "args",
    "argument": "args",
    "params": "args",
    "parameters": "args",
    "input": "args",
    "inputs": "args",
    "kwargs": "args",
    "ctx": "context",
    "env": "context.environment",
    "tool_name": "tool",
    "name": "tool",
    "meta": "declared",
    "metadata": "declared",
    "principal": "context.principal",
    "user": "context.principal.id",
    "extra": "context.extra",
}


def not_an_operator(text: str) -> str | None:
    """Return the operator that `text` was meant to be: a synonym of another language, another case, or a near miss."""
    lower = text.lower()
    if lower in OPERATOR_NAMES:
        return lower
    if lower in _OPERATORS_MEANT:
        return _OPERATORS_MEANT[lower]
    if lower in _ORDINARY:
        return None
    return next((name for name in _LONG_OPERATORS if distance(lower, name) == 1), None)


def closed_paths() -> dict[str, OperandKind]:
    """Return the paths with a declared type, as keys."""
    return {
        "tool": OperandKind.STRING,
        **{f"declared.{name}": kind for name, kind in DECLARED.items()},
        **{f"context.{name}": kind for name, kind in CONTEXT.items() if kind is not OperandKind.MAPPING},
        **{f"context.principal.{name}": kind for name, kind in PRINCIPAL.items()},
    }
