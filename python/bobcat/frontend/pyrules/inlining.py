"""Calls of other functions: their bodies in place of the calls, their parameters as locals."""

from __future__ import annotations

import ast
import functools
import sys
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bobcat.frontend.pyrules.bindings import MISSING, Binding, Nested, Parameter, Static
from bobcat.frontend.pyrules.impure import reads_outside
from bobcat.frontend.pyrules.inference import own_nodes
from bobcat.frontend.pyrules.kinds import join as join_kinds
from bobcat.frontend.pyrules.kinds import kind_of_value
from bobcat.frontend.pyrules.refusal import CannotLower
from bobcat.frontend.pyrules.source import FunctionNode, FunctionSource, NoSource, source_of
from bobcat.frontend.pyrules.ways import returning
from bobcat.ir import code as ir

if TYPE_CHECKING:
    from bobcat.frontend.pyrules.function import Function

MAX_CALLS = 24
"""Functions that call one another inside of a rule."""


@dataclass(frozen=True, slots=True)
class Target:
    """A function with what is bound to it already: by position, and by name."""

    fn: types.FunctionType
    args: tuple[Any, ...] = ()  # Any: every object
    keywords: tuple[tuple[str, Any], ...] = ()


def is_callable_object(value: object) -> bool:
    """Whether calling an object calls a Python function of its class."""
    return not isinstance(value, type) and isinstance(vars(type(value)).get("__call__"), types.FunctionType)


def target_of(value: Any) -> Target | None:  # Any: every object
    """The function behind a function, a method, a partial or a callable object; None for anything else."""
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


def function(node: ast.Call, value: Any, f: Function) -> ir.Code:  # Any: every object
    """A call of a function that is known when the rule is compiled."""
    from bobcat.frontend.pyrules.function import Function  # which is lowered through here

    target = target_of(value)
    if target is None:
        raise f.cannot_value(node.func, value, "calls", "write it in the subset")
    outside = reads_outside(value) or reads_outside(target.fn)
    if outside is not None:
        raise f.cannot(node.func, f"reads {outside[0]}", outside[1], kind="impure")
    if hasattr(target.fn, "__wrapped__"):
        raise f.cannot(
            node.func, f"calls `{target.fn.__name__}`, which a decorator has wrapped", "call the plain function"
        )
    try:
        source = source_of(target.fn.__code__, target.fn.__globals__)
    except NoSource as reason:
        problem = f"calls a function that cannot be read ({reason}):"
        raise f.cannot_value(node.func, target.fn, problem, "write it in the subset") from reason
    callee = Function(f.session, source, fn=target.fn)
    defaults: dict[str, Binding] = {}
    names = _positional(source.node)
    given = target.fn.__defaults__ or ()
    defaults.update((name, Static(item)) for name, item in zip(names[len(names) - len(given) :], given, strict=True))
    defaults.update((name, Static(item)) for name, item in (target.fn.__kwdefaults__ or {}).items())
    bound: list[tuple[str, Binding]] = [(name, Static(item)) for name, item in zip(names, target.args, strict=False)]
    if len(target.args) > len(names):
        raise f.cannot(node, "gives a function too many arguments", "give it those that it takes")
    bound.extend((name, Static(item)) for name, item in target.keywords if name not in {k.arg for k in node.keywords})
    try:
        return _inline(node, callee, (bound, defaults), target.fn.__code__, f)
    except CannotLower as refused:
        inner = refused.refusal
        if inner.span is None or inner.span.file == f.source.place.file:
            raise
        if (target.fn.__module__ or "").partition(".")[0] in sys.stdlib_module_names:
            # Why a library cannot be lowered helps nobody, unless it reads what a rule must not.
            if inner.kind == "impure" and "changes in line" not in inner.problem:
                raise f.cannot(node.func, inner.problem, inner.instead, kind="impure") from refused
            raise f.cannot_value(
                node.func, value, "calls", "write what it does in the subset, or put what it finds into `context.extra`"
            ) from refused
        # The place that counts for who reads the report is the call.
        where = f"{inner.span.file}:{inner.span.line}"
        problem = f"calls `{target.fn.__name__}`, which {inner.problem} ({where})"
        raise f.cannot(node.func, problem, inner.instead, kind=inner.kind) from refused


