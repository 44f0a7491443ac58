"""Inlining of calls: the callee's body replaces the call, its parameters become locals."""

from __future__ import annotations

import ast
import functools
import sys
import types
from dataclasses import dataclass
from typing import Any

from bobcat.frontend.python.analysis.assignments import own_nodes
from bobcat.frontend.python.analysis.bindings import MISSING, Parameter, Static
from bobcat.frontend.python.analysis.control_flow import as_return
from bobcat.frontend.python.analysis.impure import reads_outside
from bobcat.frontend.python.analysis.kinds import join as join_kinds
from bobcat.frontend.python.analysis.kinds import kind_of_value
from bobcat.frontend.python.analysis.refusal import CannotLower
from bobcat.frontend.python.analysis.scope import Binding, Nested, Scope
from bobcat.frontend.python.analysis.source import FunctionNode, FunctionSource, NoSource, source_of
from bobcat.frontend.python.lowering.raising import SUPPORTED
from bobcat.ir import code as ir

MAX_CALLS = 24
"""Depth of inlined calls in a rule."""


@dataclass(frozen=True, slots=True)
class Target:
    """A function with its bound positional and keyword arguments."""

    fn: types.FunctionType
    args: tuple[Any, ...] = ()  # Any: every object
    keywords: tuple[tuple[str, Any], ...] = ()


def is_callable_object(value: object) -> bool:
    """Return true if calling an object calls a Python function of its class."""
    return not isinstance(value, type) and isinstance(vars(type(value)).get("__call__"), types.FunctionType)


def target_of(value: Any) -> Target | None:  # Any: every object
    """Return the function of a function, a method, a partial or a callable object; None for any other object."""
    args: tuple[Any, ...] = ()
    keywords: dict[str, Any] = {}
    while True:
        if isinstance(value, functools.partial):
            args = (*value.args, *args)
            keywords = {**value.keywords, **keywords}
            value = value.func
        elif isinstance(value, types.MethodType):
            args = (value.__self__, *args)
            value = value.__func__
        elif is_callable_object(value):
            args = (value, *args)
            value = type(value).__call__
        else:
            break
    return Target(value, args, tuple(keywords.items())) if isinstance(value, types.FunctionType) else None


def function(node: ast.Call, value: Any, f: Scope) -> ir.Code:  # Any: every object
    """Lower a call of a function known at compile time."""
    target = target_of(value)
    if target is None:
        raise f.error_at_value(node.func, value, "calls", SUPPORTED)
    outside = reads_outside(value) or reads_outside(target.fn)
    if outside is not None:
        raise f.error_at(node.func, outside[0], outside[1], kind="impure")
    if hasattr(target.fn, "__wrapped__"):
        raise f.error_at(
            node.func, f"calls `{target.fn.__name__}`, which has a decorator", "call the undecorated function"
        )
    try:
        source = source_of(target.fn.__code__, target.fn.__globals__)
    except NoSource as reason:
        problem = f"calls a function whose source cannot be used ({reason}):"
        raise f.error_at_value(node.func, target.fn, problem, SUPPORTED) from reason
    callee = Scope(f.session, source, fn=target.fn)
    defaults: dict[str, Binding] = {}
    names = _positional(source.node)
    given = target.fn.__defaults__ or ()
    defaults.update((name, Static(item)) for name, item in zip(names[len(names) - len(given) :], given, strict=True))
    defaults.update((name, Static(item)) for name, item in (target.fn.__kwdefaults__ or {}).items())
    bound: list[tuple[str, Binding]] = [(name, Static(item)) for name, item in zip(names, target.args, strict=False)]
    if len(target.args) > len(names):
        raise f.error_at(node, "passes too many arguments to a function", "pass only its parameters")
    bound.extend((name, Static(item)) for name, item in target.keywords if name not in {k.arg for k in node.keywords})
    try:
        return _inline(node, callee, (bound, defaults), target.fn.__code__, f)
    except CannotLower as refused:
        inner = refused.refusal
        if inner.span is None or inner.span.file == f.source.place.file:
            raise
        if (target.fn.__module__ or "").partition(".")[0] in sys.stdlib_module_names:
            # The reason that a library cannot be lowered does not help, unless the library is impure.
            if inner.kind == "impure" and "changes in line" not in inner.problem:
                raise f.error_at(node.func, inner.problem, inner.instead, kind="impure") from refused
            raise f.error_at_value(
                node.func, value, "calls", "write its logic in supported Python, or pass its result in `context.extra`"
            ) from refused
        # The report shows the position of the call.
        where = f"{inner.span.file}:{inner.span.line}"
        problem = f"calls `{target.fn.__name__}`, which {inner.problem} ({where})"
        raise f.error_at(node.func, problem, inner.instead, kind=inner.kind) from refused


def nested(node: ast.Call, binding: Nested, f: Scope) -> ir.Code:
    """Lower a call of a nested function."""
    callee = Scope(f.session, FunctionSource(binding.owner.module, binding.node), parent=binding.owner)
    args = binding.node.args
    defaults: dict[str, Binding] = {}
    names = _positional(binding.node)
    pairs = [*zip(names[len(names) - len(args.defaults) :], args.defaults, strict=True)]
    pairs += [(arg.arg, item) for arg, item in zip(args.kwonlyargs, args.kw_defaults, strict=True) if item is not None]
    for name, item in pairs:
        if not isinstance(item, ast.Constant):
            raise binding.owner.error_at(item, "calculates a default", "write a constant")
        defaults[name] = Static(item.value)
    return _inline(node, callee, ([], defaults), binding.node, f)


def _positional(node: FunctionNode) -> list[str]:
    return [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)]


