"""Which global names of a module change after they were first bound: read from its text, by syntax alone.

A rule may only take what stays: a name that is bound twice, that a function rebinds, or whose value is changed in
place somewhere in the module, is a global that changes.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

CHANGING = frozenset({
    "add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault",
    "sort", "update", "difference_update", "intersection_update", "symmetric_difference_update",
})  # fmt: skip
"""Methods that change a list, a set or a dict in place."""


@functools.lru_cache(maxsize=64)
def changing_names(tree: ast.Module) -> dict[str, int]:
    """The names of a module that change, each with a line that shows it."""
    found: dict[str, int] = {}
    bound: dict[str, ast.AST] = {}
    for name, node, alternative in _bindings(tree.body, ()):
        first = bound.setdefault(name, node)
        if first is not node and not alternative:
            found.setdefault(name, getattr(node, "lineno", 0))
    for name, line in _changes(tree, frozenset()):
        found.setdefault(name, line)
    return found


def _changes(node: ast.AST, own: frozenset[str]) -> Iterator[tuple[str, int]]:
    """What a tree changes of the names that are not its own functions' locals."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        own = (own | local_names(node)) - _declared(node)
    line = getattr(node, "lineno", 0)
    yield from ((name, line) for name in _changed_by(node) if name not in own)
    for child in ast.iter_child_nodes(node):
        yield from _changes(child, own)


def local_names(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> frozenset[str]:
    """The parameters of a function and the names that its own body binds, comprehensions aside."""
    args = node.args
    names = {arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg) if arg}
    body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else [*node.body]
    while body:
        item = body.pop()
        match item:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
                continue
            case ast.Lambda():
                continue
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                # Its targets are its own; what `:=` binds in it is the function's.
                names |= {
                    inner.target.id
                    for inner in ast.walk(item)
                    if isinstance(inner, ast.NamedExpr) and isinstance(inner.target, ast.Name)
                }
                continue
            case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
                names.add(name)
            case ast.MatchStar(name=str() as name) | ast.MatchMapping(rest=str() as name):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {(alias.asname or alias.name).partition(".")[0] for alias in aliases}
            case _:
                pass
        body.extend(ast.iter_child_nodes(item))
    return frozenset(names - _declared(node))


def _declared(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> frozenset[str]:
    return frozenset(
        name for item in ast.walk(node) if isinstance(item, ast.Global | ast.Nonlocal) for name in item.names
    )


def _bindings(body: list[ast.stmt], branch: tuple[int, ...]) -> Iterator[tuple[str, ast.AST, bool]]:
    """Every binding at module level: the name, where, and whether it is one of the branches of an `if` or a `try`."""
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
                # A loop binds again and again.
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                        yield inner.id, node, False
                        yield inner.id, inner, False
            case ast.With(body=then):
                yield from _bindings(then, branch)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node, False
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (((item.asname or item.name).partition(".")[0], node, True) for item in names)
            case _:
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                        yield inner.id, inner, False


def _changed_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Global(names=names) | ast.Nonlocal(names=names):
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
