"""`sorted`, `min` and `max` with a `key`: a lambda, a function that can be lowered, or a builtin one."""

from __future__ import annotations

import ast

from bobcat.frontend.python.analysis import stdlib
from bobcat.frontend.python.analysis.bindings import SlotBinding
from bobcat.frontend.python.analysis.scope import Scope
from bobcat.frontend.python.lowering import comprehensions, inlining
from bobcat.frontend.python.lowering.operators import after
from bobcat.ir import code as ir


def lower(node: ast.Call, name: str, f: Scope) -> ir.Code:
    """Lower a call of `name` with a key."""
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    key = given.pop("key")
    if len(given) != len(node.keywords) - 1 or not node.args:
        raise f.error_at(node, f"calls `{name}` with arguments that cannot be compiled", "pass values and `key`")
    over = node.args[0] if len(node.args) == 1 else ast.copy_location(ast.Tuple([*node.args], ast.Load()), node)
    if comprehensions.generator(over, f) is not None:
        raise f.error_at(over, f"passes a generator to `{name}` with a key", "pass it a list: `[...]`")
    if name == "sorted":
        reverse = given.pop("reverse", ast.Constant(False))
        if given or len(node.args) > 1 or not isinstance(reverse, ast.Constant) or type(reverse.value) is not bool:
            raise f.error_at(
                node, "calls `sorted` with arguments that cannot be compiled", "write `reverse=True`, or remove it"
            )
        return _sorted(over, key, reverse.value, f)
    functions = {"min": (stdlib.least, stdlib.least_or), "max": (stdlib.greatest, stdlib.greatest_or)}
    plain, with_default = functions[name]
    if not given:
        call = ast.copy_location(ast.Call(node.func, [over, key], []), node)
        return inlining.function(call, plain, f)
    if list(given) != ["default"] or len(node.args) > 1 or not isinstance(given["default"], ast.Constant):
        raise f.error_at(
            node,
            f"calls `{name}` with arguments that cannot be compiled",
            "pass one list, `key`, and a constant `default`",
        )
    call = ast.copy_location(ast.Call(node.func, [over, key, given["default"]], []), node)
    return inlining.function(call, with_default, f)


def _sorted(over: ast.expr, key: ast.expr, reverse: bool, f: Scope) -> ir.Code:
    slot, items = f.temporary()
    first = ir.Bind(slot, ir.CallFunction("list", (f.iterable(over),)))
    if f.kind(over) == "set":
        raise f.error_at(
            over, "sorts a set by a key, so items with equal keys have no defined order", "sort it first: `sorted(...)`"
        )
    item, whole = (ast.copy_location(ast.Name(name, ast.Load()), key) for name in ("<item>", "<items>"))
    loop = ast.comprehension(ast.copy_location(ast.Name("<item>", ast.Store()), key), whole, [], 0)
    call = ast.copy_location(ast.Call(key, [item], []), key)
    f.scopes.append({"<items>": SlotBinding(slot)})
    try:
        keys = comprehensions.lower(ast.copy_location(ast.ListComp(call, [loop]), key), f)
    finally:
        f.scopes.pop()
    # Reversing before and after keeps equal items in their order.
    both = tuple(_reversed(part) if reverse else part for part in (items, keys))
    ordered: ir.Code = ir.CallFunction("sorted_by", both)
    return after([first], _reversed(ordered) if reverse else ordered)


def _reversed(code: ir.Code) -> ir.Code:
    return ir.CallFunction("list", (ir.CallFunction("reversed", (code,)),))
