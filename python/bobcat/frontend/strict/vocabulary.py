"""Misspellings of operators, connectives and heads, and what they were meant to be."""

from __future__ import annotations

from functools import lru_cache

from bobcat.frontend.suggest import distance
from bobcat.language.operators import LEADING, OPERATORS, ROWS

CONNECTIVES = ("all_of", "any_of", "not")

_LONG_OPERATORS = tuple(name for name in OPERATORS if len(name) >= 6 and name not in LEADING)
_ORDINARY = frozenset(
    "batches catches exits hatches latches lengths lengthy marches matched matcher matchers patches watches".split()
)
"""English words that differ in one letter from an operator."""
_OPERATOR_SYNONYMS = {name: row.name for row in ROWS for name in (*row.synonyms, *row.negations)}
_OPERATOR_SYNONYMS |= {name: f"lower.{row.name}" for row in ROWS for name in row.lowered}
FOREIGN = tuple(_OPERATOR_SYNONYMS)
"""Operators of other languages."""
NEGATED = frozenset(name for row in ROWS for name in row.negations)
"""Those that negate."""
CONNECTIVE_SYNONYMS = {
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
HEAD_SYNONYMS = {
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


@lru_cache(1_000)  # PERF: the keys of elements are few, and comparing one with all operators takes 300 us
def not_an_operator(text: str) -> str | None:
    """Return the operator that `text` was meant to be: a synonym of another language, another case, or a near miss."""
    lower = text.lower()
    if lower in OPERATORS:
        return None if lower in LEADING else lower
    if lower in _OPERATOR_SYNONYMS:
        return _OPERATOR_SYNONYMS[lower]
    if lower in _ORDINARY:
        return None
    return next((name for name in _LONG_OPERATORS if distance(lower, name) == 1), None)
