"""The conjuncts of a match, and the tools that they name."""

from __future__ import annotations

from collections.abc import Iterable

from bobcat.ir.schema import AllExpr, Expr, IrRule, Leaf


def conjuncts(expr: Expr) -> tuple[Expr, ...]:
    """Return the conjuncts of a match; the match itself if it is not a conjunction."""
    return expr.items if isinstance(expr, AllExpr) and expr.items else (expr,)


def named_tools(rule: IrRule) -> tuple[str, ...]:
    """Return the tools that a match names; empty if it is about any tool."""
    for item in conjuncts(rule.match):
        if not isinstance(item, Leaf) or item.head != "tool":
            continue
        if item.op == "eq" and isinstance(item.operand, str):
            return (item.operand,)
        if item.op == "in" and isinstance(item.operand, list):
            return tuple(item.operand)
    return ()


def shared_tools(left: Iterable[str], right: Iterable[str]) -> bool:
    """Return true if two rules may be about one tool, according to the tools that they name."""
    first, second = set(left), set(right)
    return not first or not second or bool(first & second)
