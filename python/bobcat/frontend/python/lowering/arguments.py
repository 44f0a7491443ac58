"""Call arguments in parameter order: keywords, `*` and `**` resolved."""

from __future__ import annotations

import ast
from typing import Any

from bobcat.frontend.python.analysis.enum_values import is_scalar
from bobcat.frontend.python.analysis.scope import Scope

_KEYWORDS: dict[str, tuple[str, ...]] = {
    "split": ("sep", "maxsplit"), "rsplit": ("sep", "maxsplit"), "splitlines": ("keepends",),
    "int": ("", "base"), "round": ("number", "ndigits"), "sum": ("", "start"), "enumerate": ("iterable", "start"),
}  # fmt: skip
"""Parameter names of builtins; "" for a positional-only parameter."""
_OMITTED: dict[str, tuple[Any, ...]] = {"split": (None, -1), "rsplit": (None, -1)}


def positional(node: ast.Call, name: str, f: Scope) -> list[ast.expr]:
    """Return the positional arguments, with keyword arguments at their positions."""
    arguments = list(node.args)
    names = _KEYWORDS.get(name, ())
    for keyword in node.keywords:
        if keyword.arg not in names:
            raise f.error_at(keyword.value, f"passes `{name}` an argument by name", "pass it by position")
        place = names.index(keyword.arg)
        while len(arguments) < place and name in _OMITTED:
            arguments.append(ast.copy_location(ast.Constant(_OMITTED[name][len(arguments)]), keyword.value))
        if place != len(arguments):
            raise f.error_at(keyword.value, f"passes `{name}` an argument by name", "pass it by position")
        arguments.append(keyword.value)
    return arguments


def written_out(node: ast.Call, f: Scope) -> ast.Call:
    """Return a call with `*` and `**` expanded. Raises if their contents are unknown."""
    if not any(isinstance(item, ast.Starred) for item in node.args) and all(item.arg for item in node.keywords):
        return node
    args: list[ast.expr] = []
    for item in node.args:
        args.extend(_several(item.value, f) if isinstance(item, ast.Starred) else [item])
    keywords: list[ast.keyword] = []
    for keyword in node.keywords:
        keywords.extend(_named(keyword.value, f) if keyword.arg is None else [keyword])
    return ast.copy_location(ast.Call(node.func, args, keywords), node)


def _several(node: ast.expr, f: Scope) -> list[ast.expr]:
    if isinstance(node, ast.Tuple | ast.List) and not any(isinstance(item, ast.Starred) for item in node.elts):
        return node.elts
    table: Any = f.static(node) if isinstance(node, ast.Name | ast.Attribute) else None  # Any: every object
    if type(table) in (tuple, list) and all(is_scalar(item) for item in table):
        f.constant_name(node, table)
        return [ast.copy_location(ast.Constant(item), node) for item in table]
    raise f.error_at(node, "calls with `*`", "write the arguments out")


def _named(node: ast.expr, f: Scope) -> list[ast.keyword]:
    if isinstance(node, ast.Dict) and all(
        isinstance(key, ast.Constant) and type(key.value) is str for key in node.keys
    ):
        pairs = [(getattr(key, "value", ""), value) for key, value in zip(node.keys, node.values, strict=True)]
        return [ast.copy_location(ast.keyword(name, value), value) for name, value in pairs]
    table = f.static(node) if isinstance(node, ast.Name | ast.Attribute) else None
    if type(table) is dict and all(type(key) is str and is_scalar(value) for key, value in table.items()):
        f.constant_name(node, table)
        constants = [(name, ast.copy_location(ast.Constant(value), node)) for name, value in table.items()]
        return [ast.copy_location(ast.keyword(name, value), node) for name, value in constants]
    raise f.error_at(node, "calls with `**`", "write the arguments out")
