"""Statements about exceptions: `raise`, `assert`, `try`."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from bobcat.frontend.pyrules.ways import leaves, met
from bobcat.ir import code as ir

if TYPE_CHECKING:
    from bobcat.frontend.pyrules.function import Function

_EXCEPTIONS = frozenset({
    "ArithmeticError", "AssertionError", "AttributeError", "BufferError", "EOFError", "Exception", "IndexError",
    "KeyError", "LookupError", "NameError", "NotImplementedError", "OSError", "OverflowError", "PermissionError",
    "RecursionError", "RuntimeError", "TimeoutError", "TypeError", "UnboundLocalError", "ValueError",
    "ZeroDivisionError",
})  # fmt: skip


def asserted(test: ast.expr, message: ast.expr | None, f: Function) -> tuple[ir.Statement, ...]:
    """`assert test, message`."""
    condition = f.raw(test)
    said = () if message is None else (ir.Evaluate(f.value(message)),)
    return (ir.If(condition, (), (*said, ir.Raise("AssertionError"))),)


def raised(node: ast.Raise, f: Function) -> tuple[ir.Statement, ...]:
    """`raise`."""
    if node.exc is None:
        raise f.cannot(node, "raises again", "name the exception: `raise ValueError`")
    if node.cause is not None and not isinstance(node.cause, ast.Constant):
        raise f.cannot(node.cause, "gives an exception a cause", "leave the cause out")
    args: list[ast.expr] = []
    kind = node.exc
    if isinstance(node.exc, ast.Call):
        if node.exc.keywords or any(isinstance(item, ast.Starred) for item in node.exc.args):
            raise f.cannot(node.exc, "gives an exception arguments by name", "give it a text")
        kind, args = node.exc.func, node.exc.args
    name = _exception(kind, f)
    if name in ("OSError", "PermissionError", "TimeoutError") and len(args) > 1:
        raise f.cannot(node, "gives an exception several arguments", "give it a text")
    return (*(ir.Evaluate(f.value(item)) for item in args), ir.Raise(name))


def _exception(node: ast.expr, f: Function) -> str:
    value = f.static(node)
    if isinstance(value, type) and value.__name__ in _EXCEPTIONS and getattr(builtins, value.__name__) is value:
        return value.__name__
    raise f.cannot(
        node, "names an exception that is none of the builtin ones", "use `ValueError` or another builtin exception"
    )


def attempt(node: ast.Try, f: Function) -> tuple[ir.Statement, ...]:
    """`try`, its handlers, and its `else`."""
    if node.finalbody:
        raise f.cannot(node.finalbody[0], "uses `finally`", "write what it does after the `try`")
    before = set(f.assigned)
    body = f.body(node.body)
    otherwise = f.body(node.orelse)
    ends = [None if leaves(node.orelse or node.body) else f.assigned]
    handlers = []
    for handler in node.handlers:
        f.assigned = set(before)
        handlers.append(_handler(handler, f))
        ends.append(None if leaves(handler.body) else f.assigned)
    after: set[str] | None = None
    for end in ends:
        after = met(after, end, before) if after is not None or end is not None else None
    f.assigned = before if after is None else after
    return (ir.Try(body, tuple(handlers), otherwise),)


def _handler(handler: ast.ExceptHandler, f: Function) -> ir.Handler:
    if handler.name is not None and any(
        isinstance(item, ast.Name) and item.id == handler.name for item in ast.walk(f.source.node)
    ):
        raise f.cannot(handler, f"looks at the exception `{handler.name}`", "handle it by its type")
    match handler.type:
        case None:
            names: tuple[str, ...] = ("Exception",)
        case ast.Tuple(elts=items):
            names = tuple(_exception(item, f) for item in items)
        case _:
            names = (_exception(handler.type, f),)
    return ir.Handler(names, f.body(handler.body))
