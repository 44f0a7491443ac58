"""Binary operators, and code that several constructs are lowered to."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from bobcat.frontend.python.analysis.kinds import InferredKind
from bobcat.frontend.python.analysis.scope import Scope
from bobcat.ir import code as ir

BINARY: dict[type[ast.operator], ir.BinaryOperator] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip


def after(first: Iterable[ir.Code], code: ir.Code) -> ir.Code:
    """Return code that is evaluated after other code, whose values are dropped."""
    return ir.Item(ir.Display("tuple", (*first, code)), ir.Constant(-1))


def without_keys(of: ir.Code, keys: Iterable[ir.Code], f: Scope) -> ir.Code:
    """Return a dict without some keys."""
    (key_slot, key), (value_slot, value) = f.temporary(), f.temporary()
    target = ir.Unpack((ir.SlotTarget(key_slot), ir.SlotTarget(value_slot)))
    tests = tuple(ir.Compare(key, ("ne",), (excluded,)) for excluded in keys)
    return ir.Collect("dict", key, value, (ir.Loop(target, ir.Method(of, "items", ()), tests),))


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
