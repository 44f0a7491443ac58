"""Calls: what is called, and which of the other modules knows how."""

from __future__ import annotations

import ast
import builtins
import fnmatch
import functools
import types
from typing import TYPE_CHECKING, Any

from bobcat.frontend.pyrules import arguments, builtin_calls, choices, constructors, inlining, methods, patterns
from bobcat.frontend.pyrules.bindings import MISSING, Nested
from bobcat.frontend.pyrules.stdlib import EQUIVALENTS
from bobcat.ir import code as ir
from bobcat.model import Decision

if TYPE_CHECKING:
    from bobcat.frontend.pyrules.function import Function


_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)


def lower(node: ast.Call, f: Function) -> ir.Code:
    """The code of a call."""
    written = arguments.written_out(node, f)
    if written is not node:
        made = lower(written, f)
        f.call_kinds[id(node)] = (node, f.kind(written))
        return made
    if isinstance(node.func, ast.Name):
        binding = f.resolve(node.func)
        if isinstance(binding, Nested):
            return inlining.nested(node, binding, f)
        method = f.alias(node.func)
        if isinstance(method, ast.Attribute):
            return methods.lower(node, method, f)
    if isinstance(node.func, ast.Lambda):
        return inlining.nested(node, Nested(node.func, f), f)
    target = f.static(node.func)
    if target is not MISSING:
        return call_object(node, target, f)
    found = _of_item(node, f)
    if found is not None:
        return found
    if isinstance(node.func, ast.Attribute):
        return methods.lower(node, node.func, f)
    raise f.cannot(
        node.func, "calls something that is only known when the rule runs", "call a function by its own name"
    )


def _of_item(node: ast.Call, f: Function) -> ir.Code | None:
    """A call of an item of a table, of a method of it, or one that takes an item; None for any other."""
    from bobcat.frontend.pyrules.expressions import no_attribute  # which calls this

    if f.kind(node.func) == "choice":
        return choices.each(
            node, node.func, lambda: _not_called(node, f), lambda item: ast.Call(item, node.args, node.keywords), f
        )
    match node.func:
        case ast.Attribute(value=of, attr=name) if f.kind(of) == "choice":

            def called(item: ast.expr) -> ast.expr:
                method = ast.copy_location(ast.Attribute(item, name, ast.Load()), node.func)
                return ast.Call(method, node.args, node.keywords)

            return choices.each(node, of, no_attribute, called, f)
        case _:
            chosen = choices.choice(node, f)
            return None if chosen is None else choices.number(chosen, f)


def _not_called(node: ast.Call, f: Function) -> ir.Code:
    """What Python answers to a call of None: its arguments are evaluated first."""
    given = [f.raw(item) for item in (*node.args, *(keyword.value for keyword in node.keywords))]
    return ir.Item(ir.Display("tuple", (*given, methods.type_error())), ir.Constant(-1))


def call_object(node: ast.Call, target: Any, f: Function) -> ir.Code:  # Any: every object
    """A call of an object that is known when the rule is compiled."""
    target = EQUIVALENTS.get(target, target) if isinstance(target, _FUNCTIONS) else target
    if isinstance(target, types.FunctionType) and target in constructors.VERDICTS:
        return constructors.lower(node, target, f)
    if target is Decision:
        return constructors.of_class(node, f)
    name = getattr(target, "__name__", "")
    if isinstance(target, types.BuiltinFunctionType | type) and getattr(builtins, name, None) is target:
        return builtin_calls.lower(node, name, f)
    if isinstance(target, types.FunctionType) and target in patterns.SEARCHES:
        return patterns.search(node, patterns.SEARCHES[target], f)
    if target is fnmatch.fnmatchcase:
        return patterns.filename(node, f)
    if isinstance(target, types.MethodDescriptorType) and target.__objclass__ in (str, dict, list, tuple, set):
        return methods.unbound(node, target, f)
    if isinstance(target, types.FunctionType | types.MethodType | functools.partial) or inlining.is_callable_object(
        target
    ):
        return inlining.function(node, target, f)
    raise f.cannot_value(
        node.func, target, "calls", 'write it in the subset, or keep this rule as a host rule (`host="allow"`)'
    )
