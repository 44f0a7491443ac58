"""Calls of builtin functions."""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Mapping, Sequence
from typing import Any

from bobcat.frontend.python.analysis.kinds import FIELDS, OBJECTS, InferredKind
from bobcat.frontend.python.analysis.scope import Scope
from bobcat.frontend.python.lowering import comprehensions, exact_types, sort_keys
from bobcat.frontend.python.lowering.arguments import positional
from bobcat.frontend.python.lowering.operators import after, binary
from bobcat.frontend.python.lowering.raising import SUPPORTED
from bobcat.ir import code as ir
from bobcat.model.decision import ActionRequest, ExecutionContext, Principal, ToolMetadata

TYPES: dict[type, str] = {
    bool: "bool", bytes: "bytes", dict: "dict", float: "float", int: "int", list: "list", type(None): "NoneType",
    set: "set", str: "str", tuple: "tuple",
}  # fmt: skip
_SHOWING = frozenset({"str", "repr"})
_UNORDERED = frozenset({"len", "any", "all", "min", "max", "sorted", "set", "frozenset", "bool", "isinstance"})


def lower(node: ast.Call, name: str, f: Scope) -> ir.Code:
    """Lower a call of the builtin function of this name."""
    match name, node.args, node.keywords:
        case "isinstance", [of, kinds], []:
            return ir.IsInstance(f.value(of), _types(kinds, f))
        case ("any" | "all" | "sum" | "min" | "max") as kind, [only], [] if loops := comprehensions.generator(only, f):
            return comprehensions.collect(kind, loops, f)
        case ("min" | "max") as kind, [only], [ast.keyword(arg="default", value=default)]:
            return _least(node, kind, (only, default), f)
        case "next", [only, default], [] if loops := comprehensions.generator(only, f):
            return comprehensions.collect("first", loops, f, _constant(default, f))
        case "sorted", [only], [ast.keyword(arg="reverse", value=ast.Constant(value=bool() as reverse))]:
            items = _collected("list", only, f)
            backwards = ir.CallFunction("sorted", (ir.CallFunction("reversed", (ir.CallFunction("list", (items,)),)),))
            return (
                ir.CallFunction("list", (ir.CallFunction("reversed", (backwards,)),))
                if reverse
                else ir.CallFunction("sorted", (items,))
            )
        case ("list" | "tuple" | "set" | "frozenset" | "sorted" | "dict") as kind, [only], [] if (
            loops := comprehensions.generator(only, f)
        ):
            collected = comprehensions.collect(_COLLECTED.get(kind, "list"), loops, f)
            return collected if kind in ("list", "set", "dict") else ir.CallFunction(kind, (collected,))
        case "dict", args, [_, *_] if len(args) < 2:
            return _dict(node, f)
        case ("sorted" | "min" | "max") as kind, _, keywords if any(item.arg == "key" for item in keywords):
            return sort_keys.lower(node, kind, f)
        case "pow", [base, exponent], []:
            return binary(node, ast.Pow(), (base, f.value(base)), exponent, f)
        case "divmod", [number, divisor], []:
            return _divmod((number, divisor), f)
        case "ascii", [only], []:
            f.check_shown(only)
            return ir.Text((ir.Shown(f.value(only), "a", ""),))
        case "next", [ast.Call(func=ast.Name(id="iter") as func, args=[over], keywords=[]), default], [] if (
            f.static(func) is iter
        ):
            slot, local = f.temporary()
            return ir.Collect(
                "first", None, local, (ir.Loop(ir.SlotTarget(slot), f.ordered(over), ()),), _constant(default, f)
            )
        case (("int" | "str"), [_, _, *_], _):
            raise f.error_at(node, f"passes `{name}` two arguments", "write numbers in base ten, and texts as texts")
        case "getattr", [of, ast.Constant(value=str() as field), *default], [] if len(default) < 2:
            return _field(node, (of, field, default), f)
        case "hasattr", [of, ast.Constant(value=str() as field)], [] if f.kind(of) in FIELDS:
            f.raw(of)
            return ir.Constant(_has(f.kind(of), field))
        case (("hash" | "id"), _, _):
            raise f.error_at(
                node,
                f"calls `{name}`, which differs from process to process",
                "derive it from the request: the same call must get the same decision",
                kind="impure",
            )
        case "print" | "input" | "open" as known, _, _:
            raise f.error_at_value(node.func, getattr(builtins, known), "calls", "leave it out")
        case (("getattr" | "hasattr" | "setattr" | "vars" | "dir"), _, _):
            raise f.error_at(node, f"calls `{name}`", "read the field itself: `request.tool`")
        case (("map" | "filter"), _, _):
            raise f.error_at(
                node,
                f"keeps the result of `{name}`",
                "pass it to `any`, `all` or `list` at once, or write a comprehension",
            )
        case "type", _, _:
            raise f.error_at(node, "calls `type`", "write `isinstance(...)`")
        case _:
            pass
    if name not in ir.BUILTINS:
        raise f.error_at(node, f"calls `{name}`, which has no lowered form", SUPPORTED)
    arguments = positional(node, name, f)
    for item in arguments:
        if isinstance(item, ast.GeneratorExp):
            raise f.error_at(item, f"passes a generator to `{name}`", "pass it a list: `[...]`")
    if name in _SHOWING:
        for item in arguments:
            f.check_shown(item)
    return ir.CallFunction(name, tuple(_argument(item, name, f) for item in arguments))


