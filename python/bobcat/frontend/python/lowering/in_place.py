"""Mutations of lists, sets and dicts: lowered to new values of locals that hold the only reference."""

from __future__ import annotations

import ast

from bobcat.frontend.python.analysis.bindings import SlotBinding
from bobcat.frontend.python.analysis.changes import CHANGING
from bobcat.frontend.python.analysis.escape import Container
from bobcat.frontend.python.analysis.scope import Scope
from bobcat.frontend.python.lowering import comprehensions
from bobcat.frontend.python.lowering.operators import BINARY, binary, without_keys
from bobcat.ir import code as ir

_INSTEAD = "mutate only containers that this function creates (`[]`, `{}`, `list(...)`, `{**x}`) and does not share"
_METHODS: dict[Container, frozenset[str]] = {
    "list": frozenset({"append", "clear", "extend", "pop", "reverse", "sort"}),
    "set": frozenset({"add", "discard", "update"}),
    "dict": frozenset({"clear", "pop", "setdefault", "update"}),
}


def owned(node: ast.AST, name: ast.Name, f: Scope) -> tuple[int, Container]:
    """Return the slot and the kind of a container that may be mutated. Raises for any other container."""
    fresh = f.local_containers.get(name.id)
    binding = f.resolve(name)
    if name.id not in f.own or not isinstance(binding, SlotBinding) or fresh is None:
        raise f.error_at(node, f"changes `{name.id}`, which it did not create", _INSTEAD)
    if fresh.container is None:
        problem = fresh.problem if hasattr(fresh.problem, "lineno") else node
        raise f.error_at(
            node,
            f"changes `{name.id}`, which may have another reference (line {getattr(problem, 'lineno', 0)})",
            _INSTEAD,
        )
    return binding.slot, fresh.container


def method(node: ast.Expr, f: Scope) -> tuple[ir.Statement, ...] | None:
    """Lower `x.append(y)` and similar calls; None for any other expression."""
    match node.value:
        case ast.Call(func=ast.Attribute(value=ast.Name() as name, attr=attribute)) if attribute in CHANGING:
            call = node.value
        case _:
            return None
    if name.id not in f.own:
        return None
    slot, container = owned(node, name, f)
    if attribute not in _METHODS[container] or any(isinstance(item, ast.Starred) for item in call.args):
        raise f.error_at(node, f"calls `{attribute}` of a {container}", "create a new one with a comprehension")
    local = f.value(name)
    match attribute, call.args, call.keywords:
        case ("append", [item], []) | ("add", [item], []):
            return (ir.AppendItem(slot, f.value(item)),)
        case ("extend", [items], []):
            return _extended(slot, items, f)
        case ("update", [items], []) if container == "set":
            over = f.iterable(items)
            return (ir.Assign(ir.SlotTarget(slot), ir.Binary("or", local, ir.CallFunction("set", (over,)))),)
        case ("update", args, keywords) if (
            container == "dict" and all(isinstance(item, ast.Dict) for item in args) and len(args) < 2
        ):
            entries: list[tuple[ir.Code | None, ir.Code]] = [(None, local), *((None, f.value(item)) for item in args)]
            entries.extend((ir.Constant(item.arg), f.value(item.value)) for item in keywords if item.arg is not None)
            return (ir.Assign(ir.SlotTarget(slot), ir.Mapping(tuple(entries))),)
        case ("pop", [], []) if container == "list":
            last = ir.Slice(local, None, ir.Constant(-1), None)
            return (ir.If(local, (), (ir.Raise("IndexError"),)), ir.Assign(ir.SlotTarget(slot), last))
        case ("pop", [ast.Constant(value=str() as key), ast.Constant()], []) if container == "dict":
            return (without(slot, key, f),)
        case ("pop", [ast.Constant(value=str() as key)], []) if container == "dict":
            return _deleted(slot, key, f)
        case ("clear", [], []):
            empty: ir.Code = ir.Mapping(()) if container == "dict" else ir.Display("list", ())
            return (ir.Assign(ir.SlotTarget(slot), empty),)
        case ("reverse", [], []):
            return (ir.Assign(ir.SlotTarget(slot), ir.CallFunction("list", (ir.CallFunction("reversed", (local,)),))),)
        case ("sort", [], keywords) if not _is_caught(node, f):
            # An exception handler could observe a list that an exception left partially sorted.
            call = ast.Call(ast.Name("sorted", ast.Load()), [ast.Name(name.id, ast.Load())], keywords)
            for part in (call, call.func, *call.args):
                ast.copy_location(part, node)
            return (ir.Assign(ir.SlotTarget(slot), f.value(call)),)
        case ("setdefault", [key, value], []):
            (key_slot, key_local), (value_slot, value_local) = f.temporary(), f.temporary()
            return (
                ir.Assign(ir.SlotTarget(key_slot), f.value(key)),
                ir.Assign(ir.SlotTarget(value_slot), f.value(value)),
                ir.If(ir.Compare(key_local, ("in",), (local,)), (), (ir.Store(slot, key_local, value_local),)),
            )
        case ("discard", [item], []):
            return (ir.Assign(ir.SlotTarget(slot), ir.Binary("sub", local, ir.Display("set", (f.value(item),)))),)
        case _:
            raise f.error_at(
                node,
                f"calls `{attribute}` with arguments that cannot be compiled",
                "create a new one with a comprehension",
            )


