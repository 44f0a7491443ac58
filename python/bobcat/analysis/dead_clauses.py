"""Clauses that change no decision: the policy decides every call alike without them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec
from msgspec import UNSET, UnsetType

from bobcat.analysis.difference import compare
from bobcat.analysis.engine import Data, Effort, Questions
from bobcat.analysis.live_clauses import Calls
from bobcat.bundle.model import Policy
from bobcat.ir import construct
from bobcat.ir.conjuncts import named_tools, shared_tools
from bobcat.ir.memory import used
from bobcat.ir.schema import AllExpr, AnyExpr, Expr, IrPolicy, IrRule, NotExpr
from bobcat.ir.visit import children, leaves

NO_CALLS: Mapping[int, Data] = MappingProxyType({})
MAX_CLAUSES = 2_000
"""Clauses of one policy that are looked at, in evaluation order."""


def dead_places(
    policy: Policy, indexes: Sequence[int], effort: Effort, calls: Mapping[int, Data] = NO_CALLS
) -> Iterator[tuple[int, tuple[int, ...] | None]]:
    """Yield the dead clauses of some rules: the index of the rule, and the child numbers from the root of its match.

    A clause inside of a dead one is left out. None in place of the numbers: the time was over before all clauses of the
    rule were compared. `calls` are requests that rules decide, by their index.
    """
    left = MAX_CLAUSES
    known = Calls(calls)
    names = [named_tools(rule) if isinstance(rule, IrRule) else () for rule in policy.ir.rules]
    for index in indexes:
        places = list(_places(policy, index))[:left]
        left -= len(places)
        found: list[tuple[int, ...]] = []
        for at, is_dead in zip(places, _dead(policy, index, places, names, effort, known), strict=True):
            if is_dead and not any(at[: len(other)] == other for other in found):
                found.append(at)
                yield index, at
        if places and effort.is_over:
            yield index, None


def _dead(
    policy: Policy,
    index: int,
    places: Sequence[tuple[int, ...]],
    names: Sequence[tuple[str, ...]],
    effort: Effort,
    known: Calls,
) -> Iterator[bool]:
    """Yield for each place of a match whether the policy decides every call alike, on the same terms, without it."""
    if effort.is_over:
        yield from (False for _ in places)
        return
    if not places:
        return
    rule = policy.ir.rules[index]
    assert isinstance(rule, IrRule)  # only these have places
    ir, own, tools = _part(policy.ir, index, names)
    matches = [without(rule.match, at) for at in places]
    policies = [Policy.from_policy(ir), *(_changed(ir, own, match) for match in matches)]
    clauses = [clause_at(rule.match, at)[0] for at in places]
    pairs = [(policies[0], changed) for changed in policies[1:]]
    alive = [known.matters(index, *each) for each in zip(pairs, clauses, strict=True)]
    questions = Questions(policies, effort) if not all(alive) else None
    for number, at in enumerate(places, 1):
        if questions is None or alive[number - 1]:
            yield False
            continue
        only: list[str | None] = list(tools)
        about_others = bool(tools) and _reads_tool(rule.match, at)
        if about_others:  # without this clause, its rule is about other tools: these are compared first
            only = [None]
        alike = questions.ask("compare", old=0, new=number, limit=1, **({"tools": only} if only else {}))["same"]
        if alike and about_others:
            yield compare(Questions((policy, _changed(policy.ir, index, matches[number - 1])), effort), limit=1).same
        else:
            yield bool(alike) and compare(questions, 0, number, limit=1).same


def _part(ir: IrPolicy, index: int, names: Sequence[tuple[str, ...]]) -> tuple[IrPolicy, int, list[str]]:
    """Return the rules that may be about the tools of a rule, the index of the rule there, and the tools.

    PERF: the others decide no call of these tools, and most policies have a few rules for each.
    """
    tools = list(names[index])
    if not tools or not isinstance(ir.layers, UnsetType):
        return ir, index, tools
    kept = [number for number, others in enumerate(names) if shared_tools(others, tools)]
    rules = tuple(ir.rules[number] for number in kept)
    memory = {} if isinstance(ir.memory, UnsetType) else used(rules, ir.memory)
    return msgspec.structs.replace(ir, rules=rules, memory=memory or UNSET), kept.index(index), tools


def _changed(ir: IrPolicy, index: int, match: Expr) -> Policy:
    rules = [*ir.rules]
    rules[index] = msgspec.structs.replace(rules[index], match=match)
    memory = {} if isinstance(ir.memory, UnsetType) else used(rules, ir.memory)
    return Policy.from_policy(msgspec.structs.replace(ir, rules=tuple(rules), memory=memory or UNSET))


def clause_at(expr: Expr, at: Sequence[int]) -> tuple[Expr, int]:
    """Return the clause at a place of a match, and the number of its first leaf."""
    leaf = 0
    for number in at:
        below = children(expr)
        leaf += sum(1 for item in below[:number] for _ in leaves(item))
        expr = below[number]
    return expr, leaf


def _places(policy: Policy, index: int) -> Iterator[tuple[int, ...]]:
    """Yield the places of the items of `all` and `any` in a match, in pre-order."""
    rule = policy.ir.rules[index]
    waiting: list[tuple[Expr, tuple[int, ...], bool]] = [(rule.match, (), False)] if isinstance(rule, IrRule) else []
    while waiting:
        expr, at, is_item = waiting.pop()
        if is_item:
            yield at
        below = enumerate(children(expr))
        items = not isinstance(expr, NotExpr)
        waiting.extend((item, (*at, number), items) for number, item in reversed(list(below)))


def _reads_tool(match: Expr, at: tuple[int, ...]) -> bool:
    """Return true if a clause is about the tool."""
    return any(leaf.head == "tool" for leaf in leaves(clause_at(match, at)[0]))


def without(expr: Expr, at: Sequence[int]) -> Expr:
    """Return an expression in normal form without an item of an `all` or `any`."""
    first, rest = at[0], at[1:]
    below = [without(item, rest) if number == first else item for number, item in enumerate(children(expr))
             if rest or number != first]  # fmt: skip
    match expr:
        case AllExpr():
            return construct.all_(below)
        case AnyExpr():
            return construct.any_(below)
        case NotExpr():
            return construct.not_(below[0])
        case _:
            return expr
