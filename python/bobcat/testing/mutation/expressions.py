"""Changes of a match: a clause dropped or negated, or its comparison changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from bobcat.ir import construct
from bobcat.ir.pretty import leaf_text
from bobcat.ir.schema import AllExpr, AnyExpr, Expr, Leaf, NotExpr, Profile
from bobcat.ir.visit import leaves
from bobcat.testing.mutation.operands import changed

Replace = Callable[[Expr], Expr]


class ChangedExpr(NamedTuple):
    """A changed match: the name of the mutation, the change in words, the number of the clause and the match."""

    mutation: str
    change: str
    clause: int
    match: Expr


def changed_matches(match: Expr, profile: Profile) -> Iterator[ChangedExpr]:
    """Yield the changes of a match, in the order of its clauses."""
    yield from _node(match, lambda item: item, 0, profile)


def _node(node: Expr, put: Replace, first: int, profile: Profile) -> Iterator[ChangedExpr]:
    """Yield the changes of a node, whose first clause has the number `first`."""
    match node:
        case Leaf():
            yield from _leaf(node, put, first, profile)
        case NotExpr(item):
            yield ChangedExpr("negate", f"not {_text(item)} -> {_text(item)}", first, put(item))
            yield from _node(item, lambda new: put(_not(new, profile)), first, profile)
        case AllExpr(items) | AnyExpr(items):
            kind, number = type(node), first
            for index, item in enumerate(items):
                before, after = items[:index], items[index + 1 :]
                if before or after:
                    rest = _joined(kind, (*before, *after), profile)
                    yield ChangedExpr("drop-clause", f"without {_text(item)}", number, put(rest))
                yield from _node(item, _around(kind, before, after, put, profile), number, profile)
                number += sum(1 for _ in leaves(item))


def _leaf(leaf: Leaf, put: Replace, number: int, profile: Profile) -> Iterator[ChangedExpr]:
    text = leaf_text(leaf)
    if put(construct.TRUE) == construct.TRUE:  # the only clause
        yield ChangedExpr("drop-clause", f"without {text}", number, construct.TRUE)
    yield ChangedExpr("negate", f"{text} -> not {text}", number, put(_not(leaf, profile)))
    for mutation, operator, operand in changed(leaf.op, leaf.operand, leaf.dialect):
        new = msgspec.structs.replace(leaf, op=operator, operand=operand)
        if profile == "strict":
            new = construct.leaf(leaf.head, leaf.path, operator, operand, leaf.dialect)
        yield ChangedExpr(mutation, f"{text} -> {leaf_text(new)}", number, put(new))


def _not(item: Expr, profile: Profile) -> Expr:
    return construct.not_(item) if profile == "strict" else NotExpr(item)


def _joined(kind: type[AllExpr | AnyExpr], items: tuple[Expr, ...], profile: Profile) -> Expr:
    if profile == "lynx":
        return kind(items)
    return construct.all_(items) if kind is AllExpr else construct.any_(items)


def _around(
    kind: type[AllExpr | AnyExpr], before: tuple[Expr, ...], after: tuple[Expr, ...], put: Replace, profile: Profile
) -> Replace:
    return lambda new: put(_joined(kind, (*before, new, *after), profile))


def _text(expr: Expr) -> str:
    texts = [leaf_text(leaf) for leaf in leaves(expr)] or ["nothing"]
    word = " and " if isinstance(expr, AllExpr) else " or "
    return texts[0] if len(texts) == 1 else f"({word.join(texts[:3])}{', ...' * (len(texts) > 3)})"
