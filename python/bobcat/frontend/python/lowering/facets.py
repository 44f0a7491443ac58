"""Parts of facets: `url(request.args["link"]).host`."""

from __future__ import annotations

import ast

from bobcat import facets
from bobcat.frontend.python.analysis.scope import Scope
from bobcat.ir import code as ir

FUNCTIONS = {getattr(facets, name): name for name in facets.NAMES}
"""The functions of `bobcat.facets`, with the facets that they parse by."""


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
