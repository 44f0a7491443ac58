"""Constructors of decisions."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from bobcat.frontend.python.analysis.kinds import InferredKind
from bobcat.frontend.python.analysis.scope import Scope
from bobcat.frontend.python.lowering.obligations import obligations_of
from bobcat.ir import code as ir
from bobcat.model import constructors
from bobcat.model.decision import Decision, Verdict

VERDICTS: dict[Callable[..., Any], ir.DecisionVerdict] = {  # Any: constructors
    constructors.allow: "allow",
    constructors.deny: "deny",
    constructors.dry_run: "dry_run",
    constructors.approve_required: "approve_required",
    constructors.transform: "transform",
}


def lower(node: ast.Call, constructor: Callable[..., Any], f: Scope) -> ir.Code:  # Any: a constructor
    """Lower a call of one of the five constructors."""
    verdict = VERDICTS[constructor]
    parameters = inspect.signature(constructor).parameters.values()
    by_position = [item.name for item in parameters if item.kind is not inspect.Parameter.KEYWORD_ONLY]
    names = [item.name for item in parameters]
    given = _by_name(node, names, f, by_position=len(by_position))
    if verdict in ("deny", "transform") and names[0] not in dict(given):
        raise f.error_at(node, f"calls `{verdict}` without `{names[0]}`", f"give `{names[0]}`")
    _check_kinds(given, f)
    args = [(name, f.value(item)) for name, item in given]
    if verdict == "approve_required" and "timeout_seconds" not in dict(given):
        args.append(("timeout_seconds", ir.Constant(constructors.DEFAULT_APPROVAL_SECONDS)))
    return ir.MakeDecision(verdict, tuple(args))


_FIELDS = [item.name for item in dataclasses.fields(Decision)]


def of_class(node: ast.Call, f: Scope) -> ir.Code:
    """`Decision(Verdict.DENY, "no")`."""
    given = _by_name(node, _FIELDS, f, by_position=len(_FIELDS))
    verdict = f.static(dict(given)["verdict"]) if "verdict" in dict(given) else None
    if not isinstance(verdict, Verdict):
        raise f.error_at(
            node, "makes a decision whose verdict is only known at run time", "write `Verdict.DENY` or another member"
        )
    names = {"approve_required": {"approvers", "timeout_seconds", "approvals_needed"}, "transform": {"transform_args"}}
    allowed = {"verdict", "reason", "matched_rules", "obligations"} | names.get(str(verdict), set())
    duties = dict(given).get("obligations")
    for name, item in given:
        if name not in allowed:
            raise f.error_at(
                item,
                f"gives a decision `{verdict}` the field `{name}`",
                f"leave it out: it has no meaning in `{verdict}`",
            )
    _check_kinds(given, f)
    args = [(name, f.value(item)) for name, item in given if name not in ("verdict", "obligations")]
    if verdict is Verdict.APPROVE_REQUIRED and "timeout_seconds" not in dict(given):
        args.append(("timeout_seconds", ir.Constant(None)))
    if verdict is Verdict.TRANSFORM and "transform_args" not in dict(given):
        raise f.error_at(node, "transforms without `transform_args`", "pass the new arguments")
    obligations = () if duties is None else obligations_of(duties, verdict, f)
    return ir.MakeDecision(verdict.value, tuple(args), obligations or UNSET)


_EXPECTED: dict[str, tuple[frozenset[InferredKind], str]] = {
    "reason": (frozenset({"str"}), "a text"),
    "args": (frozenset({"dict"}), "the new arguments, a dict"),
    "transform_args": (frozenset({"dict"}), "the new arguments, a dict"),
}
_KNOWN: frozenset[InferredKind] = frozenset(
    {"num", "str", "bytes", "list", "tuple", "dict", "set", "none", "datetime", "decision"}
)


def _check_kinds(given: list[tuple[str, ast.expr]], f: Scope) -> None:
    """Warn about arguments whose type is definitely wrong."""
    for name, item in given:
        if name == "obligations":
            continue
        kinds, what = _EXPECTED.get(name, (_KNOWN, ""))
        if (kind := f.kind(item)) in _KNOWN and kind not in kinds:
            f.warn_at(item, f"passes a decision `{ast.unparse(item)}` as its `{name}`", f"give it {what}")


def _by_name(node: ast.Call, names: list[str], f: Scope, *, by_position: int) -> list[tuple[str, ast.expr]]:
    if len(node.args) > by_position:
        raise f.error_at(node, "passes a decision too many arguments", f"its parameters are {', '.join(names)}")
    given = list(zip(names, node.args, strict=False))
    for keyword in node.keywords:
        if keyword.arg not in names or keyword.arg in dict(given):
            raise f.error_at(
                keyword.value,
                f"passes a decision the argument `{keyword.arg}`",
                f"its parameters are {', '.join(names)}",
            )
        given.append((keyword.arg, keyword.value))
    return given