def nested(node: ast.Call, binding: Nested, f: Function) -> ir.Code:
    """A call of a function that is defined inside of a function."""
    from bobcat.frontend.pyrules.function import Function  # which is lowered through here

    callee = Function(f.session, FunctionSource(binding.owner.module, binding.node), parent=binding.owner)
    args = binding.node.args
    defaults: dict[str, Binding] = {}
    names = _positional(binding.node)
    pairs = [*zip(names[len(names) - len(args.defaults) :], args.defaults, strict=True)]
    pairs += [(arg.arg, item) for arg, item in zip(args.kwonlyargs, args.kw_defaults, strict=True) if item is not None]
    for name, item in pairs:
        if not isinstance(item, ast.Constant):
            raise binding.owner.cannot(item, "calculates a default", "write a constant")
        defaults[name] = Static(item.value)
    return _inline(node, callee, ([], defaults), binding.node, f)


def _positional(node: FunctionNode) -> list[str]:
    return [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)]


_Bound = tuple[list[tuple[str, Binding]], dict[str, Binding]]


def _inline(node: ast.Call, callee: Function, bound: _Bound, identity: object, f: Function) -> ir.Code:
    definition = callee.source.node
    name = getattr(definition, "name", "<lambda>")
    stack = f.session.stack
    if any(item is identity or item == identity for item in stack):
        raise f.cannot(node.func, f"calls `{name}`, which calls itself", "write a loop over the values that there are")
    if len(stack) >= MAX_CALLS:
        raise f.cannot(node.func, f"is more than {MAX_CALLS} calls deep", "call fewer functions in each other")
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
    """The statements of a function; a lambda returns its expression."""
    return [returning(definition.body)] if isinstance(definition, ast.Lambda) else definition.body


def check_definition(callee: Function) -> None:
    """Refuse a function that does not simply return."""
    definition = callee.source.node
    if isinstance(definition, ast.AsyncFunctionDef):
        raise callee.cannot(definition, "is asynchronous, and a decision is not awaited", "make it a plain function")
    for item in own_nodes(definition):
        if isinstance(item, ast.Yield | ast.YieldFrom):
            raise callee.cannot(item, "yields", "return a list")
    if definition.args.kwarg is not None:
        raise callee.cannot(definition.args.kwarg, "takes any arguments by name", "name its parameters")


def _bind(node: ast.Call, callee: Function, bound: _Bound, f: Function) -> list[tuple[int, ir.Code]]:
    """Bind the parameters of a callee; what has to be evaluated, in the order of the call."""
    definition = callee.source.node
    fixed, defaults = bound
    positional = _positional(definition)[len([name for name, _ in fixed if name in _positional(definition)]) :]
    if fixed and any(name in positional for name, _ in fixed):
        positional = [name for name in _positional(definition) if name not in dict(fixed)]
    every = [*_positional(definition), *(arg.arg for arg in definition.args.kwonlyargs)]
    rest = definition.args.vararg
    if len(node.args) > len(positional) and rest is None:
        raise f.cannot(node, "gives a function too many arguments", "give it those that it takes")
    given = list(zip(positional, node.args, strict=False))
    only_by_position = {arg.arg for arg in definition.args.posonlyargs}
    for keyword in node.keywords:
        if keyword.arg not in every or keyword.arg in dict(given) or keyword.arg in only_by_position:
            raise f.cannot(
                keyword.value, f"gives a function the argument `{keyword.arg}`", "give it those that it takes"
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
        raise f.cannot(node, f"calls a function without its argument `{missing[0]}`", f"give `{missing[0]}`")
    callee.assigned |= {*every, *([] if rest is None else [rest.arg])}
    return parameters


def _argument(callee: Function, name: str, item: ast.expr, f: Function) -> tuple[int, ir.Code] | None:
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


def bind_object(callee: Function, name: str, value: Any, node: ast.AST, f: Function) -> tuple[int, ir.Code] | None:
    """Bind a parameter to an object; what has to be evaluated, when the function gives it another value later."""
    callee.kinds[name] = kind_of_value(value)
    if name not in _stored(callee.source.node):
        callee.bindings[name] = Static(value)
        return None
    return callee.slot_of(name), f.constant(node, value, name)


def _stored(node: FunctionNode) -> set[str]:
    return {
        item.id for item in own_nodes(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store | ast.Del)
    }
