"""Binary operators."""

from __future__ import annotations

import ast

from bobcat.frontend.python.analysis.kinds import InferredKind
from bobcat.frontend.python.analysis.scope import Scope
from bobcat.ir import code as ir

BINARY: dict[type[ast.operator], ir.BinaryOperator] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip


def binary(node: ast.AST, op: ast.operator, left: tuple[ast.expr, ir.Code], right: ast.expr, f: Scope) -> ir.Code:
    """Lower `left op right`, given the lowered left operand."""
    if type(op) not in BINARY:
        instead = {ast.LShift: "write `x * 2**n`", ast.RShift: "write `x // 2**n`"}
        raise f.error_at(
            node,
            "uses an operator that has no lowered form",
            instead.get(type(op), "write arithmetic with + - * / // % **"),
        )
    kinds: tuple[InferredKind, InferredKind] = (f.kind(left[0]), f.kind(right))
    if "datetime" in kinds:
        raise f.error_at(
            node, "uses arithmetic on datetimes", "compare `context.timestamp.timestamp()` with a number of seconds"
        )
    if isinstance(op, ast.Mod) and "num" not in kinds:
        if kinds[0] == "str":
            raise f.error_at(node, "formats text with `%`", "write an f-string")
        raise f.error_at(node, "applies `%` to a value that may be a string", "write `int(...) % n`")
    if isinstance(op, ast.Mod) and kinds[0] in ("str", "bytes"):
        raise f.error_at(node, "formats text with `%`", "write an f-string")
    return ir.Binary(BINARY[type(op)], left[1], f.value(right))
