"""The definitions that rules read of the state of a run, and the calls that a run can have."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from bobcat.ir.conjuncts import conjuncts
from bobcat.ir.memory import TASK, names_of
from bobcat.ir.schema import (
    AllFormula,
    AnyFormula,
    CallEvent,
    Definition,
    Expr,
    Formerly,
    Formula,
    Leaf,
    NotFormula,
    Previous,
    ResultEvent,
    Since,
    Source,
)
from bobcat.lint.implication import PERMITS, PathCondition, clash
from bobcat.lint.subject import LintContext, PlacedLeaf, RuleFacts

_RUNS = (*PERMITS, "approve_required")
"""Decisions after which a call can run."""


def definitions(subject: LintContext) -> Iterator[tuple[str, Definition, RuleFacts, PlacedLeaf]]:
    """Yield the definitions that rules read, each with the first leaf that reads it."""
    memory = subject.policy.memory
    if isinstance(memory, msgspec.UnsetType):
        return
    seen: set[str] = set()
    for facts in subject.rules:
        for item in facts.leaves:
            waiting = list(names_of(item.leaf))
            while waiting:
                name = waiting.pop(0)
                if name in seen or name not in memory:
                    continue
                seen.add(name)
                definition = memory[name]
                yield name, definition, facts, item
                if isinstance(definition, Source):
                    waiting.extend(asked for asked in definition.asked_with if asked != TASK)


def permitting(subject: LintContext, of: Expr) -> list[RuleFacts] | None:
    """Return the rules that may let a call run for which an expression is true; None if that cannot be known."""
    if len(subject.rules) != len(subject.policy.rules) or subject.policy.defaults.on_no_match in _RUNS:
        return None
    wanted = [PathCondition(item) for item in conjuncts(of)]
    return [facts for facts in subject.rules if facts.rule.verdict in _RUNS and not clash([*wanted, *facts.conditions])]


def runs(subject: LintContext, of: Expr) -> bool:
    """Return true if a call for which an expression is true may run."""
    if clash([PathCondition(item) for item in conjuncts(of)]):
        return False
    found = permitting(subject, of)
    return found is None or bool(found)


def tools_of(of: Expr) -> str:
    """Describe the calls that an expression is about, for a diagnostic."""
    for item in conjuncts(of):
        if isinstance(item, Leaf) and item.head == "tool" and item.op == "eq" and isinstance(item.operand, str):
            return f"`{item.operand}`"
        if isinstance(item, Leaf) and item.head == "tool" and item.op == "in" and isinstance(item.operand, list):
            return " or ".join(f"`{name}`" for name in item.operand[:5])
    return "such a tool"


def constant(subject: LintContext, formula: Formula) -> bool | None:
    """Return the truth value that a formula has at the last event of every run; None if it depends on the run."""
    match formula:
        case CallEvent(match) | ResultEvent(match):
            return None if runs(subject, match) else False
        case NotFormula(item):
            found = constant(subject, item)
            return None if found is None else not found
        case AllFormula(items):
            values = [constant(subject, item) for item in items]
            return False if False in values else None if None in values else True
        case AnyFormula(items):
            values = [constant(subject, item) for item in items]
            return True if True in values else None if None in values else False
        case Previous(item) | Formerly(item):
            return False if constant(subject, item) is False else None
        case Since(_, start):
            return False if constant(subject, start) is False else None
