"""Escape analysis: find locals that may be mutated, since they hold a list, set or dict that the function created
and that has no other reference.

IR values are immutable. `items.append(x)` is lowered to a new value of the local, which is equivalent
exactly while no second reference could observe the difference.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from bobcat.frontend.python.analysis.assignments import parameters
from bobcat.frontend.python.analysis.changes import CHANGING
from bobcat.frontend.python.analysis.source import FunctionNode

Container = Literal["list", "set", "dict"]

DISPLAYED: dict[type[ast.expr], Container] = {
    ast.List: "list", ast.ListComp: "list", ast.Set: "set", ast.SetComp: "set", ast.Dict: "dict", ast.DictComp: "dict",
}  # fmt: skip
"""The containers that displays and comprehensions create."""
_CREATED_BY: dict[str, Container] = {"list": "list", "sorted": "list", "set": "set", "dict": "dict"}
_NON_CAPTURING = frozenset({
    "len", "any", "all", "sum", "min", "max", "sorted", "list", "tuple", "set", "frozenset", "dict", "str", "repr",
    "bool", "isinstance", "enumerate", "zip", "reversed",
})  # fmt: skip
"""Builtins that keep no reference to their arguments."""
RELIED_ON = frozenset(_CREATED_BY) | _NON_CAPTURING
"""Names that must refer to the builtins for this analysis to be valid."""


@dataclass(frozen=True, slots=True)
class LocalContainer:
    """A local that the function mutates: the kind of container, or the node that prevents the lowering."""

    container: Container | None
    problem: ast.AST | None = None


def local_containers(function: FunctionNode) -> dict[str, LocalContainer]:
    """Return every local that the function mutates."""
    if isinstance(function, ast.Lambda):
        return {}
    changed = {name for node in ast.walk(function) for name in _changed(node)}
    parents = {child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
    return {name: _local_container(name, function, parents) for name in changed}


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


def _local_container(
    name: str, function: ast.FunctionDef | ast.AsyncFunctionDef, parents: dict[ast.AST, ast.AST]
) -> LocalContainer:
    for arg in parameters(function):
        if arg.arg == name:
            return LocalContainer(None, arg)
    containers: set[Container] = set()
    for node in ast.walk(function):
        if not isinstance(node, ast.Name) or node.id != name:
            continue
        parent = parents[node]
        if isinstance(node.ctx, ast.Store):
            created = _created_container(parent, node)
            if created is None:
                return LocalContainer(None, node)
            if created != "same":
                containers.add(created)
        elif isinstance(node.ctx, ast.Load) and not _is_only_read(node, name, parents):
            return LocalContainer(None, node)
    return LocalContainer(containers.pop()) if len(containers) == 1 else LocalContainer(None, function)


def _created_container(parent: ast.AST, node: ast.Name) -> Container | Literal["same"] | None:
    """Return the container that an assignment to a name creates; None if it may not be a new one."""
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
        case ast.expr() if type(value) in DISPLAYED:
            return DISPLAYED[type(value)]
        case ast.Call(func=ast.Name(id=name)) if name in _CREATED_BY:
            return _CREATED_BY[name]
        case ast.Call(func=ast.Attribute(attr="copy"), args=[], keywords=[]):
            return "dict"
        case _:
            return None


def _is_only_read(node: ast.Name, name: str, parents: dict[ast.AST, ast.AST]) -> bool:
    """Return true if nothing keeps a name's value beyond the place of the read."""
    child: ast.AST = node
    parent = parents[node]
    match parent:
        case ast.Attribute(attr=method, ctx=ast.Load()):
            call = parents[parent]
            if not (isinstance(call, ast.Call) and call.func is parent):
                return False
            if method in ("keys", "values", "items"):
                return _is_iterated(call, name, parents)
            return True
        case ast.Subscript(value=value) if value is node:
            return True
        case ast.Compare() | ast.FormattedValue() | ast.Assert() | ast.Expr() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.BinOp():
            return True  # creates a new value from its operands' items
        case ast.If(test=test) | ast.IfExp(test=test) if test is node:
            return True
        case ast.Call(func=ast.Name(id=function), args=args) if node in args and function in _NON_CAPTURING:
            if function in ("enumerate", "zip", "reversed"):
                return _is_iterated(parent, name, parents)
            return True
        case ast.Call(func=ast.Attribute(attr="join"), args=[only]) if only is node:
            return True
        case ast.Dict(keys=keys, values=values) if node in values and keys[values.index(node)] is None:
            return True
        case ast.Starred():
            return isinstance(parents[parent], ast.List | ast.Tuple | ast.Set)
        case ast.For() | ast.comprehension():
            return _is_iterated(node, name, parents)
        case _:
            pass
    if _is_tested(node, parents):
        return True
    while not isinstance(child, ast.stmt):
        if isinstance(child, ast.Lambda):
            return False
        child = parents[child]
    return isinstance(child, ast.Return) and not _in_function(child, parents)


def _is_tested(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Return true if only the truth of a value is used."""
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
    """Return true if a statement belongs to a nested function."""
    owners = 0
    while node in parents:
        node = parents[node]
        owners += isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    return owners > 1


def _is_iterated(node: ast.AST, name: str, parents: dict[ast.AST, ast.AST]) -> bool:
    """Return true if an iteration over the value does not mutate it."""
    parent = parents[node]
    match parent:
        case ast.For(iter=iterable, body=body) if iterable is node:
            return not any(changed == name for item in body for inner in ast.walk(item) for changed in _writes(inner))
        case ast.comprehension(iter=iterable):
            return iterable is node
        case ast.Call(func=ast.Name(id=function), args=args) if node in args and function in _NON_CAPTURING:
            return function not in ("zip", "enumerate", "reversed") or _is_iterated(parent, name, parents)
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
