"""Where statements lead: which never reach their end, and what is certain where two ways meet."""

from __future__ import annotations

import ast
from collections.abc import Sequence


def returning(value: ast.expr) -> ast.Return:
    """The statement that returns an expression: what a lambda is."""
    return ast.copy_location(ast.Return(value), value)


def met(one: set[str] | None, other: set[str] | None, neither: set[str]) -> set[str]:
    """The names that certainly have a value where two ways meet; None is a way that does not get there."""
    if one is None:
        return neither if other is None else other
    return one if other is None else one & other


def leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether control certainly does not reach the end of a body."""
    if not body:
        return False
    match body[-1]:
        case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
            return True
        case ast.If(body=then, orelse=otherwise):
            return leaves(then) and leaves(otherwise)
        case _:
            return False
