"""`sorted`, `min` and `max` with a `key`: a lambda, a function that can be lowered, or a builtin one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from bobcat.frontend.pyrules import comprehensions, inlining, stdlib
from bobcat.frontend.pyrules.bindings import Slot
from bobcat.ir import code as ir

if TYPE_CHECKING:
    from bobcat.frontend.pyrules.function import Function


def lower(node: ast.Call, name: str, f: Function) -> ir.Code:
    """The code of a call of `name` with a key."""
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    key = given.pop("key")
    if len(given) != len(node.keywords) - 1 or not node.args:
        raise f.cannot(node, f"calls `{name}` in another way", "give it values, and `key`")
    over = node.args[0] if len(node.args) == 1 else ast.copy_location(ast.Tuple([*node.args], ast.Load()), node)
    if comprehensions.generator(over, f) is not None:
        raise f.cannot(over, f"hands a generator to `{name}` with a key", "hand it a list: `[...]`")
    if name == "sorted":
        reverse = given.pop("reverse", ast.Constant(False))
        if given or len(node.args) > 1 or not isinstance(reverse, ast.Constant) or type(reverse.value) is not bool:
            raise f.cannot(node, "calls `sorted` in another way", "write `reverse=True`, or leave it out")
        return _sorted(over, key, reverse.value, f)
    functions = {"min": (stdlib.least, stdlib.least_or), "max": (stdlib.greatest, stdlib.greatest_or)}
    plain, with_default = functions[name]
    if not given:
        call = ast.copy_location(ast.Call(node.func, [over, key], []), node)
        return inlining.function(call, plain, f)
    if list(given) != ["default"] or len(node.args) > 1 or not isinstance(given["default"], ast.Constant):
        raise f.cannot(node, f"calls `{name}` in another way", "give it one list, `key`, and a constant `default`")
    call = ast.copy_location(ast.Call(node.func, [over, key, given["default"]], []), node)
    return inlining.function(call, with_default, f)


def _sorted(over: ast.expr, key: ast.expr, reverse: bool, f: Function) -> ir.Code:
    slot, items = f.temporary()
    first = ir.Bind(slot, ir.Call("list", (f.iterable(over),)))
    if f.kind(over) == "set":
        raise f.cannot(over, "sorts a set by a key, which may leave its order as it is", "sort it first: `sorted(...)`")
    item, whole = (ast.copy_location(ast.Name(name, ast.Load()), key) for name in ("<item>", "<items>"))
    loop = ast.comprehension(ast.copy_location(ast.Name("<item>", ast.Store()), key), whole, [], 0)
    call = ast.copy_location(ast.Call(key, [item], []), key)
    f.scopes.append({"<items>": Slot(slot)})
    try:
        keys = comprehensions.lower(ast.copy_location(ast.ListComp(call, [loop]), key), f)
    finally:
        f.scopes.pop()
    # Backwards and back again, equals keep the order that they have.
    both = tuple(_reversed(part) if reverse else part for part in (items, keys))
    made: ir.Code = ir.Call("sorted_by", both)
    return ir.Item(ir.Display("tuple", (first, _reversed(made) if reverse else made)), ir.Constant(-1))


def _reversed(code: ir.Code) -> ir.Code:
    return ir.Call("list", (ir.Call("reversed", (code,)),))
