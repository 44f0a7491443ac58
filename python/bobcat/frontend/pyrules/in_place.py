"""Statements that change a list, a set or a dict in place: new values of locals that nothing else holds."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from bobcat.frontend.pyrules import comprehensions
from bobcat.frontend.pyrules.bindings import Slot
from bobcat.frontend.pyrules.changes import CHANGING
from bobcat.frontend.pyrules.expressions import BINARY, binary
from bobcat.frontend.pyrules.mutation import Container
from bobcat.ir import code as ir

if TYPE_CHECKING:
    from bobcat.frontend.pyrules.function import Function

_INSTEAD = "change only what this function makes (`[]`, `{}`, `list(...)`, `{**x}`) and hands to nothing else"
_METHODS: dict[Container, frozenset[str]] = {
    "list": frozenset({"append", "clear", "extend", "pop", "reverse", "sort"}),
    "set": frozenset({"add", "discard", "update"}),
    "dict": frozenset({"clear", "pop", "setdefault", "update"}),
}


def owned(node: ast.AST, name: ast.Name, f: Function) -> tuple[int, Container]:
    """The slot and the kind of a container that may be changed in place; refused when it may not."""
    fresh = f.fresh.get(name.id)
    binding = f.resolve(name)
    if name.id not in f.own or not isinstance(binding, Slot) or fresh is None:
        raise f.cannot(node, f"changes `{name.id}`, which it did not make", _INSTEAD)
    if fresh.container is None:
        problem = fresh.problem if hasattr(fresh.problem, "lineno") else node
        raise f.cannot(
            node, f"changes `{name.id}`, which something else may hold (line {getattr(problem, 'lineno', 0)})", _INSTEAD
        )
    return binding.slot, fresh.container


def method(node: ast.Expr, f: Function) -> tuple[ir.Statement, ...] | None:
    """`x.append(y)` and its kin; None for any other expression."""
    match node.value:
        case ast.Call(func=ast.Attribute(value=ast.Name() as name, attr=attribute)) if attribute in CHANGING:
            call = node.value
        case _:
            return None
    if name.id not in f.own:
        return None
    slot, container = owned(node, name, f)
    if attribute not in _METHODS[container] or any(isinstance(item, ast.Starred) for item in call.args):
        raise f.cannot(node, f"calls `{attribute}` of a {container}", "make a new one by a comprehension")
    local = f.value(name)
    match attribute, call.args, call.keywords:
        case ("append", [item], []) | ("add", [item], []):
            return (ir.Append(slot, f.value(item)),)
        case ("extend", [items], []):
            return _extended(slot, items, f)
        case ("update", [items], []) if container == "set":
            over = f.iterable(items)
            return (ir.Assign(ir.Slot(slot), ir.Binary("or", local, ir.Call("set", (over,)))),)
        case ("update", args, keywords) if (
            container == "dict" and all(isinstance(item, ast.Dict) for item in args) and len(args) < 2
        ):
            entries: list[tuple[ir.Code | None, ir.Code]] = [(None, local), *((None, f.value(item)) for item in args)]
            entries.extend((ir.Constant(item.arg), f.value(item.value)) for item in keywords if item.arg is not None)
            return (ir.Assign(ir.Slot(slot), ir.Mapping(tuple(entries))),)
        case ("pop", [], []) if container == "list":
            last = ir.Slice(local, None, ir.Constant(-1), None)
            return (ir.If(local, (), (ir.Raise("IndexError"),)), ir.Assign(ir.Slot(slot), last))
        case ("pop", [ast.Constant(value=str() as key), ast.Constant()], []) if container == "dict":
            return (without(slot, key, f),)
        case ("pop", [ast.Constant(value=str() as key)], []) if container == "dict":
            return _deleted(slot, key, f)
        case ("clear", [], []):
            empty: ir.Code = ir.Mapping(()) if container == "dict" else ir.Display("list", ())
            return (ir.Assign(ir.Slot(slot), empty),)
        case ("reverse", [], []):
            return (ir.Assign(ir.Slot(slot), ir.Call("list", (ir.Call("reversed", (local,)),))),)
        case ("sort", [], keywords) if not _is_caught(node, f):
            # A list that was half sorted before something was raised would be seen by who catches that.
            call = ast.Call(ast.Name("sorted", ast.Load()), [ast.Name(name.id, ast.Load())], keywords)
            for part in (call, call.func, *call.args):
                ast.copy_location(part, node)
            return (ir.Assign(ir.Slot(slot), f.value(call)),)
        case ("setdefault", [key, value], []):
            (key_slot, key_local), (value_slot, value_local) = f.temporary(), f.temporary()
            return (
                ir.Assign(ir.Slot(key_slot), f.value(key)),
                ir.Assign(ir.Slot(value_slot), f.value(value)),
                ir.If(ir.Compare(key_local, ("in",), (local,)), (), (ir.Store(slot, key_local, value_local),)),
            )
        case ("discard", [item], []):
            return (ir.Assign(ir.Slot(slot), ir.Binary("sub", local, ir.Display("set", (f.value(item),)))),)
        case _:
            raise f.cannot(
                node, f"calls `{attribute}` in a way that has no lowered form", "make a new one by a comprehension"
            )


def _is_caught(node: ast.stmt, f: Function) -> bool:
    """Whether what a statement raises is caught in this function."""
    return any(
        node is inner
        for item in ast.walk(f.source.node)
        if isinstance(item, ast.Try)
        for part in item.body
        for inner in ast.walk(part)
    )


def _extended(slot: int, items: ast.expr, f: Function) -> tuple[ir.Statement, ...]:
    made = comprehensions.generator(items, f)
    if made is not None:
        raise f.cannot(items, "extends a list by a generator", "extend it by a list: `[...]`")
    if any(isinstance(item, ast.Name) and _is_slot(item, slot, f) for item in ast.walk(items)):
        raise f.cannot(items, "extends a list by itself", "use another name")
    item_slot, item_local = f.temporary()
    return (ir.For(ir.Slot(item_slot), f.ordered(items), (ir.Append(slot, item_local),), ()),)


def _is_slot(name: ast.Name, slot: int, f: Function) -> bool:
    return name.id in f.own and f.local(name.id) == Slot(slot)


def augmented(node: ast.AugAssign, name: ast.Name, f: Function) -> tuple[ir.Statement, ...] | None:
    """`x += [..]` of a list that the function makes; None for anything else."""
    fresh = f.fresh.get(name.id)
    read = ast.copy_location(ast.Name(name.id, ast.Load()), name)
    if fresh is None or fresh.container is None:
        return None
    slot, container = owned(node, read, f)
    if container == "list" and isinstance(node.op, ast.Add):
        return _extended(slot, node.value, f)
    if container == "set" and f.kind(node.value) == "set":
        return (ir.Assign(ir.Slot(slot), binary(node, node.op, (read, f.value(read)), node.value, f)),)
    raise f.cannot(node, f"changes a {container} in place by an operator", "write `x = x ...` with a new value")


def store(target: ast.Subscript, value: ast.expr, f: Function) -> tuple[ir.Statement, ...]:
    """`x[key] = value`."""
    name = target.value
    if not isinstance(name, ast.Name):
        raise f.cannot(target, "changes something that it did not make", "make a new dict: `{**x, key: value}`")
    slot, container = owned(target, name, f)
    if container == "set" or isinstance(target.slice, ast.Slice):
        raise f.cannot(target, f"assigns to a part of a {container}", "make a new one")
    lowered = f.value(value)
    f.value(ast.copy_location(ast.Name(name.id, ast.Load()), name))
    return (ir.Store(slot, f.value(target.slice), lowered),)


def augmented_item(node: ast.AugAssign, target: ast.Subscript, f: Function) -> tuple[ir.Statement, ...]:
    """`x[key] += number`."""
    name = target.value
    if not isinstance(name, ast.Name):
        raise f.cannot(target, "changes something that it did not make", "make a new dict: `{**x, key: value}`")
    slot, container = owned(target, name, f)
    if container == "set" or isinstance(target.slice, ast.Slice):
        raise f.cannot(target, f"assigns to a part of a {container}", "make a new one")
    if f.kind(node.value) != "num" or isinstance(node.op, ast.Mod | ast.Mult):
        raise f.cannot(
            node, "changes an item in place, which may be a list that others hold", "write `x[key] = x[key] + ...`"
        )
    key_slot, key = f.temporary()
    held = f.value(ast.copy_location(ast.Name(name.id, ast.Load()), name))
    first = ir.Assign(ir.Slot(key_slot), f.value(target.slice))
    value = ir.Binary(BINARY[type(node.op)], ir.Item(held, key), f.value(node.value))
    return (first, ir.Store(slot, key, value))


def delete(node: ast.Delete, f: Function) -> tuple[ir.Statement, ...]:
    """`del x["key"]` of a dict that the function makes."""
    found: list[ir.Statement] = []
    for target in node.targets:
        match target:
            case ast.Subscript(value=ast.Name() as name, slice=ast.Constant(value=str() as key)):
                slot, container = owned(node, name, f)
                if container != "dict":
                    raise f.cannot(node, f"deletes a part of a {container}", "make a new one")
                f.value(ast.copy_location(ast.Name(name.id, ast.Load()), name))
                found.extend(_deleted(slot, key, f))
            case _:
                raise f.cannot(node, "deletes something", "make a new dict without the key: `{k: v for ... if ...}`")
    return tuple(found)


def _deleted(slot: int, key: str, f: Function) -> tuple[ir.Statement, ...]:
    missing = ir.Compare(ir.Constant(key), ("not_in",), (ir.Local(slot),))
    return (ir.If(missing, (ir.Raise("KeyError"),), ()), without(slot, key, f))


def without(slot: int, key: str, f: Function) -> ir.Statement:
    """A dict without a key that is a string."""
    (key_slot, name), (value_slot, value) = f.temporary(), f.temporary()
    target = ir.Unpack((ir.Slot(key_slot), ir.Slot(value_slot)))
    over = ir.Method(ir.Local(slot), "items", ())
    loop = ir.Loop(target, over, (ir.Compare(name, ("ne",), (ir.Constant(key),)),))
    return ir.Assign(ir.Slot(slot), ir.Collect("dict", name, value, (loop,)))
