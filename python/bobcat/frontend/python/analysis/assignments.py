"""Assignments of names in the body of a function, read from its syntax tree."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from bobcat.frontend.python.analysis.source import FunctionNode

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
SCOPES = (*FUNCTIONS, ast.ClassDef)
Bound = tuple[str, ast.expr | ast.AugAssign | None, int | None]


def bound(function: FunctionNode) -> Iterator[Bound]:
    """Yield every binding of a name in a function's body: the name, the value, and its position in an unpacking."""
    for node in own_nodes(function):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _targets(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield from _targets(target, value)
            case ast.NamedExpr(target=target, value=value):
                yield from _targets(target, value)
            case ast.AugAssign(target=ast.Name(id=name)):
                yield name, node, None
            case ast.For(target=target):
                yield from ((item.id, None, None) for item in ast.walk(target) if isinstance(item, ast.Name))
            case ast.MatchAs(name=str() as name) | ast.MatchStar(name=str() as name):
                yield name, None, None
            case ast.MatchMapping(rest=str() as name):
                yield name, None, None
            case _:
                pass


def _targets(target: ast.expr, value: ast.expr) -> Iterator[Bound]:
    match target:
        case ast.Name(id=name):
            yield name, value, None
        case ast.Tuple(elts=items) | ast.List(elts=items):
            for index, item in enumerate(items):
                if isinstance(item, ast.Name):
                    yield item.id, value, index
                else:
                    yield from (
                        (inner.id, None, None)
                        for inner in ast.walk(item)
                        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
                    )
        case _:
            pass


def parameters(function: FunctionNode) -> list[ast.arg]:
    """Return all parameters of a function."""
    args = function.args
    return [arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg) if arg]


def body_of(scope: FunctionNode | ast.ClassDef) -> list[ast.AST]:
    """Return the nodes directly in the body of a function or a class."""
    return [scope.body] if isinstance(scope, ast.Lambda) else [*scope.body]


def own_nodes(scope: FunctionNode | ast.ClassDef) -> Iterator[ast.AST]:
    """Yield the nodes in the body of a function or a class, excluding nested ones."""
    todo = body_of(scope)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, SCOPES):
            todo.extend(ast.iter_child_nodes(node))


def names_bound_by(node: ast.AST) -> list[str]:
    """Return the names that a single node binds or deletes."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
            return [name]
        case ast.MatchStar(name=str() as name) | ast.MatchMapping(rest=str() as name):
            return [name]
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return [(alias.asname or alias.name).partition(".")[0] for alias in aliases]
        case _:
            return []


def bound_once(function: FunctionNode) -> frozenset[str]:
    """Return the names that a function's body binds exactly once, excluding its parameters."""
    places = Counter(name for node in own_nodes(function) for name in names_bound_by(node))
    given = {arg.arg for arg in parameters(function)}
    return frozenset(name for name, count in places.items() if count == 1 and name not in given)


def value_of(function: FunctionNode, name: str) -> ast.expr | None:
    """Return the value that the body of a function assigns to a name; None without such an assignment."""
    for node in own_nodes(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                return value
            case ast.AnnAssign(target=ast.Name(id=found), value=ast.expr() as value) if found == name:
                return value
            case _:
                pass
    return None
