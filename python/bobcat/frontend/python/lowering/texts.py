"""Lowering of f-strings."""

from __future__ import annotations

import ast
import re
from typing import Any

from bobcat.frontend.python.analysis.scope import Scope
from bobcat.frontend.python.lowering.raising import SUPPORTED
from bobcat.ir import code as ir


def lower(node: ast.JoinedStr, f: Scope) -> ir.Code:
    """Lower an f-string."""
    parts: list[str | ir.Shown] = []
    for item in node.values:
        match item:
            case ast.Constant(value=str() as text):
                parts.append(text)
            case ast.FormattedValue(value=value, conversion=conversion, format_spec=spec):
                f.check_shown(value)
                parts.append(ir.Shown(f.value(value), _conversion(conversion), _spec(spec, f)))
            case _:
                raise f.error_at(item, "holds an expression that has no lowered form", SUPPORTED)
    return ir.Text(tuple(parts))


def _conversion(number: int) -> Any:  # Any: a literal
    return "" if number < 0 else chr(number)


_SPEC = re.compile(r"(?:.?[<>=^])?[-+ ]?0?[0-9]{0,3},?(?:\.[0-9]{1,3})?[dfFeE%s]?", re.DOTALL)


def check_spec(node: ast.AST, text: str, f: Scope) -> str:
    """Return a format specification. Raises if the core does not support it."""
    if not _SPEC.fullmatch(text):
        raise f.error_at(node, f"formats with `{text}`", "use width, sign, `,`, precision, and d, f, e, % or s")
    return text


def _spec(spec: ast.expr | None, f: Scope) -> str:
    match spec:
        case None:
            return ""
        case ast.JoinedStr(values=[]):
            return ""
        case ast.JoinedStr(values=[ast.Constant(value=str() as text)]):
            return check_spec(spec, text, f)
        case _:
            raise f.error_at(spec, "calculates a format", "write the format itself: `{x:.2f}`")
