"""Traversals of IR expressions and code in pre-order, the order of numbering, traces and source maps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from bobcat.ir.code import CodePart, Constant, Statement
from bobcat.ir.schema import AllExpr, AnyExpr, Const, Expr, Leaf, NotExpr

_STATEMENTS: tuple[type, ...] = get_args(Statement)


def walk(expr: Expr) -> Iterator[Expr]:
    """Yield every node of an expression, each before its children, children from left to right."""
    stack: list[Expr] = [expr]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def children(node: Expr) -> tuple[Expr, ...]:
    """Return the direct sub-expressions of a node."""
    match node:
        case AllExpr(items) | AnyExpr(items):
            return items
        case NotExpr(item):
            return (item,)
        case Leaf():
            return ()


def leaves(expr: Expr) -> Iterator[Leaf]:
    """Yield the leaves of an expression; number i in this order is leaf i of a trace and of the source map."""
    return (node for node in walk(expr) if isinstance(node, Leaf))


def refs(operand: Const) -> Iterator[tuple[str, ...]]:
    """Yield the other paths that an operand reads, heads included, in the order in which the core numbers them."""
    if isinstance(operand, dict) and "ref" in operand:
        yield tuple(operand["ref"])
    elif isinstance(operand, dict) and "tests" in operand:
        for item in operand["tests"]:
            yield from refs(item["operand"])


def statements(body: tuple[Statement, ...]) -> Iterator[tuple[Statement, int]]:
    """Yield every statement of a function, including inlined functions, with the number of its parent statement (-1
    without a parent). Number i in this order is statement i of a trace and of the source map.
    """
    number = 0
    stack: list[tuple[Any, int]] = [(body, -1)]  # Any: a node, or a tuple of nodes and names
    while stack:
        node, inside = stack.pop()
        if isinstance(node, tuple):
            stack.extend((item, inside) for item in reversed(node))
            continue
        if not isinstance(node, CodePart) or isinstance(node, Constant):
            continue
        if isinstance(node, _STATEMENTS):
            yield node, inside  # type: ignore[misc]  # a member of the union
            inside, number = number, number + 1
        stack.extend((getattr(node, name), inside) for name in reversed(node.__struct_fields__))
