"""Functions of `bobcat.facets`: parts of facets, `url(request.args["link"]).host`, and `links`, `json`, `occurs_in`."""

from __future__ import annotations

import ast
import types

from bobcat import facets
from bobcat.frontend.python.analysis.scope import Scope
from bobcat.ir import code as ir

FUNCTIONS: dict[types.FunctionType, str] = {getattr(facets, name): name for name in facets.NAMES}
"""The functions of `bobcat.facets`, with the facets that they parse by."""


_WHOLE = {facets.links: "links", facets.json: "json"}
"""The functions that return a value without parts."""
CALLED = frozenset((*FUNCTIONS, *_WHOLE, facets.occurs_in))
"""The functions of `bobcat.facets`."""


def called(node: ast.Call, target: types.FunctionType, f: Scope) -> ir.Code:
    """Lower a call whose result is a value: `links(...)`, `json(...)`, `occurs_in(...)`."""
    if target is facets.occurs_in:
        return _occurs_in(node, f)
    facet = _WHOLE.get(target)
    if facet is None:
        name = FUNCTIONS[target]
        known = ", ".join(sorted(facets.NAMES[name]))
        raise f.error_at(node, f"keeps the parts of `{name}`", f"read one at once, `{name}(...).part`: {known}")
    if len(node.args) != 1 or node.keywords:
        raise f.error_at(node, f"calls `{facet}` without one text", f'write `{facet}(request.args["body"])`')
    return ir.CallFunction("facet_part", (ir.Constant(facet), ir.Constant(""), f.value(node.args[0])))


def _occurs_in(node: ast.Call, f: Scope) -> ir.Code:
    lower = False
    for keyword in node.keywords:
        if keyword.arg != "lower" or not isinstance(keyword.value, ast.Constant):
            raise f.error_at(keyword.value, "calls `occurs_in` in another way", "write `lower=True`, or leave it out")
        lower = bool(keyword.value.value)
    if len(node.args) < 2 or any(isinstance(item, ast.Starred) for item in node.args):
        instead = 'write `occurs_in(request.args["to"], context.task)`'
        raise f.error_at(node, "calls `occurs_in` without a value and a text", instead)
    return ir.CallFunction("occurs_in", (ir.Constant(lower), *map(f.value, node.args)))


def part(node: ast.Attribute, f: Scope) -> ir.Code | None:
    """Lower a part of the result of such a function; None for any other attribute."""
    match node.value:
        case ast.Call(func=ast.Name() | ast.Attribute() as func, args=[text], keywords=[]):
            target = f.static(func)
        case _:
            return None
    try:
        facet = FUNCTIONS.get(target)
    except TypeError:
        return None
    if facet is None:
        return None
    if node.attr not in facets.NAMES[facet]:
        known = ", ".join(sorted(facets.NAMES[facet]))
        raise f.error_at(node, f"reads the part `{node.attr}`, which `{facet}` does not have", f"the parts are {known}")
    names = (ir.Constant(facet), ir.Constant(node.attr))
    return ir.CallFunction("facet_part", (*names, f.value(text)))
