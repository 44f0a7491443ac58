"""Traversals of IR expressions and code in pre-order, the order of numbering, traces and source maps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, get_args

from msgspec import UNSET, UnsetType

from bobcat.ir.code import CodePart, Constant, MakeDecision, Statement
from bobcat.ir.schema import (
    AllExpr,
    AllFormula,
    AnyExpr,
    AnyFormula,
    AnyRule,
    CallEvent,
    Const,
    Definition,
    Expr,
    Formerly,
    Formula,
    FormulaDefinition,
    FunctionRule,
    IrRule,
    Leaf,
    Measure,
    NotExpr,
    NotFormula,
    Obligation,
    Previous,
    ResultEvent,
    Since,
    Source,
)

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


def formula_parts(formula: Formula) -> tuple[Formula, ...]:
    """Return the direct parts of a formula."""
    match formula:
        case CallEvent() | ResultEvent():
            return ()
        case AllFormula(items) | AnyFormula(items):
            return items
        case Since(holds, start):
            return (holds, start)
        case NotFormula(item) | Previous(item) | Formerly(item):
            return (item,)


def definition_exprs(definition: Definition) -> Iterator[Expr]:
    """Yield the expressions of a definition, in the order in which the core decodes them."""
    match definition:
        case Measure(of):
            yield of
        case Source(of):
            yield of
            if definition.where is not UNSET:
                yield definition.where
        case FormulaDefinition(formula):
            stack: list[Formula] = [formula]
            while stack:
                node = stack.pop()
                if isinstance(node, CallEvent | ResultEvent):
                    yield node.match
                stack.extend(reversed(formula_parts(node)))


def leaves(expr: Expr) -> Iterator[Leaf]:
    """Yield the leaves of an expression; number i in this order is leaf i of a trace and of the source map."""
    return (node for node in walk(expr) if isinstance(node, Leaf))


def refs(operand: Const) -> Iterator[tuple[str, ...]]:
    """Yield the other paths that an operand reads, heads included, in the order in which the core numbers them."""
    if isinstance(operand, dict) and "ref" in operand:
        yield tuple(operand["ref"])
    elif isinstance(operand, dict) and "places" in operand:
        for place in operand["places"]:
            yield from refs(place)
    elif isinstance(operand, dict) and "tests" in operand:
        for item in operand["tests"]:
            yield from refs(item["operand"])


def code_nodes(body: tuple[Statement, ...]) -> Iterator[CodePart]:
    """Yield every node of the code of a function, in no particular order."""
    stack: list[Any] = [body]  # Any: a node, or a tuple of nodes and names
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack.extend(node)
        elif isinstance(node, CodePart):
            yield node
            if not isinstance(node, Constant):
                stack.extend(getattr(node, name) for name in node.__struct_fields__)


def all_obligations(rules: Iterable[AnyRule]) -> Iterator[Obligation]:
    """Yield the obligations of all rules, and of all decisions of their functions."""
    for rule in rules:
        nodes = code_nodes(rule.body) if isinstance(rule, FunctionRule) else (rule,)
        for node in nodes:
            if isinstance(node, IrRule | MakeDecision) and not isinstance(node.obligations, UnsetType):
                yield from node.obligations


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
