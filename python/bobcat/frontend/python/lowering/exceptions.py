"""Statements about exceptions: `raise`, `assert`, `try`."""

from __future__ import annotations

import ast
import builtins

from bobcat.frontend.python.analysis.control_flow import always_exits, assigned_on_both
from bobcat.frontend.python.analysis.scope import Scope
from bobcat.ir import code as ir

_EXCEPTIONS = frozenset({
    "ArithmeticError", "AssertionError", "AttributeError", "BufferError", "EOFError", "Exception", "IndexError",
    "KeyError", "LookupError", "NameError", "NotImplementedError", "OSError", "OverflowError", "PermissionError",
    "RecursionError", "RuntimeError", "TimeoutError", "TypeError", "UnboundLocalError", "ValueError",
    "ZeroDivisionError",
})  # fmt: skip


def asserted(test: ast.expr, message: ast.expr | None, f: Scope) -> tuple[ir.Statement, ...]:
    """`assert test, message`."""
    condition = f.raw(test)
    evaluated_message = () if message is None else (ir.Evaluate(f.value(message)),)
    return (ir.If(condition, (), (*evaluated_message, ir.Raise("AssertionError"))),)


def raised(node: ast.Raise, f: Scope) -> tuple[ir.Statement, ...]:
    """`raise`."""
    if node.exc is None:
        raise f.error_at(node, "raises again", "write the exception: `raise ValueError`")
    if node.cause is not None and not isinstance(node.cause, ast.Constant):
        raise f.error_at(node.cause, "gives an exception a cause", "leave the cause out")
    args: list[ast.expr] = []
    kind = node.exc
    if isinstance(node.exc, ast.Call):
        if node.exc.keywords or any(isinstance(item, ast.Starred) for item in node.exc.args):
            raise f.error_at(node.exc, "passes keyword arguments to an exception", "pass one string")
        kind, args = node.exc.func, node.exc.args
    name = _exception(kind, f)
    if name in ("OSError", "PermissionError", "TimeoutError") and len(args) > 1:
        raise f.error_at(node, "passes several arguments to an exception", "pass one string")
    return (*(ir.Evaluate(f.value(item)) for item in args), ir.Raise(name))


def _exception(node: ast.expr, f: Scope) -> str:
    value = f.static(node)
    if isinstance(value, type) and value.__name__ in _EXCEPTIONS and getattr(builtins, value.__name__) is value:
        return value.__name__
    raise f.error_at(
        node,
        "raises or handles an exception that is not a builtin one",
        "use `ValueError` or another builtin exception",
    )


def attempt(node: ast.Try, f: Scope) -> tuple[ir.Statement, ...]:
    """Lower `try`, its handlers, and its `else`."""
    if node.finalbody:
        raise f.error_at(node.finalbody[0], "uses `finally`", "move its body after the `try`")
    before = set(f.assigned)
    body = f.body(node.body)
    otherwise = f.body(node.orelse)
    ends = [None if always_exits(node.orelse or node.body) else f.assigned]
    handlers = []
    for handler in node.handlers:
        f.assigned = set(before)
        handlers.append(_handler(handler, f))
        ends.append(None if always_exits(handler.body) else f.assigned)
    after: set[str] | None = None
    for end in ends:
        after = assigned_on_both(after, end, before) if after is not None or end is not None else None
    f.assigned = before if after is None else after
    return (ir.Try(body, tuple(handlers), otherwise),)


def _handler(handler: ast.ExceptHandler, f: Scope) -> ir.Handler:
    if handler.name is not None and any(
        isinstance(item, ast.Name) and item.id == handler.name for item in ast.walk(f.source.node)
    ):
        raise f.error_at(handler, f"reads the exception `{handler.name}`", "handle it by its type")
    match handler.type:
        case None:
            names: tuple[str, ...] = ("Exception",)
        case ast.Tuple(elts=items):
            names = tuple(_exception(item, f) for item in items)
        case _:
            names = (_exception(handler.type, f),)
    return ir.Handler(names, f.body(handler.body))
