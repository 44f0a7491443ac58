"""Which locals may be changed in place: those that always hold a list, a set or a dict that the function has just made,
and that nothing else ever holds.

The values of the IR do not change. `items.append(x)` is lowered to a new value of the local, which means the same
exactly as long as no second name could see the difference.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from bobcat.frontend.pyrules.changes import CHANGING
from bobcat.frontend.pyrules.source import FunctionNode

Container = Literal["list", "set", "dict"]

_MADE_BY: dict[str, Container] = {"list": "list", "sorted": "list", "set": "set", "dict": "dict"}
_LOOKING = frozenset({
    "len", "any", "all", "sum", "min", "max", "sorted", "list", "tuple", "set", "frozenset", "dict", "str", "repr",
    "bool", "isinstance", "enumerate", "zip", "reversed",
})  # fmt: skip
"""Builtins that keep nothing of what they are given."""
RELIED_ON = frozenset(_MADE_BY) | _LOOKING
"""Names that must be those of the builtins for anything here to be true."""


@dataclass(frozen=True, slots=True)
class Fresh:
    """A local that the function changes in place: what it holds, or the node that makes that impossible."""

    container: Container | None
    problem: ast.AST | None = None


def fresh_names(function: FunctionNode) -> dict[str, Fresh]:
    """Every local that the function changes in place."""
    if isinstance(function, ast.Lambda):
        return {}
    changed = {name for node in ast.walk(function) for name in _changed(node)}
    parents = {child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
    return {name: _fresh(name, function, parents) for name in changed}


def _changed(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in CHANGING:
            yield name
        case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
            yield name
        case ast.AugAssign(target=ast.Name(id=name)):
            yield name
        case _:
            pass


def _fresh(name: str, function: ast.FunctionDef | ast.AsyncFunctionDef, parents: dict[ast.AST, ast.AST]) -> Fresh:
    args = function.args
    for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg):
        if arg is not None and arg.arg == name:
            return Fresh(None, arg)
    containers: set[Container] = set()
    for node in ast.walk(function):
        if not isinstance(node, ast.Name) or node.id != name:
            continue
        parent = parents[node]
        if isinstance(node.ctx, ast.Store):
            made = _made(parent, node)
            if made is None:
                return Fresh(None, node)
            if made != "same":
                containers.add(made)
        elif isinstance(node.ctx, ast.Load) and not _only_looked_at(node, name, parents):
            return Fresh(None, node)
    return Fresh(containers.pop()) if len(containers) == 1 else Fresh(None, function)


def _made(parent: ast.AST, node: ast.Name) -> Container | Literal["same"] | None:
    """The container that an assignment to a name makes; None when it is not certain to be a new one."""
    match parent:
        case ast.Assign(targets=[target], value=ast.Subscript(value=ast.Name(id=name), slice=ast.Slice())) if (
            target is node and name == node.id
        ):
            return "same"
        case ast.Assign(targets=[target], value=value) if target is node:
            return _container(value)
        case ast.AnnAssign(target=target, value=ast.expr() as value) if target is node:
            return _container(value)
        case ast.AugAssign(target=target) if target is node:
            return "same"
        case _:
            return None


def _container(value: ast.expr) -> Container | None:
    match value:
        case ast.List() | ast.ListComp():
            return "list"
        case ast.Set() | ast.SetComp():
            return "set"
        case ast.Dict() | ast.DictComp():
            return "dict"
        case ast.Call(func=ast.Name(id=name)) if name in _MADE_BY:
            return _MADE_BY[name]
        case ast.Call(func=ast.Attribute(attr="copy"), args=[], keywords=[]):
            return "dict"
        case _:
            return None


def _only_looked_at(node: ast.Name, name: str, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether nothing keeps what a name holds beyond the place where it is read."""
    child: ast.AST = node
    parent = parents[node]
    match parent:
        case ast.Attribute(attr=method, ctx=ast.Load()):
            call = parents[parent]
            if not (isinstance(call, ast.Call) and call.func is parent):
                return False
            if method in ("keys", "values", "items"):
                return _gone_over(call, name, parents)
            return True
        case ast.Subscript(value=value) if value is node:
            return True
        case ast.Compare() | ast.FormattedValue() | ast.Assert() | ast.Expr():
            return True
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.BinOp():
            return True  # makes a new value of its operands' items
        case ast.If(test=test) | ast.IfExp(test=test) if test is node:
            return True
        case ast.Call(func=ast.Name(id=function), args=args) if node in args and function in _LOOKING:
            if function in ("enumerate", "zip", "reversed"):
                return _gone_over(parent, name, parents)
            return True
        case ast.Call(func=ast.Attribute(attr="join"), args=[only]) if only is node:
            return True
        case ast.Dict(keys=keys, values=values) if node in values and keys[values.index(node)] is None:
            return True
        case ast.Starred():
            return isinstance(parents[parent], ast.List | ast.Tuple | ast.Set)
        case ast.For() | ast.comprehension():
            return _gone_over(node, name, parents)
        case _:
            pass
    if _is_asked(node, parents):
        return True
    while not isinstance(child, ast.stmt):
        if isinstance(child, ast.Lambda):
            return False
        child = parents[child]
    return isinstance(child, ast.Return) and not _in_function(child, parents)


def _is_asked(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether a value is only asked for its truth."""
    parent = parents[node]
    while isinstance(parent, ast.BoolOp):
        node, parent = parent, parents[parent]
    match parent:
        case ast.If(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
            return test is node
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.comprehension(ifs=tests):
            return node in tests
        case _:
            return False


def _in_function(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether a statement belongs to a function inside of the one that is looked at."""
    owners = 0
    while node in parents:
        node = parents[node]
        owners += isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    return owners > 1


def _gone_over(node: ast.AST, name: str, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether something goes over a value without changing it on the way."""
    parent = parents[node]
    match parent:
        case ast.For(iter=iterable, body=body) if iterable is node:
            return not any(changed == name for item in body for inner in ast.walk(item) for changed in _writes(inner))
        case ast.comprehension(iter=iterable):
            return iterable is node
        case ast.Call(func=ast.Name(id=function), args=args) if node in args and function in _LOOKING:
            return function not in ("zip", "enumerate", "reversed") or _gone_over(parent, name, parents)
        case ast.Compare():
            return True
        case _:
            return False


def _writes(node: ast.AST) -> Iterator[str]:
    yield from _changed(node)
    match node:
        case ast.Name(id=name, ctx=ast.Store()):
            yield name
        case _:
            pass