def _is_caught(node: ast.stmt, f: Scope) -> bool:
    """Return true if this function catches exceptions of the statement."""
    return any(
        node is inner
        for item in ast.walk(f.source.node)
        if isinstance(item, ast.Try)
        for part in item.body
        for inner in ast.walk(part)
    )


def _extended(slot: int, items: ast.expr, f: Scope) -> tuple[ir.Statement, ...]:
    generator = comprehensions.generator(items, f)
    if generator is not None:
        raise f.error_at(items, "extends a list with a generator", "extend it with a list: `[...]`")
    if any(isinstance(item, ast.Name) and _is_slot(item, slot, f) for item in ast.walk(items)):
        raise f.error_at(items, "extends a list with itself", "use another name")
    item_slot, item_local = f.temporary()
    return (ir.For(ir.SlotTarget(item_slot), f.ordered(items), (ir.AppendItem(slot, item_local),), ()),)


def _is_slot(name: ast.Name, slot: int, f: Scope) -> bool:
    return name.id in f.own and f.local(name.id) == SlotBinding(slot)


def augmented(node: ast.AugAssign, name: ast.Name, f: Scope) -> tuple[ir.Statement, ...] | None:
    """Lower `x += [..]` of a list that the function creates; None for any other statement."""
    fresh = f.local_containers.get(name.id)
    read = _read(name)
    if fresh is None or fresh.container is None:
        return None
    slot, container = owned(node, read, f)
    if container == "list" and isinstance(node.op, ast.Add):
        return _extended(slot, node.value, f)
    if container == "set" and f.kind(node.value) == "set":
        return (ir.Assign(ir.SlotTarget(slot), binary(node, node.op, (read, f.value(read)), node.value, f)),)
    raise f.error_at(node, f"mutates a {container} with an operator", "write `x = x ...` with a new container")


def store(target: ast.Subscript, value: ast.expr, f: Scope) -> tuple[ir.Statement, ...]:
    """Lower `x[key] = value`."""
    slot, name = _item_owner(target, f)
    lowered = f.value(value)
    f.value(_read(name))
    return (ir.Store(slot, f.value(target.slice), lowered),)


def _item_owner(target: ast.Subscript, f: Scope) -> tuple[int, ast.Name]:
    """Return the slot and the name of the list or dict whose item is assigned to."""
    name = target.value
    if not isinstance(name, ast.Name):
        raise f.error_at(target, "mutates a value that it did not create", "create a new dict: `{**x, key: value}`")
    slot, container = owned(target, name, f)
    if container == "set" or isinstance(target.slice, ast.Slice):
        raise f.error_at(target, f"assigns to an item of a {container}", "create a new one")
    return slot, name


def _read(name: ast.Name) -> ast.Name:
    return ast.copy_location(ast.Name(name.id, ast.Load()), name)


def augmented_item(node: ast.AugAssign, target: ast.Subscript, f: Scope) -> tuple[ir.Statement, ...]:
    """Lower `x[key] += number`."""
    slot, name = _item_owner(target, f)
    if f.kind(node.value) != "num" or isinstance(node.op, ast.Mod | ast.Mult):
        raise f.error_at(node, "mutates an item in place, which may be a shared list", "write `x[key] = x[key] + ...`")
    key_slot, key = f.temporary()
    held = f.value(_read(name))
    first = ir.Assign(ir.SlotTarget(key_slot), f.value(target.slice))
    value = ir.Binary(BINARY[type(node.op)], ir.Item(held, key), f.value(node.value))
    return (first, ir.Store(slot, key, value))


def delete(node: ast.Delete, f: Scope) -> tuple[ir.Statement, ...]:
    """Lower `del x["key"]` of a dict that the function creates."""
    found: list[ir.Statement] = []
    for target in node.targets:
        match target:
            case ast.Subscript(value=ast.Name() as name, slice=ast.Constant(value=str() as key)):
                slot, container = owned(node, name, f)
                if container != "dict":
                    raise f.error_at(node, f"deletes an item of a {container}", "create a new one")
                f.value(_read(name))
                found.extend(_deleted(slot, key, f))
            case _:
                raise f.error_at(
                    node, "deletes something", "create a new dict without the key: `{k: v for ... if ...}`"
                )
    return tuple(found)


def _deleted(slot: int, key: str, f: Scope) -> tuple[ir.Statement, ...]:
    missing = ir.Compare(ir.Constant(key), ("not_in",), (ir.Local(slot),))
    return (ir.If(missing, (ir.Raise("KeyError"),), ()), without(slot, key, f))


def without(slot: int, key: str, f: Scope) -> ir.Statement:
    """Return the statement that removes a string key from a dict."""
    return ir.Assign(ir.SlotTarget(slot), without_keys(ir.Local(slot), [ir.Constant(key)], f))
