"""Constant data in a Python rule: matches, formulas and options of conditions on the run, with their positions."""

from __future__ import annotations

import ast
from typing import Any

from bobcat.frontend.builder.located import Located
from bobcat.frontend.python.analysis.scope import Scope
from bobcat.ir import code as ir
from bobcat.ir.constants import from_const


def located(node: ast.expr, f: Scope) -> Located:
    """Return the plain data of an expression. Raises `CannotLower` for one whose value is known at run time only."""
    match node:
        case ast.Dict(keys=keys, values=values):
            data: Any = {}
            for key, value in zip(keys, values, strict=True):
                if key is None:
                    raise f.error_at(value, "unpacks `**` in a condition on the run", "write its entries out")
                name = constant(key, f)
                if not isinstance(name, str):
                    raise f.error_at(key, "has a key that is not a text in a condition on the run", "write a text")
                data[at(name, key, f)] = located(value, f)
        case ast.List(elts=items) | ast.Tuple(elts=items) if not any(isinstance(item, ast.Starred) for item in items):
            data = [located(item, f) for item in items]
        case _:
            data = constant(node, f)
    return at(data, node, f)


def at(data: Any, node: ast.AST, f: Scope) -> Located:  # Any: plain data
    """Return data with the position of a node."""
    span = f.source.place.span(node)
    return Located(data, (span.line, span.column, span.end_line, span.end_column))


def constant(node: ast.expr, f: Scope) -> Any:  # Any: a constant
    """Return the value of a constant expression."""
    code = f.value(node)
    if isinstance(code, ir.Constant):
        return from_const(code.value)
    raise f.error_at(
        node,
        "uses a value in a condition on the run that is known at run time only",
        "write a constant: what a run counts is fixed when the policy is compiled; compare the result with the value",
    )
