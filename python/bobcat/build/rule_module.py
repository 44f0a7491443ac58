"""Modules of rules: import from a file, the modules it imported, and the rules it defines.

Only the module and its own imports are imported. Its exceptions are reported as input errors, without a traceback.
"""

from __future__ import annotations

import ast
import sys
import traceback
import types
from collections.abc import Container, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from bobcat.errors import UserCodeError
from bobcat.logs.python_output import safe_python_output

_REQUEST = ("request", "req")
_CONTEXT = ("context", "ctx")


@dataclass(frozen=True, slots=True)
class RuleModule:
    """A loaded module. `rules` are its marked functions, built rules and built policies, in the order of its names.

    `imported` lists the modules that its import has loaded, except Bobcat's and private ones. `unmarked` lists
    unused functions of the module with the signature of a rule that are not marked as rules.
    """

    name: str
    text: str
    rules: tuple[Any, ...]  # Any: what a rule is, the compiler decides
    imported: tuple[str, ...]
    unmarked: tuple[str, ...]


@safe_python_output()
def load_rules(text: str, path: str) -> RuleModule:
    """Import a module of rules and find its rules."""
    # Modules that Bobcat itself loads for rules do not count as imports of the module.
    for own in ("bobcat.build", "bobcat.compiler"):
        import_module(own)
    before = set(sys.modules)
    module = _run(text, path)
    imported = {name for name in set(sys.modules) - before - {module.__name__} if not _is_hidden(name)}
    found = {id(value): value for value in vars(module).values() if _is_rule(value, module.__name__)}
    if not found:
        raise UserCodeError(f"`{path}` defines no rule; mark its functions: `from bobcat import rule`, `@rule`")
    policies = [value for value in found.values() if is_policy(value)]
    inside = {id(item) for policy in policies for item in getattr(policy, "rules", ())}
    rules = tuple(value for key, value in found.items() if key not in inside)
    return RuleModule(path, text, rules, tuple(sorted(imported)), tuple(_unmarked(module, text, found)))


def _unmarked(module: types.ModuleType, text: str, rules: Container[int]) -> Iterator[str]:
    used = {node.id for node in ast.walk(ast.parse(text)) if type(node) is ast.Name and type(node.ctx) is ast.Load}
    for name, value in vars(module).items():
        if isinstance(value, types.FunctionType) and value.__module__ == module.__name__ and id(value) not in rules:
            code = value.__code__
            taken = code.co_varnames[: code.co_argcount]
            if (
                name not in used
                and not name.startswith("_")
                and len(taken) == 2
                and taken[0] in _REQUEST
                and taken[1] in _CONTEXT
            ):
                yield name


def is_policy(value: object) -> bool:
    """Return true if an object is a policy built in Python."""
    return not isinstance(value, type) and callable(getattr(value, "__bobcat_policy__", None))


def _run(text: str, path: str) -> types.ModuleType:
    name = Path(path).stem
    module = types.ModuleType(name if name not in sys.modules else f"{name} (rules)")
    module.__file__ = path
    here = str(Path(path).resolve().parent)
    if here not in sys.path:
        sys.path.insert(0, here)
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, path, "exec", dont_inherit=True), vars(module))
    except SyntaxError as error:
        raise UserCodeError(f"{error.filename or path}:{error.lineno or 1}:{error.offset or 1}: {error.msg}") from error
    except (Exception, SystemExit) as error:  # importing runs the user's code, which may raise anything
        raise UserCodeError(f"{_place(error, path)}: its import raises {type(error).__name__}: {error}") from error
    return module


def _place(error: BaseException, path: str) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return f"{path}:{lines[-1]}" if lines else path


def _is_hidden(name: str) -> bool:
    return name.partition(".")[0] == "bobcat" or any(part.startswith("_") for part in name.split("."))


def _is_rule(value: Any, module: str) -> bool:  # Any: whatever a module holds
    from bobcat.model.rule_decorator import options_of

    if isinstance(value, type):
        return False
    if is_policy(value) or callable(getattr(value, "__bobcat_rule__", None)):
        return True
    return options_of(value) is not None and getattr(value, "__module__", module) == module
