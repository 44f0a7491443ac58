"""Syntactic analysis of the global names of a module that change after their first binding.

A rule may only use constant globals. A name that is bound twice, that a function rebinds, or whose value is mutated
somewhere in the module counts as changing.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator

from bobcat.frontend.python.analysis.assignments import (
    FUNCTIONS,
    SCOPES,
    body_of,
    names_bound_by,
    own_nodes,
    parameters,
)
from bobcat.frontend.python.analysis.source import FunctionNode

CHANGING = frozenset({
    "add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault",
    "sort", "update", "difference_update", "intersection_update", "symmetric_difference_update",
})  # fmt: skip
"""Methods that change a list, a set or a dict in place."""

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@functools.lru_cache(maxsize=64)
def changing_names(tree: ast.Module) -> dict[str, int]:
    """Return the names of a module that change, each with a line of evidence."""
    found: dict[str, int] = {}
    bound: dict[str, ast.AST] = {}
    for name, node, alternative in _bindings(tree.body, ()):
        first = bound.setdefault(name, node)
        if first is not node and not alternative:
            found.setdefault(name, getattr(node, "lineno", 0))
    for name, line, _ in _changed_in(tree, frozenset(), frozenset(), of_module=True):
        found.setdefault(name, line)
    return found


def change_of_cell(tree: ast.Module, function: FunctionNode, name: str) -> int | None:
    """Return a line that changes a closure's variable after the enclosing function has returned; None without one.

    The enclosing function may rebind the variable: the rule takes its final value. Functions defined beside the
    rule may run later.
    """
    owner = next((item for item in _around(tree).get(function, ()) if name in local_names(item)), None)
    if owner is None:
        return None
    nested = [item for item in ast.walk(owner) if isinstance(item, FUNCTIONS) and item is not owner]
    inside = {id(item) for function in nested for item in ast.walk(function)}
    for node in body_of(owner):
        for changed, line, where in _changed_in(node, frozenset(), frozenset(), of_module=False):
            if changed == name and id(where) in inside:
                return line
    return None


@functools.lru_cache(maxsize=64)
def _around(tree: ast.Module) -> dict[ast.AST, tuple[FunctionNode, ...]]:
    """Return the enclosing functions of each function of a module, innermost first."""
    found: dict[ast.AST, tuple[FunctionNode, ...]] = {}
    waiting: list[tuple[ast.AST, tuple[FunctionNode, ...]]] = [(tree, ())]
    while waiting:
        node, around = waiting.pop()
        inner = around
        if isinstance(node, FUNCTIONS):
            found[node] = around
            inner = (node, *around)
        waiting.extend((child, inner) for child in ast.iter_child_nodes(node))
    return found


def _changed_in(
    node: ast.AST, own: frozenset[str], outer: frozenset[str], *, of_module: bool
) -> Iterator[tuple[str, int, ast.AST]]:
    """Yield the changes that a tree makes to names of the module or of the function whose body it is.

    `own` are the names shadowed here, `outer` the names shadowed in functions defined here: a
    function does not see the names of a class around it.
    """
    line = getattr(node, "lineno", 0)
    yield from ((name, line, node) for name in _changed_by(node, of_module=of_module) if name not in own)
    children: Iterable[ast.AST] = ast.iter_child_nodes(node)
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            body = body_of(node)
            children = [child for child in children if child not in body]  # belongs to the enclosing scope
            declared = _declared(node, ast.Global)
            inner = outer | local_names(node)
            inner = inner - declared if of_module else inner | declared
            for child in body:
                yield from _changed_in(child, inner, inner, of_module=of_module)
        case ast.ClassDef():
            children = [child for child in children if child not in node.body]
            inner = (outer | _bound_in(node.body)) - _declared(node, ast.Global)
            for child in node.body:
                yield from _changed_in(child, inner, outer, of_module=of_module)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            targets = frozenset(
                item.id for loop in node.generators for item in ast.walk(loop.target) if isinstance(item, ast.Name)
            )
            own, outer = own | targets, outer | targets
        case _:
            pass
    for child in children:
        yield from _changed_in(child, own, outer, of_module=of_module)


def local_names(node: FunctionNode) -> frozenset[str]:
    """The parameters of a function and the names that its own body binds, comprehensions aside."""
    names = {arg.arg for arg in parameters(node)} | _bound_in(body_of(node))
    return frozenset(names - _declared(node, ast.Global) - _declared(node, ast.Nonlocal))


def _declared(node: FunctionNode | ast.ClassDef, kind: type[ast.Global | ast.Nonlocal]) -> frozenset[str]:
    """Return the names that a function or class itself declares, excluding nested scopes."""
    return frozenset(name for item in own_nodes(node) if isinstance(item, kind) for name in item.names)


def _bound_in(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Return the names that some nodes bind in their own scope."""
    return frozenset(name for node in nodes for item in _in_scope(node) for name in names_bound_by(item))


def _in_scope(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and those below it in the same scope; of a comprehension only the targets of `:=`."""
    if isinstance(node, _COMPREHENSIONS):
        yield from (inner.target for inner in ast.walk(node) if isinstance(inner, ast.NamedExpr))
        return
    yield node
    if not isinstance(node, SCOPES):
        for child in ast.iter_child_nodes(node):
            yield from _in_scope(child)


def _stores(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the names that a statement binds in its own scope, imports aside, with their nodes."""
    for item in _in_scope(node):
        if isinstance(item, ast.Name | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from ((name, item) for name in names_bound_by(item))


def _bindings(body: list[ast.stmt], branch: tuple[int, ...]) -> Iterator[tuple[str, ast.AST, bool]]:
    """Yield every binding at module level: the name, its node, and true if it is in a branch of an `if` or a `try`."""
    for node in body:
        match node:
            case ast.If(body=then, orelse=otherwise):
                yield from _bindings(then, branch)
                yield from ((name, where, True) for name, where, _ in _bindings(otherwise, branch))
            case ast.Try(body=then, handlers=handlers, orelse=otherwise, finalbody=final):
                yield from _bindings(then, branch)
                for handler in handlers:
                    yield from ((name, where, True) for name, where, _ in _bindings(handler.body, branch))
                yield from _bindings([*otherwise, *final], branch)
            case ast.For() | ast.While():
                # A loop binds repeatedly.
                for name, inner in _stores(node):
                    yield name, node, False
                    yield name, inner, False
            case ast.With(body=then):
                yield from _bindings(then, branch)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node, False
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (((item.asname or item.name).partition(".")[0], node, True) for item in names)
            case _:
                yield from ((name, inner, False) for name, inner in _stores(node))


def _changed_by(node: ast.AST, *, of_module: bool) -> Iterator[str]:
    match node:
        case ast.Global(names=names) if of_module:
            yield from names
        case ast.Nonlocal(names=names) if not of_module:
            yield from names
        case ast.AugAssign(target=ast.Name(id=name)):
            yield name
        case (
            ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del())
            | ast.Attribute(value=ast.Name(id=name), ctx=ast.Store() | ast.Del())
        ):
            yield name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in CHANGING:
            yield name
        case ast.Delete(targets=targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case _:
            pass
