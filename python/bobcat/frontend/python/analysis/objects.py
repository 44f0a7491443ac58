"""Compile-time objects of expressions: modules, classes, patterns, frozen fields."""

from __future__ import annotations

import ast
import dataclasses
import enum
import re
import types
from typing import Any

from bobcat.frontend.python.analysis.bindings import MISSING, Static
from bobcat.frontend.python.analysis.changes import changing_names
from bobcat.frontend.python.analysis.scope import Scope
from bobcat.frontend.python.analysis.source import NoSource, module_of_file
from bobcat.frontend.python.lowering import patterns


def static(node: ast.expr, f: Scope) -> Any:  # Any: every object, or MISSING
    """Resolve an expression to the object known at compile time."""

    match node:
        case ast.Name():
            binding = f.resolve(node)
            return binding.value if isinstance(binding, Static) else MISSING
        case ast.Attribute(value=value, attr=name):
            owner = static(value, f)
            return MISSING if owner is MISSING else _member(node, owner, name, f)
        case ast.Subscript(value=value, slice=ast.Constant(value=key)):
            owner = static(value, f)
            if type(owner) in (dict, types.MappingProxyType) and key in owner and not _is_data(owner[key]):
                return owner[key]
            return MISSING
        case ast.Call():
            return patterns.static_pattern(node, f)
        case _:
            return MISSING


def _is_data(value: object) -> bool:
    return value is None or type(value) in (bool, int, float, str, bytes, list, tuple, dict, set, frozenset)


def _member(node: ast.Attribute, owner: Any, name: str, f: Scope) -> Any:  # Any: every object
    """Resolve an attribute of an object with constant attributes."""

    if isinstance(owner, types.ModuleType):
        try:
            value = getattr(owner, name)
        except AttributeError as error:
            problem = f"reads `{name}`, which `{owner.__name__}` does not have"
            raise f.error_at(node, problem, "correct the spelling") from error
        if _is_data(value):
            _check_module(node, owner, name, f)
        return value
    if isinstance(owner, enum.Enum):
        return getattr(owner, name) if name in ("value", "name") else MISSING
    if isinstance(owner, type):
        return _class_member(node, owner, name, f)
    if isinstance(owner, tuple) and name in getattr(owner, "_fields", ()):
        return getattr(owner, name)
    if isinstance(owner, re.Pattern) and name == "pattern":
        return owner.pattern
    if isinstance(owner, re.Pattern) or type(owner).__module__ == "builtins":
        return MISSING
    if callable(getattr(type(owner), name, None)):
        return getattr(owner, name)
    if name in (getattr(owner, "__dict__", None) or {}) or dataclasses.is_dataclass(owner):
        if _is_never_reassigned(owner, name, f):
            return getattr(owner, name, MISSING)
        raise f.error_at(
            node,
            f"reads `{name}` of an object that may change",
            "make it a frozen dataclass, a NamedTuple or a name of the module",
            kind="impure",
        )
    return MISSING


def _class_member(node: ast.Attribute, owner: type, name: str, f: Scope) -> Any:  # Any: every object

    if issubclass(owner, enum.Enum) and name in owner.__members__:
        return owner.__members__[name]
    if owner in (str, dict, list, tuple, set) and isinstance(getattr(owner, name, None), types.MethodDescriptorType):
        return getattr(owner, name)
    if owner.__module__ == "builtins" or not hasattr(owner, name):
        return MISSING
    if owner.__name__ in changing_names(f.module.tree):
        raise f.error_at(
            node,
            f"reads `{name}` of a class that changes in line {changing_names(f.module.tree)[owner.__name__]}",
            "assign the name once",
            kind="impure",
        )
    return getattr(owner, name)


def _is_never_reassigned(owner: object, name: str, f: Scope) -> bool:
    """Return true if no code assigns a field of an object after `__init__`."""
    parameters = getattr(type(owner), "__dataclass_params__", None)
    if parameters is not None and parameters.frozen:
        return True
    if type(owner).__module__ != f.module_name:
        return False
    inside = {
        inner
        for node in ast.walk(f.module.tree)
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
        for inner in ast.walk(node)
    }
    return not any(
        isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.ctx, ast.Store | ast.Del)
        and node not in inside
        for node in ast.walk(f.module.tree)
    )


def _check_module(node: ast.Attribute, module: types.ModuleType, name: str, f: Scope) -> None:
    """Reject a name that changes in another module, if the source of that module is available."""
    try:
        tree = module_of_file(getattr(module, "__file__", None), vars(module)).tree
    except NoSource:
        return
    line = changing_names(tree).get(name)
    if line is not None:
        raise f.error_changing(node, f"{module.__name__}.{name}", line)
