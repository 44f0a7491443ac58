"""Lowering of calls: dispatch by callee to the module that supports it."""

from __future__ import annotations

import ast
import builtins
import fnmatch
import functools
import types
from typing import Any

from bobcat.frontend.python.analysis.bindings import MISSING
from bobcat.frontend.python.analysis.scope import Nested, Scope
from bobcat.frontend.python.analysis.stdlib import EQUIVALENTS
from bobcat.frontend.python.lowering import (
    arguments,
    builtin_calls,
    constructors,
    dispatch_tables,
    facets,
    inlining,
    methods,
    patterns,
)
from bobcat.frontend.python.lowering.operators import after
from bobcat.frontend.python.lowering.raising import no_attribute, type_error
from bobcat.ir import code as ir
from bobcat.model.decision import Decision

_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)


def lower(node: ast.Call, f: Scope) -> ir.Code:
    """Lower a call."""
    written = arguments.written_out(node, f)
    if written is not node:
        code = lower(written, f)
        f.call_kinds[id(node)] = (node, f.kind(written))
        return code
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
    raise f.error_at(node.func, "calls a function that is only known at run time", "call a function by its own name")


def _of_item(node: ast.Call, f: Scope) -> ir.Code | None:
    """Lower a call of a table item, of its method, or with it as an argument; None for any other call."""
    if f.kind(node.func) == "choice":
        return dispatch_tables.each(
            node, node.func, lambda: _not_called(node, f), lambda item: ast.Call(item, node.args, node.keywords), f
        )
    match node.func:
        case ast.Attribute(value=of, attr=name) if f.kind(of) == "choice":

            def called(item: ast.expr) -> ast.expr:
                method = ast.copy_location(ast.Attribute(item, name, ast.Load()), node.func)
                return ast.Call(method, node.args, node.keywords)

            return dispatch_tables.each(node, of, no_attribute, called, f)
        case _:
            chosen = dispatch_tables.dispatch_table(node, f)
            return None if chosen is None else dispatch_tables.number(chosen, f)


def _not_called(node: ast.Call, f: Scope) -> ir.Code:
    """Lower a call of None: evaluate the arguments, then raise as Python does."""
    given = [f.raw(item) for item in (*node.args, *(keyword.value for keyword in node.keywords))]
    return after(given, type_error())


def call_object(node: ast.Call, target: Any, f: Scope) -> ir.Code:  # Any: every object
    """Lower a call of an object known at compile time."""
    target = EQUIVALENTS.get(target, target) if isinstance(target, _FUNCTIONS) else target
    if isinstance(target, types.FunctionType) and target in constructors.VERDICTS:
        return constructors.lower(node, target, f)
    if target is Decision:
        return constructors.of_class(node, f)
    if isinstance(target, types.FunctionType) and target in facets.CALLED:
        return facets.called(node, target, f)
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
    raise f.error_at_value(
        node.func,
        target,
        "calls",
        "use supported Python (docs/reference/python-rules.md), or keep this rule as a host rule "
        '(`uncompiled="callable"`)',
    )
