"""The obligations of a decision that a function makes: constants, checked as those of a rule in YAML are.

`require_reason` and `rate_limit` are rules of their own, which a function cannot make.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from bobcat.frontend.python.analysis.bindings import MISSING
from bobcat.frontend.python.analysis.scope import Scope
from bobcat.frontend.strict.key_syntax import KeySyntaxError, split
from bobcat.frontend.strict.obligations import FIXED, HOLDING, MAX_OBLIGATIONS, NAME_PATTERN, PHASES, REDACTED
from bobcat.ir import construct
from bobcat.ir.canonical import EncodingError, encode_value
from bobcat.ir.constants import to_const
from bobcat.ir.schema import Const
from bobcat.ir.schema import Obligation as IrObligation
from bobcat.model.decision import Obligation, Verdict

_CONSTANT = "gives a decision an obligation that is only known at run time"
_WRITE = 'write `Obligation("notify", "treasury", "after")`, or a name of the module'
_FIELDS = ("name", "value", "phase")


def obligations_of(node: ast.expr, verdict: Verdict, f: Scope) -> tuple[IrObligation, ...]:
    """Lower the argument `obligations` of a decision with this verdict."""
    found = f.known(node)
    if found is MISSING and isinstance(node, ast.Tuple | ast.List):
        given = [(_obligation(item, f), item) for item in node.elts]
    elif isinstance(found, tuple | list):
        f.constant_name(node, found)
        given = [(item, node) for item in found]
    else:
        raise f.error_at(node, _CONSTANT, "write a tuple of obligations, or a name of the module")
    if len(given) > MAX_OBLIGATIONS:
        raise f.error_at(node, f"gives a decision {len(given)} obligations", f"give at most {MAX_OBLIGATIONS}")
    return tuple([_checked(item, verdict, place, f) for item, place in given])


def _obligation(node: ast.expr, f: Scope) -> Any:  # Any: an object of the module; `_checked` judges it
    """Return the obligation that an expression is at compile time."""
    found = f.known(node)
    if found is not MISSING:
        return found
    if not isinstance(node, ast.Call) or f.known(node.func) is not Obligation:
        raise f.error_at(node, _CONSTANT, _WRITE)
    keywords = [(keyword.arg, keyword.value) for keyword in node.keywords]
    pairs = [*zip(_FIELDS, node.args, strict=False), *keywords]
    names = [name for name, _ in pairs]
    if len(node.args) > len(_FIELDS) or len(set(names)) < len(names) or not set(names) <= set(_FIELDS):
        raise f.error_at(node, "passes an obligation other arguments", f"its parameters are {', '.join(_FIELDS)}")
    if "name" not in names:
        raise f.error_at(node, "makes an obligation without a name", _WRITE)
    return Obligation(**{str(name): _constant(item, f) for name, item in pairs})


def _constant(node: ast.expr, f: Scope) -> Any:  # Any: every object
    found = f.known(node)
    if found is not MISSING:
        f.constant_name(node, found)
        return found
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise f.error_at(node, _CONSTANT, "its parameters are constants") from None


def _checked(found: object, verdict: Verdict, node: ast.expr, f: Scope) -> IrObligation:
    if not isinstance(found, Obligation):
        raise f.error_at(node, f"gives a decision `{type(found).__name__}` as an obligation", _WRITE)
    name, phase = found.name, found.phase
    if not isinstance(name, str) or NAME_PATTERN.fullmatch(name) is None:
        problem = f"gives an obligation the name {name!r}"
        raise f.error_at(node, problem, "use small letters, digits, `_`, `.` and `-`, at most 64, a letter first")
    if name in HOLDING:
        raise f.error_at(node, f"gives a decision the obligation `{name}`", "write that rule in YAML")
    if phase not in PHASES or (name in FIXED and phase != "before"):
        raise f.error_at(node, f"gives the obligation `{name}` the phase {phase!r}", f"write {' or '.join(PHASES)}")
    problem = _PROBLEMS[name](found.value) if name in _PROBLEMS else ""
    if problem:
        raise f.error_at(node, f"gives the obligation `{name}` a value that {problem}", "see the table of obligations")
    return construct.obligation(name, _value(found, node, f), phase)


def _value(found: Obligation, node: ast.expr, f: Scope) -> Const:
    try:
        if found.name == "redact":
            return [list(path) for path in redacted(found.value)]
        const = to_const(_listed(found.value), "strict")
        encode_value(const)
    except (TypeError, ValueError, EncodingError, RecursionError) as error:
        raise f.error_at(node, f"gives the obligation `{found.name}` no JSON: {error}", "use JSON values") from error
    return const


def _listed(value: Any) -> Any:  # Any: JSON, with tuples for lists
    if isinstance(value, list | tuple):
        return [_listed(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _listed(item) for name, item in value.items()}
    return value


def redacted(value: object) -> list[tuple[str, ...]]:
    """Return the paths of a `redact`: texts such as `args.card`, or their steps. Raises `ValueError`."""
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not items:
        raise ValueError("it names no path")
    paths = []
    for item in items:
        try:
            steps = tuple(step.text for step in split(item)) if isinstance(item, str) else tuple(item)
        except (KeySyntaxError, TypeError) as error:
            raise ValueError(f"{item!r} is not a path: {error}") from error
        if not steps or steps[0] not in REDACTED or not all(isinstance(step, str) for step in steps):
            raise ValueError(f"{item!r} is not a path below {' or '.join(REDACTED)}")
        paths.append(steps)
    return paths


def _redact_problem(value: object) -> str:
    try:
        redacted(value)
    except ValueError as error:
        return f"is refused: {error}"
    return ""


def _tag_problem(value: object) -> str:
    fine = (
        isinstance(value, Mapping)
        and value
        and all(isinstance(name, str) and type(item) in (str, int, bool) for name, item in value.items())
    )
    return "" if fine else "is no mapping of names to texts, whole numbers and bools"


def _notify_problem(value: object) -> str:
    return "" if isinstance(value, str) and value else "names no person, group or channel"


_PROBLEMS = {"redact": _redact_problem, "tag": _tag_problem, "notify": _notify_problem}
