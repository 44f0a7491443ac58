"""Lowering of statements."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from bobcat.frontend.python.analysis import returned
from bobcat.frontend.python.analysis.bindings import MISSING, Alias, Parameter, SlotBinding, Static
from bobcat.frontend.python.analysis.control_flow import always_exits, as_return, assigned_on_both
from bobcat.frontend.python.analysis.kinds import OBJECTS
from bobcat.frontend.python.analysis.kinds import join as join_kinds
from bobcat.frontend.python.analysis.scope import Nested, Scope
from bobcat.frontend.python.lowering import (
    cases,
    comprehensions,
    datetimes,
    dispatch_tables,
    exceptions,
    in_place,
    origins,
)
from bobcat.frontend.python.lowering.expressions import choose, lower_test
from bobcat.frontend.python.lowering.operators import binary
from bobcat.frontend.python.lowering.raising import SUPPORTED
from bobcat.ir import code as ir

_UNSUPPORTED: dict[type[ast.AST], tuple[str, str]] = {
    ast.While: ("loops with `while`", "iterate over existing values with `for`"),
    ast.With: (
        "uses `with`",
        "a rule opens no resources; read its inputs before the call and pass them in `context.extra`",
    ),
    ast.AsyncWith: ("uses `async with`", "read its inputs before the call and pass them in `context.extra`"),
    ast.AsyncFor: ("loops with `async for`", "read its inputs before the call and pass them in `context.extra`"),
    ast.Global: ("writes a global", "keep no state in a rule: the same call must get the same decision"),
    ast.Nonlocal: ("writes a variable of another function", "return the value instead"),
    ast.ClassDef: ("defines a class", "define it outside of the rule"),
    ast.AsyncFunctionDef: ("defines an asynchronous function", "make it a plain function"),
}
_IMPORTABLE = frozenset({
    "re", "math", "string", "posixpath", "os.path", "fnmatch", "datetime", "bobcat", "bobcat.facets",
    "bobcat.model.constructors", "bobcat.model", "bobcat.pdp", "bobcat.lynx", "bobcat.lynx.policy",
    "bobcat.lynx.core.policy", "typing", "collections.abc",
})  # fmt: skip

Statements = tuple[ir.Statement, ...]


def lower_body(nodes: Sequence[ast.stmt], f: Scope) -> Statements:
    """Lower statements in order. In the rule itself, lowering continues after a statement with an error."""
    found: list[ir.Statement] = []
    for node in nodes:
        if len(f.session.stack) == 1:
            found.extend(f.guarded(node))
        else:
            found.extend(lower(node, f))
    return tuple(found)


def lower(node: ast.stmt, f: Scope) -> Statements:
    """Lower a statement, with the position of each part."""
    lowered = _lower(node, f)
    match node:
        case ast.If(test=head) | ast.For(iter=head) | ast.Match(subject=head):
            place: ast.AST = head  # not every dependent statement
        case _:
            place = node
    span = f.source.place.span(place)
    for statement in lowered:
        f.session.note_span(statement, span)
    return lowered


def _lower(node: ast.stmt, f: Scope) -> Statements:
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
            raise f.error_at(
                node, *_UNSUPPORTED.get(type(node), ("holds a statement that has no lowered form", SUPPORTED))
            )


def _return(value: ast.expr | None, f: Scope) -> Statements:
    if isinstance(value, ast.IfExp):
        # PERF: in statement form, the core sees at once for which tools a rule abstains.
        f.count(value)
        return _if(value.test, [as_return(value.body)], [as_return(value.orelse)], f)
    lowered = ir.Constant(None) if value is None else f.value(value)
    if value is not None and len(f.session.stack) == 1:
        returned.check(value, f)
    f.returned = join_kinds(f.returned, "none" if value is None else f.kind(value))
    return (ir.Return(lowered),)


def _if(test: ast.expr, then: Sequence[ast.stmt], otherwise: Sequence[ast.stmt], f: Scope) -> Statements:
    condition, known = lower_test(test, f)
    before = set(f.assigned)
    f.assigned = before | known
    first = f.body(then)
    after = None if always_exits(then) else f.assigned
    f.assigned = set(before)
    second = f.body(otherwise)
    rest = None if always_exits(otherwise) else f.assigned
    f.assigned = assigned_on_both(after, rest, before)
    branch = ir.If(condition, first, second)
    f.session.note_span(branch, f.source.place.span(test))
    return (branch,)


# --- assignments ---


def _assign(node: ast.stmt, targets: Sequence[ast.expr], value: ast.expr, f: Scope) -> Statements:
    if len(targets) == 1 and isinstance(targets[0], ast.Name) and isinstance(value, ast.Lambda):
        return _define(node, targets[0].id, value, f)
    if len(targets) == 1 and isinstance(targets[0], ast.Subscript):
        return in_place.store(targets[0], value, f)
    for target in targets:
        if isinstance(target, ast.Name) and target.id in f.once and _is_object(value, f):
            return _alias(target, value, targets, f)
    only = targets[0] if len(targets) == 1 and isinstance(targets[0], ast.Name) and targets[0].id in f.once else None
    if only is not None and (chosen := dispatch_tables.dispatch_table(value, f)) is not None:
        number = dispatch_tables.number(chosen, f)
        return (ir.Assign(ir.SlotTarget(choose(only, chosen, f)), number),)
    if only is not None and f.kind(value) in ("run", "origin"):
        origins.check_lasting(value, f)
        f.bindings[only.id] = Alias(value)
        f.assigned.add(only.id)
        return ()
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
            return tuple(item for target, part in parts for item in _assign(node, [target], part, f))
    unpacks = any(not isinstance(target, ast.Name) for target in targets)
    unpacked = _unpacked(targets, value, f)
    lowered = unpacked if unpacked is not None else f.ordered(value) if unpacks else f.raw(value)
    kind = f.kind(value)
    if kind in ("mixed", "view", "run", "origin"):
        f.value(value)
    if kind == "set":
        for target in targets:
            if isinstance(target, ast.Name) and f.kinds.get(target.id) == "any":
                f.kinds[target.id] = "set"
    if len(targets) == 1:
        return (ir.Assign(assignable(targets[0], f), lowered),)
    slot, local = f.temporary()
    first = ir.Assign(ir.SlotTarget(slot), lowered)
    return (first, *(ir.Assign(assignable(target, f), local) for target in targets))


def _unpacked(targets: Sequence[ast.expr], value: ast.expr, f: Scope) -> ir.Code | None:
    """`hour, minute = (int(part) for part in text.split(":"))`; None for any other assignment.

    Python requests at most one item more than there are targets from a generator, so the loop reads no
    more items.
    """
    match targets:
        case [ast.Tuple(elts=elts) | ast.List(elts=elts)] if all(isinstance(item, ast.Name) for item in elts):
            generator = comprehensions.generator(value, f)
        case _:
            return None
    if generator is None or len(generator.generators) != 1 or generator.generators[0].ifs:
        return None
    loop = generator.generators[0]
    if f.kind(loop.iter) not in ("list", "tuple", "str"):
        return None
    first = ast.Subscript(loop.iter, ast.Slice(None, ast.Constant(len(elts) + 1), None), ast.Load())
    over = ast.comprehension(loop.target, first, [], loop.is_async)
    short = ast.ListComp(generator.elt, [over])
    for part in (first, first.slice, short):
        ast.copy_location(part, value)
    ast.fix_missing_locations(short)
    return comprehensions.collect("list", short, f)


def _in_parts(targets: Sequence[ast.expr], value: ast.expr, f: Scope) -> list[tuple[ast.expr, ast.expr]] | None:
    """Split `who, where = context.principal, context.environment` into single assignments; None if that would change
    the meaning, or if the tuple can be built unchanged.
    """
    if not isinstance(value, ast.Tuple | ast.List) or len(targets) != len(value.elts):
        return None
    if not any(f.kind(item) in OBJECTS or _is_object(item, f) for item in value.elts):
        return None
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    read = {item.id for item in ast.walk(value) if isinstance(item, ast.Name)}
    if len(names) != len(targets) or names & read:
        return None
    return list(zip(targets, value.elts, strict=True))


def _starred(parts: Sequence[ast.expr], star: int, value: ast.expr, f: Scope) -> Statements:
    """Lower `first, *rest = value`."""
    slot, items = f.temporary()
    after = len(parts) - 1 - star
    short = ir.Compare(ir.CallFunction("len", (items,)), ("lt",), (ir.Constant(len(parts) - 1),))
    found: list[ir.Statement] = [
        ir.Assign(ir.SlotTarget(slot), ir.CallFunction("list", (f.ordered(value),))),
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


def _is_object(value: ast.expr, f: Scope) -> bool:
    """Return true if a name for a value names an object: a pattern, a class, a table of functions."""
    if not isinstance(value, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
        return False
    found = f.static(value)
    return found is not MISSING and not is_plain(found)


def _is_lasting(value: ast.expr, f: Scope) -> bool:
    """Return true if a value is invariant: a method of a dict of the call (`request.args.get`), or a part of its
    time.
    """
    part = datetimes.part_of(value, f)
    match value:
        case ast.Attribute(value=of, attr="get" | "keys" | "values" | "items") if f.kind(of) == "dict":
            return _of_call(of, f)
        case ast.Call() if part is not None:
            return _of_call(part[1], f)
        case _:
            return False


def _of_call(node: ast.expr, f: Scope) -> bool:
    """Return true for `request.args`, `context.timestamp`: a field of a request or a context, or an alias of one."""
    match node:
        case ast.Attribute(value=ast.Name() as name):
            return isinstance(f.resolve(name), Parameter) and f.kind(name) in ("request", "context")
        case ast.Attribute(value=of):
            return f.kind(of) in OBJECTS and _of_call(of, f)
        case ast.Name() if (written := f.written_once(node)) is not None and node.id not in f.local_containers:
            return _of_call(written, f)
        case _:
            return False


def is_plain(value: object) -> bool:
    """Return true if the type of an object is plain data; its contents are not examined."""
    return value is None or isinstance(value, bool | int | float | str | bytes | list | tuple | dict | set | frozenset)


def _alias(target: ast.Name, value: ast.expr, targets: Sequence[ast.expr], f: Scope) -> Statements:
    if len(targets) > 1:
        raise f.error_at(target, "assigns an object to several names", "use one name for it")
    f.bindings[target.id] = Static(f.static(value))
    f.assigned.add(target.id)
    return ()


def _define(node: ast.stmt, name: str, function: Any, f: Scope) -> Statements:  # Any: a function's node

    if name not in f.once:
        raise f.error_at(node, f"rebinds the function `{name}`", "use another name")
    if getattr(function, "decorator_list", ()):
        raise f.error_at(node, f"decorates the function `{name}`", "remove the decorator")
    f.bindings[name] = Nested(function, f)
    f.assigned.add(name)
    return ()


def _import(node: ast.Import | ast.ImportFrom, f: Scope) -> Statements:
    from importlib import import_module

    modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    level = getattr(node, "level", 0)
    for name in modules:
        if level or not (name in _IMPORTABLE or name in sys.modules):
            raise f.error_at(node, f"imports `{name}` at run time", "import it at the top of the module")
    for alias in node.names:
        name = alias.asname or alias.name.partition(".")[0]
        if name not in f.once:
            raise f.error_at(node, f"rebinds `{name}`", "use another name")
        if isinstance(node, ast.ImportFrom):
            value = getattr(import_module(modules[0]), alias.name, None)
        else:
            value = import_module(alias.name if alias.asname else name)
        f.bindings[name] = Static(value)
        f.assigned.add(name)
    return ()


def assignable(node: ast.expr, f: Scope) -> ir.Target:
    """Return the target of an assignment or a `for`."""
    match node:
        case ast.Name(id=name):
            binding = f.local(name)
            if not isinstance(binding, SlotBinding):
                raise f.error_at(node, f"rebinds `{name}`", "use another name")
            f.assigned.add(name)
            return ir.SlotTarget(binding.slot)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return ir.Unpack(tuple(assignable(item, f) for item in items))
        case ast.Starred():
            raise f.error_at(node, "unpacks several values with `*`", "take slices: `first, rest = x[0], x[1:]`")
        case _:
            raise f.error_at(node, "mutates a value that it did not create", "create a new dict: `{**x, key: value}`")


def _augmented(node: ast.AugAssign, f: Scope) -> Statements:
    if isinstance(node.target, ast.Subscript):
        return in_place.augmented_item(node, node.target, f)
    if not isinstance(node.target, ast.Name):
        raise f.error_at(node, "mutates a value that it did not create", "use a local")
    name = node.target.id
    grown = in_place.augmented(node, node.target, f)
    if grown is not None:
        return grown
    read = ast.copy_location(ast.Name(name, ast.Load()), node.target)
    kinds = (f.kind(read), f.kind(node.value))
    if kinds[0] not in ("num", "str", "bytes", "tuple", "none") and kinds[1] != "num":
        raise f.error_at(
            node,
            f"mutates `{name}`, which may be a shared list, set or dict",
            f"write `{name} = {name} {_sign(node.op)} ...`",
        )
    value = binary(node, node.op, (read, f.value(read)), node.value, f)
    return (ir.Assign(assignable(node.target, f), value),)


def _sign(op: ast.operator) -> str:
    return ast.unparse(ast.BinOp(ast.Name("a"), op, ast.Name("b")))[2:-2]


# --- loops ---


def _for(node: ast.For, f: Scope) -> Statements:
    items = comprehensions.unrolled(node.iter, f)
    if items is not None:
        return _for_objects(node, items, f)
    if isinstance(node.iter, ast.GeneratorExp):
        raise f.error_at(node.iter, "iterates over a generator", "iterate over a list: `[...]`")
    over = f.ordered(node.iter)
    before = set(f.assigned)
    target = assignable(node.target, f)
    body = f.body(node.body)
    f.assigned = set(before)
    otherwise = f.body(node.orelse)
    f.assigned = before
    return (ir.For(target, over, body, otherwise),)


def _for_objects(node: ast.For, items: list[Any], f: Scope) -> Statements:  # Any: every object
    """Unroll a loop over a table of objects: one body for each object."""
    names = {item.id for item in ast.walk(node.target) if isinstance(item, ast.Name)}
    if any(
        isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store) and inner.id in names
        for part in node.body
        for inner in ast.walk(part)
    ):
        raise f.error_at(node.target, "assigns another value to the item of a table", "use another name")
    leaving = [type(inner) for part in node.body for inner in _own_leaving(part)]
    if ast.Break in leaving and ast.Continue in leaving:
        raise f.error_at(
            node, "uses both `break` and `continue` in a loop over a table of objects", "use only one of the two"
        )
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


def _once(body: Statements, otherwise: Statements, f: Scope) -> ir.For:
    """Return a loop of one iteration, so that `break` and `continue` leave its body."""
    slot, _ = f.temporary()
    return ir.For(ir.SlotTarget(slot), ir.Display("tuple", (ir.Constant(None),)), body, otherwise)


def _own_leaving(node: ast.stmt) -> Iterator[ast.stmt]:
    """Yield the `break` and `continue` of a statement in a loop that belong to that loop."""
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
