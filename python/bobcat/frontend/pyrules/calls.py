"""Calls: what is called, and which of the other modules knows how."""

from __future__ import annotations

import ast
import builtins
import fnmatch
import functools
import types
from typing import TYPE_CHECKING, Any

from bobcat.frontend.pyrules import builtin_calls, constructors, inlining, methods, patterns
from bobcat.frontend.pyrules.bindings import MISSING, Nested
from bobcat.frontend.pyrules.stdlib import EQUIVALENTS
from bobcat.ir import code as ir
from bobcat.model import Decision

if TYPE_CHECKING:
    from bobcat.frontend.pyrules.function import Function


_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)


def lower(node: ast.Call, f: Function) -> ir.Code:
    """The code of a call."""
    if any(isinstance(item, ast.Starred) for item in node.args) or any(item.arg is None for item in node.keywords):
        raise f.cannot(node, "calls with `*` or `**`", "write the arguments out")
    if isinstance(node.func, ast.Name) and isinstance(binding := f.resolve(node.func), Nested):
        return inlining.nested(node, binding, f)
    if isinstance(node.func, ast.Lambda):
        return inlining.nested(node, Nested(node.func, f), f)
    target = f.static(node.func)
    if target is not MISSING:
        return call_object(node, target, f)
    if isinstance(node.func, ast.Attribute):
        return methods.lower(node, node.func, f)
    raise f.cannot(
        node.func, "calls something that is only known when the rule runs", "call a function by its own name"
    )


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