def _divmod(operands: tuple[ast.expr, ast.expr], f: Scope) -> ir.Code:
    (one_slot, one), (other_slot, other) = f.temporary(), f.temporary()
    bound = [ir.Bind(slot, f.value(item)) for slot, item in zip((one_slot, other_slot), operands, strict=True)]
    both = ir.Display("tuple", (ir.Binary("floordiv", one, other), ir.Binary("mod", one, other)))
    return after(bound, both)


_OBJECTS: dict[InferredKind, type] = {
    "request": ActionRequest, "context": ExecutionContext, "declared": ToolMetadata, "principal": Principal,
}  # fmt: skip


def _has(kind: InferredKind, field: str) -> bool:
    return field in FIELDS[kind] or hasattr(_OBJECTS[kind], field)


def _field(node: ast.Call, parts: tuple[ast.expr, str, list[ast.expr]], f: Scope) -> ir.Code:
    """`getattr(context, "environment", None)`."""
    of, field, default = parts
    kind = f.kind(of)
    known = FIELDS.get(kind, {}).get(field)
    if kind in FIELDS and known is None and default and not _has(kind, field):
        f.raw(of)
        return f.value(default[0])
    if known is None or known in OBJECTS or known == "datetime" or any(f.kind(item) in OBJECTS for item in default):
        raise f.error_at(node, "calls `getattr`", "read the field itself: `context.environment`")
    for item in default:
        _constant(item, f)  # is evaluated in every case
    return ir.Attribute(f.raw(of), field)


_COLLECTED: dict[str, ir.CollectKind] = {"set": "set", "frozenset": "set", "dict": "dict"}


def _argument(item: ast.expr, name: str, f: Scope) -> ir.Code:
    if name == "bool":
        return f.raw(item)
    if name in _UNORDERED or name == "dict":
        return f.iterable(item)
    return f.ordered(item)


def _collected(kind: ir.CollectKind, node: ast.expr, f: Scope) -> ir.Code:
    loops = comprehensions.generator(node, f)
    return f.iterable(node) if loops is None else comprehensions.collect(kind, loops, f)


def _least(node: ast.Call, kind: Any, parts: tuple[ast.expr, ast.expr], f: Scope) -> ir.Code:  # Any: a literal
    default = _constant(parts[1], f)
    loops = comprehensions.generator(parts[0], f)
    if loops is not None:
        return comprehensions.collect(kind, loops, f, default)
    slot, local = f.temporary()
    return ir.Collect(kind, None, local, (ir.Loop(ir.SlotTarget(slot), f.iterable(parts[0]), ()),), default)


def _constant(node: ast.expr, f: Scope) -> ir.Constant:
    lowered = f.value(node)
    if not isinstance(lowered, ir.Constant):
        raise f.error_at(node, "calculates a default", "write a constant")
    return lowered


def _dict(node: ast.Call, f: Scope) -> ir.Code:
    entries: list[tuple[ir.Code | None, ir.Code]] = []
    if node.args:
        entries.append((None, ir.CallFunction("dict", (_collected("dict", node.args[0], f),))))
    entries.extend((ir.Constant(item.arg), f.value(item.value)) for item in node.keywords)
    return ir.Mapping(tuple(entries))


def _types(node: ast.expr, f: Scope) -> tuple[str, ...]:
    if isinstance(node, ast.Tuple):
        return tuple(name for item in node.elts for name in _types(item, f))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return (*_types(node.left, f), *_types(node.right, f))
    is_none = isinstance(node, ast.Constant) and node.value is None
    value = type(None) if is_none or exact_types.none_type(node, f) else f.static(node)
    if isinstance(value, types.UnionType):
        return tuple(TYPES[item] for item in value.__args__ if item in TYPES)
    if isinstance(value, tuple) and all(item in TYPES for item in value):
        return tuple(TYPES[item] for item in value)
    known = {**TYPES, Mapping: "Mapping", Sequence: "Sequence"}
    if isinstance(value, type) and value in known:
        return (known[value],)
    raise f.error_at(
        node,
        "tests for a type that no value of a request has",
        "use str, int, float, bool, list, tuple, dict, set or None",
    )
