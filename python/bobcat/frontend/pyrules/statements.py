"""Statements: one of Python to those of code."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bobcat.frontend.pyrules import cases, choices, comprehensions, exceptions, in_place, moments, returned
from bobcat.frontend.pyrules.bindings import MISSING, Alias, Nested, Parameter, Slot, Static
from bobcat.frontend.pyrules.expressions import binary, choose, lower_test
from bobcat.frontend.pyrules.kinds import OBJECTS
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
            if changed is not None:
                return changed
            kept = ir.Evaluate(f.raw(value))
            returned.check_kept(value, f)
            return (kept,)
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
    if value is not None and f.session.stack_depth == 1:
        returned.check(value, f)
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
    only = targets[0] if len(targets) == 1 and isinstance(targets[0], ast.Name) and targets[0].id in f.once else None
    if only is not None and (chosen := choices.choice(value, f)) is not None:
        number = choices.number(chosen, f)
        return (ir.Assign(ir.Slot(choose(only, chosen, f)), number),)
    if only is not None and _is_lasting(value, f):
        f.bindings[only.id] = Alias(value)
        f.assigned.add(only.id)
        return ()
    if len(targets) == 1 and isinstance(targets[0], ast.Tuple | ast.List):
        stars = [index for index, item in enumerate(targets[0].elts) if isinstance(item, ast.Starred)]
        if stars:
            return _starred(targets[0].elts, stars[0], value, f)
        parts = _in_parts(targets[0].elts, value, f)
        if parts is not None:
            return tuple(made for target, part in parts for made in _assign(node, [target], part, f))
    unpacks = any(not isinstance(target, ast.Name) for target in targets)
    made = _unpacked(targets, value, f)
    lowered = made if made is not None else f.ordered(value) if unpacks else f.raw(value)
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


def _unpacked(targets: Sequence[ast.expr], value: ast.expr, f: Function) -> ir.Code | None:
    """`hour, minute = (int(part) for part in text.split(":"))`; None for any other assignment.

    Python asks a generator for one item more than there are targets and never for the rest, so the loop goes over no
    more than that.
    """
    match targets:
        case [ast.Tuple(elts=elts) | ast.List(elts=elts)] if all(isinstance(item, ast.Name) for item in elts):
            made = comprehensions.generator(value, f)
        case _:
            return None
    if made is None or len(made.generators) != 1 or made.generators[0].ifs:
        return None
    loop = made.generators[0]
    if f.kind(loop.iter) not in ("list", "tuple", "str"):
        return None
    first = ast.Subscript(loop.iter, ast.Slice(None, ast.Constant(len(elts) + 1), None), ast.Load())
    over = ast.comprehension(loop.target, first, [], loop.is_async)
    short = ast.ListComp(made.elt, [over])
    for part in (first, first.slice, short):
        ast.copy_location(part, value)
    ast.fix_missing_locations(short)
    return comprehensions.collect("list", short, f)


def _in_parts(targets: Sequence[ast.expr], value: ast.expr, f: Function) -> list[tuple[ast.expr, ast.expr]] | None:
    """`who, where = context.principal, context.environment` in single assignments; None where that would be another
    thing, or where the tuple can be made as it is."""
    if not isinstance(value, ast.Tuple | ast.List) or len(targets) != len(value.elts):
        return None
    if not any(f.kind(item) in OBJECTS or _is_object(item, f) for item in value.elts):
        return None
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    read = {item.id for item in ast.walk(value) if isinstance(item, ast.Name)}
    if len(names) != len(targets) or names & read:
        return None
    return list(zip(targets, value.elts, strict=True))


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


def _is_lasting(value: ast.expr, f: Function) -> bool:
    """Whether a value is a method of a dict of the call, `request.args.get`, or a part of its time: always the same."""
    part = moments.part_of(value, f)
    match value:
        case ast.Attribute(value=of, attr="get" | "keys" | "values" | "items") if f.kind(of) == "dict":
            return _of_call(of, f)
        case ast.Call() if part is not None:
            return _of_call(part[1], f)
        case _:
            return False


def _of_call(node: ast.expr, f: Function) -> bool:
    """`request.args`, `context.timestamp`: what a request or a context has, or a name that is only that."""
    match node:
        case ast.Attribute(value=ast.Name() as name):
            return isinstance(f.resolve(name), Parameter) and f.kind(name) in ("request", "context")
        case ast.Attribute(value=of):
            return f.kind(of) in OBJECTS and _of_call(of, f)
        case ast.Name() if (written := f.written_once(node)) is not None and node.id not in f.fresh:
            return _of_call(written, f)
        case _:
            return False


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
    """A loop over a table of objects: its body once for each of them."""
    names = {item.id for item in ast.walk(node.target) if isinstance(item, ast.Name)}
    if any(
        isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store) and inner.id in names
        for part in node.body
        for inner in ast.walk(part)
    ):
        raise f.cannot(node.target, "gives the item of a table another value", "use another name")
    leaving = [type(inner) for part in node.body for inner in _own_leaving(part)]
    if ast.Break in leaving and ast.Continue in leaving:
        raise f.cannot(node, "uses both `break` and `continue` in a loop over a table of objects", "use one of them")
    before = set(f.assigned)
    found: list[ir.Statement] = []
    for item in items:
        f.assigned = set(before)
        f.scopes.append(comprehensions.statics(node.target, item, f))
        try:
            body = f.body(node.body)
        finally:
            f.scopes.pop()
        found.extend((_once(body, (), f),) if ast.Continue in leaving else body)
    f.assigned = set(before)
    otherwise = f.body(node.orelse)
    f.assigned = before
    if ast.Break in leaving:
        return (_once(tuple(found), otherwise, f),)
    return (*found, *otherwise)


def _once(body: Statements, otherwise: Statements, f: Function) -> ir.For:
    """A body that `break` and `continue` leave: a loop of one turn."""
    slot, _ = f.temporary()
    return ir.For(ir.Slot(slot), ir.Display("tuple", (ir.Constant(None),)), body, otherwise)


def _own_leaving(node: ast.stmt) -> Iterator[ast.stmt]:
    """The `break` and `continue` of a statement in a loop that belong to that loop."""
    todo: list[ast.AST] = [node]
    while todo:
        inner = todo.pop()
        match inner:
            case ast.Break() | ast.Continue():
                yield inner
            case ast.For() | ast.While() | ast.AsyncFor():
                todo.extend(inner.orelse)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.expr():
                pass
            case _:
                todo.extend(ast.iter_child_nodes(inner))
