"""Control flow of statements: unreachable ends, and facts that hold at a join."""

from __future__ import annotations

import ast
from collections.abc import Sequence


def as_return(value: ast.expr) -> ast.Return:
    """Return the `return` statement equivalent to a lambda's expression."""
    return ast.copy_location(ast.Return(value), value)


def assigned_on_both(one: set[str] | None, other: set[str] | None, neither: set[str]) -> set[str]:
    """Return the names that are definitely assigned at a join of two paths; None is a path that does not reach it."""
    if one is None:
        return neither if other is None else other
    return one if other is None else one & other


def always_exits(body: Sequence[ast.stmt]) -> bool:
    """Return true if control definitely does not reach the end of a body."""
    if not body:
        return False
    match body[-1]:
        case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
            return True
        case ast.If(body=then, orelse=otherwise):
            return always_exits(then) and always_exits(otherwise)
        case _:
            return False
