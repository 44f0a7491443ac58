"""Clauses that change no decision: the policy decides every call alike with a constant in their place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec

from bobcat.analysis.engine import Effort, Questions
from bobcat.bundle.model import Policy
from bobcat.ir import construct
from bobcat.ir.canonical import encode
from bobcat.ir.schema import AllExpr, AnyExpr, Expr, IrRule, NotExpr
from bobcat.ir.visit import children, leaves
from bobcat.lint.subject import named_tools

MAX_CLAUSES = 2_000
"""Clauses of one policy that are looked at, in evaluation order."""


def dead_places(policy: Policy, indexes: Sequence[int], effort: Effort) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the dead clauses of some rules: the index of the rule, and the child numbers from the root of its match.

    A clause inside of a dead one is left out.
    """
    places = ((index, at) for index in indexes for at in _places(policy, index))
    found: dict[int, list[tuple[int, ...]]] = {}
    for index, at in islice(places, MAX_CLAUSES):
        inside = any(at[: len(other)] == other for other in found.get(index, ()))
        if not inside and any(_is_same(policy, index, at, new, effort) for new in (construct.TRUE, construct.FALSE)):
            found.setdefault(index, []).append(at)
            yield index, at


def clause_at(expr: Expr, at: Sequence[int]) -> tuple[Expr, int]:
    """Return the clause at a place of a match, and the number of its first leaf."""
    leaf = 0
    for number in at:
        below = children(expr)
        leaf += sum(1 for item in below[:number] for _ in leaves(item))
        expr = below[number]
    return expr, leaf


def _places(policy: Policy, index: int) -> Iterator[tuple[int, ...]]:
    """Yield the places below the root of a match in pre-order."""
    rule = policy.ir.rules[index]
    waiting: list[tuple[Expr, tuple[int, ...]]] = [(rule.match, ())] if isinstance(rule, IrRule) else []
    while waiting:
        expr, at = waiting.pop()
        if at:
            yield at
        waiting.extend((item, (*at, number)) for number, item in reversed(list(enumerate(children(expr)))))


def _is_same(policy: Policy, index: int, at: tuple[int, ...], new: Expr, effort: Effort) -> bool:
    rule = policy.ir.rules[index]
    assert isinstance(rule, IrRule)  # only these have places
    match = replaced(rule.match, at, new)
    if encode(match) == encode(rule.match):
        return False
    rules = [*policy.ir.rules]
    rules[index] = msgspec.structs.replace(rule, match=match)
    changed = Policy.from_policy(msgspec.structs.replace(policy.ir, rules=tuple(rules)))
    tools = named_tools(rule) if at and not _reads_tool(rule.match, at) else ()
    asked = {"tools": list(tools)} if tools else {}
    return bool(Questions((policy, changed), effort).ask("compare", old=0, new=1, limit=1, **asked)["same"])


def _reads_tool(match: Expr, at: tuple[int, ...]) -> bool:
    """Return true if a clause is about the tool: without it, its rule is about others, too."""
    return any(leaf.head == "tool" for leaf in leaves(clause_at(match, at)[0]))


def replaced(expr: Expr, at: Sequence[int], new: Expr) -> Expr:
    """Return an expression in normal form with another one in a place."""
    if not at:
        return new
    below = [replaced(item, at[1:], new) if number == at[0] else item for number, item in enumerate(children(expr))]
    match expr:
        case AllExpr():
            return construct.all_(below)
        case AnyExpr():
            return construct.any_(below)
        case NotExpr():
            return construct.not_(below[0])
        case _:
            return expr
