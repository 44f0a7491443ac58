"""Statements: one of Python to those of code."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bobcat.frontend.pyrules import cases, comprehensions, exceptions, in_place
from bobcat.frontend.pyrules.bindings import MISSING, Nested, Slot, Static
from bobcat.frontend.pyrules.expressions import binary, lower_test
from bobcat.frontend.pyrules.kinds import join as join_kinds
from bobcat.frontend.pyrules.ways import leaves, met, returning
from bobcat.ir import code as ir

if TYPE_CHECKING:
    from bobcat.frontend.pyrules.function import Function

_UNSUPPORTED: dict[type[ast.AST], tuple[str, str]] = {
    ast.While: ("loops with `while`", "go over values that exist with `for`"),
    ast.With: ("uses `with`", "a rule opens nothing; read what it needs before the call, into `context.extra`"),
    ast.AsyncWith: ("uses `async with`", "read what it needs before the call, into `context.extra`"),
    ast.AsyncFor: ("loops with `async for`", "read what it needs before the call, into `context.extra`"),
    ast.Global: ("writes a global", "keep no state in a rule: the same call must get the same decision"),
    ast.Nonlocal: ("writes a variable of another function", "return the value instead"),
    ast.ClassDef: ("defines a class", "define it outside of the rule"),
    ast.AsyncFunctionDef: ("defines an asynchronous function", "make it a plain function"),
}
_IMPORTABLE = frozenset({
    "re", "math", "string", "posixpath", "os.path", "fnmatch", "datetime", "bobcat", "bobcat.decisions",
    "bobcat.model", "bobcat.pdp", "bobcat.lynx", "bobcat.lynx.policy", "bobcat.lynx.core.policy", "typing",
    "collections.abc",
})  # fmt: skip

Statements = tuple[ir.Statement, ...]


def lower_body(nodes: Sequence[ast.stmt], f: Function) -> Statements:
    """Statements in order. In the rule itself, one that cannot be lowered does not hide the next."""
    found: list[ir.Statement] = []
    for node in nodes:
        if f.session.stack_depth == 1:
            found.extend(f.guarded(node))
        else:
            found.extend(lower(node, f))
    return tuple(found)


def lower(node: ast.stmt, f: Function) -> Statements:
    """The code of a statement, with the place of each part."""
    lowered = _lower(node, f)
    match node:
        case ast.If(test=head) | ast.For(iter=head) | ast.Match(subject=head):
            place: ast.AST = head  # not all that depends on it
        case _:
            place = node
    span = f.source.place.span(place)
    for statement in lowered:
        f.session.stands(statement, span)
    return lowered


def _lower(node: ast.stmt, f: Function) -> Statements:
    f.count(node)
    match node:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return ()
        case ast.Expr(value=value):
            changed = in_place.method(node, f)
            return changed if changed is not None else (ir.Evaluate(f.raw(value)),)
        case ast.Return(value=value):
            return _return(value, f)
        case ast.If(test=test, body=then, orelse=otherwise):
            return _if(test, then, otherwise, f)
        case ast.Assign(targets=targets, value=value):
            return _assign(node, targets, value, f)
        case ast.AnnAssign(target=target, value=value):
            return () if value is None else _assign(node, [target], value, f)
        case ast.AugAssign():
            return _augmented(node, f)
        case ast.For():
            return _for(node, f)
        case ast.Break():
            return (ir.Break(),)
        case ast.Continue():
            return (ir.Continue(),)
        case ast.Raise():
            return exceptions.raised(node, f)
        case ast.Assert(test=test, msg=message):
            return exceptions.asserted(test, message, f)
        case ast.Try():
            return exceptions.attempt(node, f)
        case ast.Match():
            return cases.lower(node, f)
        case ast.Delete():
            return in_place.delete(node, f)
        case ast.FunctionDef():
            return _define(node, node.name, node, f)
        case ast.Import() | ast.ImportFrom():
            return _import(node, f)
        case _:
            raise f.cannot(
                node,
                *_UNSUPPORTED.get(type(node), ("holds a statement that has no lowered form", "write it in the subset")),
            )


def _return(value: ast.expr | None, f: Function) -> Statements:
    if isinstance(value, ast.IfExp):
        # PERF: as a statement the core sees at once for which tools a rule has nothing to say.
        f.count(value)
        return _if(value.test, [returning(value.body)], [returning(value.orelse)], f)
    lowered = ir.Constant(None) if value is None else f.value(value)
    f.returned = join_kinds(f.returned, "none" if value is None else f.kind(value))
    return (ir.Return(lowered),)


def _if(test: ast.expr, then: Sequence[ast.stmt], otherwise: Sequence[ast.stmt], f: Function) -> Statements:
    condition, known = lower_test(test, f)
    before = set(f.assigned)
    f.assigned = before | known
    first = f.body(then)
    after = None if leaves(then) else f.assigned
    f.assigned = set(before)
    second = f.body(otherwise)
    rest = None if leaves(otherwise) else f.assigned
    f.assigned = met(after, rest, before)
    made = ir.If(condition, first, second)
    f.session.stands(made, f.source.place.span(test))
    return (made,)


# --- assignments ---


def _assign(node: ast.stmt, targets: Sequence[ast.expr], value: ast.expr, f: Function) -> Statements:
    if len(targets) == 1 and isinstance(targets[0], ast.Name) and isinstance(value, ast.Lambda):
        return _define(node, targets[0].id, value, f)
    if len(targets) == 1 and isinstance(targets[0], ast.Subscript):
        return in_place.store(targets[0], value, f)
    for target in targets:
        if isinstance(target, ast.Name) and target.id in f.once and _is_object(value, f):
            return _alias(target, value, targets, f)
    if len(targets) == 1 and isinstance(targets[0], ast.Tuple | ast.List):
        stars = [index for index, item in enumerate(targets[0].elts) if isinstance(item, ast.Starred)]
        if stars:
            return _starred(targets[0].elts, stars[0], value, f)
    unpacks = any(not isinstance(target, ast.Name) for target in targets)
    lowered = f.ordered(value) if unpacks else f.raw(value)
    kind = f.kind(value)
    if kind in ("mixed", "view"):
        f.value(value)
    if kind == "set":
        for target in targets:
            if isinstance(target, ast.Name) and f.kinds.get(target.id) == "any":
                f.kinds[target.id] = "set"
    if len(targets) == 1:
        return (ir.Assign(assignable(targets[0], f), lowered),)
    slot, local = f.temporary()
    first = ir.Assign(ir.Slot(slot), lowered)
    return (first, *(ir.Assign(assignable(target, f), local) for target in targets))


def _starred(parts: Sequence[ast.expr], star: int, value: ast.expr, f: Function) -> Statements:
    """`first, *rest = value`."""
    slot, items = f.temporary()
    after = len(parts) - 1 - star
    short = ir.Compare(ir.Call("len", (items,)), ("lt",), (ir.Constant(len(parts) - 1),))
    found: list[ir.Statement] = [
        ir.Assign(ir.Slot(slot), ir.Call("list", (f.ordered(value),))),
        ir.If(short, (ir.Raise("ValueError"),), ()),
    ]
    for index, part in enumerate(parts):
        if isinstance(part, ast.Starred) and index == star:
            rest = ir.Slice(items, ir.Constant(star), ir.Constant(-after) if after else None, None)
            found.append(ir.Assign(assignable(part.value, f), rest))
        else:
            at = index if index < star else index - len(parts)
            found.append(ir.Assign(assignable(part, f), ir.Item(items, ir.Constant(at))))
    return tuple(found)


def _is_object(value: ast.expr, f: Function) -> bool:
    """Whether a name for a value is a name for an object: a pattern, a class, a table of functions."""
    if not isinstance(value, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
        return False
    found = f.static(value)
    return found is not MISSING and not is_plain(found)


def is_plain(value: object) -> bool:
    """Whether an object is data, at least on the outside."""
    return value is None or isinstance(value, bool | int | float | str | bytes | list | tuple | dict | set | frozenset)


def _alias(target: ast.Name, value: ast.expr, targets: Sequence[ast.expr], f: Function) -> Statements:
    if len(targets) > 1:
        raise f.cannot(target, "gives an object several names", "give it one name")
    f.bindings[target.id] = Static(f.static(value))
    f.assigned.add(target.id)
    return ()


def _define(node: ast.stmt, name: str, function: Any, f: Function) -> Statements:  # Any: a function's node

    if name not in f.once:
        raise f.cannot(node, f"gives the function `{name}` a second value", "use another name")
    if getattr(function, "decorator_list", ()):
        raise f.cannot(node, f"decorates the function `{name}`", "leave the decorator out")
    f.bindings[name] = Nested(function, f)
    f.assigned.add(name)
    return ()


def _import(node: ast.Import | ast.ImportFrom, f: Function) -> Statements:
    from importlib import import_module

    modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    level = getattr(node, "level", 0)
    for name in modules:
        if level or not (name in _IMPORTABLE or name in sys.modules):
            raise f.cannot(node, f"imports `{name}` when it runs", "import it at the top of the module")
    for alias in node.names:
        name = alias.asname or alias.name.partition(".")[0]
        if name not in f.once:
            raise f.cannot(node, f"gives `{name}` a second value", "use another name")
        if isinstance(node, ast.ImportFrom):
            value = getattr(import_module(modules[0]), alias.name, None)
        else:
            value = import_module(alias.name if alias.asname else name)
        f.bindings[name] = Static(value)
        f.assigned.add(name)
    return ()


def assignable(node: ast.expr, f: Function) -> ir.Target:
    """The target of an assignment, or of a `for`."""
    match node:
        case ast.Name(id=name):
            binding = f.local(name)
            if not isinstance(binding, Slot):
                raise f.cannot(node, f"gives `{name}` a second value", "use another name")
            f.assigned.add(name)
            return ir.Slot(binding.slot)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return ir.Unpack(tuple(assignable(item, f) for item in items))
        case ast.Starred():
            raise f.cannot(node, "takes several values with `*`", "take slices: `first, rest = x[0], x[1:]`")
        case _:
            raise f.cannot(node, "changes something that it did not make", "make a new dict: `{**x, key: value}`")


def _augmented(node: ast.AugAssign, f: Function) -> Statements:
    if isinstance(node.target, ast.Subscript):
        return in_place.augmented_item(node, node.target, f)
    if not isinstance(node.target, ast.Name):
        raise f.cannot(node, "changes something that it did not make", "use a local")
    name = node.target.id
    grown = in_place.augmented(node, node.target, f)
    if grown is not None:
        return grown
    read = ast.copy_location(ast.Name(name, ast.Load()), node.target)
    kinds = (f.kind(read), f.kind(node.value))
    if kinds[0] not in ("num", "str", "bytes", "tuple", "none") and kinds[1] != "num":
        raise f.cannot(
            node,
            f"changes `{name}` in place, which may be a list, a set or a dict that others hold",
            f"write `{name} = {name} {_sign(node.op)} ...`",
        )
    value = binary(node, node.op, (read, f.value(read)), node.value, f)
    return (ir.Assign(assignable(node.target, f), value),)


def _sign(op: ast.operator) -> str:
    return ast.unparse(ast.BinOp(ast.Name("a"), op, ast.Name("b")))[2:-2]


# --- loops ---


def _for(node: ast.For, f: Function) -> Statements:
    items = comprehensions.unrolled(node.iter, f)
    if items is not None:
        return _for_objects(node, items, f)
    if isinstance(node.iter, ast.GeneratorExp):
        raise f.cannot(node.iter, "goes over a generator", "go over a list: `[...]`")
    over = f.ordered(node.iter)
    before = set(f.assigned)
    target = assignable(node.target, f)
    body = f.body(node.body)
    f.assigned = set(before)
    otherwise = f.body(node.orelse)
    f.assigned = before
    return (ir.For(target, over, body, otherwise),)


def _for_objects(node: ast.For, items: list[Any], f: Function) -> Statements:  # Any: every object
    """A loop over a table of patterns or functions: its body once for each of them."""
    for part in node.body:
        for inner in ast.walk(part):
            if isinstance(inner, ast.Break | ast.Continue):
                raise f.cannot(
                    inner, "leaves a loop over patterns or functions in the middle", "write `if` and `return`"
                )
    names = {item.id for item in ast.walk(node.target) if isinstance(item, ast.Name)}
    if any(
        isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store) and inner.id in names
        for part in node.body
        for inner in ast.walk(part)
    ):
        raise f.cannot(node.target, "gives the item of a table another value", "use another name")
    before = set(f.assigned)
    found: list[ir.Statement] = []
    for item in items:
        f.assigned = set(before)
        f.scopes.append(comprehensions.statics(node.target, item, f))
        try:
            found.extend(f.body(node.body))
        finally:
            f.scopes.pop()
    f.assigned = before
    found.extend(f.body(node.orelse))
    return tuple(found)