_Bound = tuple[list[tuple[str, Binding]], dict[str, Binding]]


def _inline(node: ast.Call, callee: Scope, bound: _Bound, identity: object, f: Scope) -> ir.Code:
    definition = callee.source.node
    name = getattr(definition, "name", "<lambda>")
    stack = f.session.stack
    if any(item is identity or item == identity for item in stack):
        raise f.error_at(node.func, f"calls `{name}`, which calls itself", "write a loop over existing values")
    if len(stack) >= MAX_CALLS:
        raise f.error_at(node.func, f"is more than {MAX_CALLS} calls deep", "nest fewer calls")
    check_definition(callee)
    parameters = _bind(node, callee, bound, f)
    callee.infer()
    stack.append(identity)
    try:
        body = callee.body(body_of(definition))
    finally:
        stack.pop()
    kind = callee.returned or "none"
    if not isinstance(definition, ast.Lambda) and not isinstance(definition.body[-1], ast.Return):
        kind = join_kinds(kind, "none") or "any"
    f.call_kinds[id(node)] = (node, kind)
    return ir.Inline(tuple(parameters), body)


def body_of(definition: FunctionNode) -> list[ast.stmt]:
    """Return the statements of a function; a lambda returns its expression."""
    return [as_return(definition.body)] if isinstance(definition, ast.Lambda) else definition.body


def check_definition(callee: Scope) -> None:
    """Reject an asynchronous function, a generator, and a function with `**` parameters."""
    definition = callee.source.node
    if isinstance(definition, ast.AsyncFunctionDef):
        raise callee.error_at(definition, "is asynchronous, and rules are synchronous", "make it a plain function")
    for item in own_nodes(definition):
        if isinstance(item, ast.Yield | ast.YieldFrom):
            raise callee.error_at(item, "yields", "return a list")
    if definition.args.kwarg is not None:
        raise callee.error_at(definition.args.kwarg, "accepts arbitrary keyword arguments", "name its parameters")


def _bind(node: ast.Call, callee: Scope, bound: _Bound, f: Scope) -> list[tuple[int, ir.Code]]:
    """Bind the parameters of a callee; return the expressions to evaluate, in call order."""
    definition = callee.source.node
    fixed, defaults = bound
    positional = _positional(definition)[len([name for name, _ in fixed if name in _positional(definition)]) :]
    if fixed and any(name in positional for name, _ in fixed):
        positional = [name for name in _positional(definition) if name not in dict(fixed)]
    every = [*_positional(definition), *(arg.arg for arg in definition.args.kwonlyargs)]
    rest = definition.args.vararg
    if len(node.args) > len(positional) and rest is None:
        raise f.error_at(node, "passes too many arguments to a function", "pass only its parameters")
    given = list(zip(positional, node.args, strict=False))
    only_by_position = {arg.arg for arg in definition.args.posonlyargs}
    for keyword in node.keywords:
        if keyword.arg not in every or keyword.arg in dict(given) or keyword.arg in only_by_position:
            raise f.error_at(
                keyword.value, f"passes a function the unknown argument `{keyword.arg}`", "pass only its parameters"
            )
        given.append((keyword.arg, keyword.value))
    if rest is not None:
        others = ast.copy_location(ast.Tuple(node.args[len(positional) :], ast.Load()), node)
        given.insert(min(len(positional), len(node.args)), (rest.arg, others))
    parameters = [pair for name, item in given if (pair := _argument(callee, name, item, f)) is not None]
    for name, binding in [*fixed, *((name, item) for name, item in defaults.items())]:
        if name in dict(given) or name in callee.bindings:
            continue
        pair = bind_object(callee, name, getattr(binding, "value", None), node, f)
        if pair is not None:
            parameters.append(pair)
    missing = [name for name in every if name not in callee.bindings]
    if missing:
        raise f.error_at(node, f"calls a function without its argument `{missing[0]}`", f"give `{missing[0]}`")
    callee.assigned |= {*every, *([] if rest is None else [rest.arg])}
    return parameters


def _argument(callee: Scope, name: str, item: ast.expr, f: Scope) -> tuple[int, ir.Code] | None:
    constant = name not in _stored(callee.source.node)
    if constant:
        binding = f.resolve(item) if isinstance(item, ast.Name) else None
        if isinstance(item, ast.Lambda):
            binding = Nested(item, f)
        if isinstance(binding, Nested | Parameter):
            f.count(item)
            callee.bindings[name] = binding
            callee.kinds[name] = f.kind(item)
            return None
        value = item.value if isinstance(item, ast.Constant) else f.static(item)
        if isinstance(item, ast.Tuple) and item.elts:
            parts = [part.value if isinstance(part, ast.Constant) else f.static(part) for part in item.elts]
            value = MISSING if any(part is MISSING for part in parts) else tuple(parts)
        if value is not MISSING:
            f.count(item)
            callee.bindings[name] = Static(value)
            callee.kinds[name] = kind_of_value(value)
            return None
    lowered = f.raw(item)
    kind = f.kind(item)
    if kind in ("mixed", "view"):
        f.value(item)
    callee.kinds[name] = kind
    return callee.slot_of(name), lowered


def bind_object(callee: Scope, name: str, value: Any, node: ast.AST, f: Scope) -> tuple[int, ir.Code] | None:
    """Bind a parameter to an object; return the assignment if the function later rebinds the parameter."""
    callee.kinds[name] = kind_of_value(value)
    if name not in _stored(callee.source.node):
        callee.bindings[name] = Static(value)
        return None
    return callee.slot_of(name), f.constant(node, value, name)


def _stored(node: FunctionNode) -> set[str]:
    return {
        item.id for item in own_nodes(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store | ast.Del)
    }
