"""Human-readable listing of a policy's IR. Not parsed back, never hashed."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from bobcat.ir.canonical import encode_value
from bobcat.ir.constants import from_const
from bobcat.ir.pretty_code import body_lines
from bobcat.ir.schema import (
    AllExpr,
    AnyExpr,
    AnyRule,
    Const,
    Expr,
    FunctionRule,
    HostRule,
    IrPolicy,
    IrRule,
    Leaf,
    NotExpr,
    Operator,
    Transform,
)
from bobcat.language.kinds import OperandForm
from bobcat.language.operators import ROWS, SIGNS

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*", re.ASCII)
_SIGNS = SIGNS | {row.name: "=~" for row in ROWS if row.operand is OperandForm.PATTERN}
_INDENT = "  "


def policy_text(policy: IrPolicy, names: Sequence[Sequence[str]] = ()) -> str:
    """List the whole policy: a line of defaults, then every rule in evaluation order; `names` are the locals of
    each.
    """
    known = [*names, *((),) * (len(policy.rules) - len(names))]
    defaults = policy.defaults
    head = (
        f"policy profile={policy.profile} language={policy.language_version} on_no_match={defaults.on_no_match} "
        f"on_missing_shadow={defaults.on_missing_shadow} on_rule_error={defaults.on_rule_error}"
    )
    return "\n\n".join([head, *(rule_text(rule, its) for rule, its in zip(policy.rules, known, strict=True))]) + "\n"


def rule_text(rule: AnyRule, names: Sequence[str] = ()) -> str:
    """List one rule: its header, then its match, one clause a line, or its code; `names` are its locals by slot."""
    match rule:
        case HostRule(name, priority, module, qualname, code):
            return f"{name}: host rule, priority {priority}\n{_INDENT}{module}:{qualname} code {code[:16]}"
        case FunctionRule(name, priority, _, body):
            lines = [f"{const_text(name, bare=True)}: Python function, priority {priority}"]
            lines.extend(_INDENT + line for line in body_lines(body, names))
            return "\n".join(lines)
        case IrRule():
            lines = [f"{const_text(rule.id, bare=True)}: {rule.verdict}, priority {rule.priority}"]
            lines.extend(_details(rule))
            lines.extend(_INDENT + line for line in expr_lines(rule.match))
            return "\n".join(lines)


def _details(rule: IrRule) -> list[str]:
    details = []
    if rule.reason:
        details.append(f"{_INDENT}reason {const_text(rule.reason)}")
    if rule.approvers:
        details.append(f"{_INDENT}approvers {', '.join(const_text(item) for item in rule.approvers)}")
    if isinstance(rule.approvals_needed, int):
        details.append(f"{_INDENT}approvals needed {rule.approvals_needed}")
    if rule.timeout_seconds is not None:
        details.append(f"{_INDENT}timeout {const_text(rule.timeout_seconds)} s")
    if rule.transform is not None:
        details.append(f"{_INDENT}{transform_text(rule.transform)}")
    return details


def transform_text(transform: Transform) -> str:
    """Format a transform in one line."""
    target = path_text("args", transform.path)
    if transform.op == "delete":
        return f"delete {target}"
    return f"{transform.op} {target} {const_text(transform.value)}"


def expr_lines(expr: Expr) -> list[str]:
    """Format an expression, one clause a line, connectives above their indented items."""
    match expr:
        case AllExpr(()):
            return ["true"]
        case AnyExpr(()):
            return ["false"]
        case AllExpr(items):
            return ["all", *_indented(items)]
        case AnyExpr(items):
            return ["any", *_indented(items)]
        case NotExpr(item):
            return ["not", *_indented((item,))]
        case Leaf():
            return [leaf_text(expr)]


def _indented(items: tuple[Expr, ...]) -> list[str]:
    return [_INDENT + line for item in items for line in expr_lines(item)]


def leaf_text(leaf: Leaf) -> str:
    """Format one comparison in one line: `args.cmd =~ "^rm"`."""
    return f"{path_text(leaf.head, leaf.path)} {comparison_text(leaf.op, leaf.operand)}"


def comparison_text(op: Operator, operand: Const) -> str:
    """Format an operator and its operand: `== 5`, `== context.principal.id`, `any (== "a" and length > 3)`."""
    if isinstance(operand, dict) and "ref" in operand:
        head, *path = operand["ref"]
        return f"{_SIGNS.get(op, op)} {path_text(head, tuple(path))}"
    if isinstance(operand, dict) and "tests" in operand:
        tests = [comparison_text(item["op"], item["operand"]) for item in operand["tests"]]
        op = path_text("", tuple(operand["path"])).removeprefix(".") if "path" in operand else op
        return f"{op} {tests[0]}" if len(tests) == 1 else f"{op} ({' and '.join(tests)})"
    return f"{_SIGNS.get(op, op)} {const_text(operand)}"


def path_text(head: str, path: tuple[str, ...]) -> str:
    """Format a path in policy syntax, with brackets where a segment needs them."""
    return head + "".join(f".{step}" if _BARE.fullmatch(step) else f"[{json.dumps(step)}]" for step in path)


def const_text(value: Const, *, bare: bool = False) -> str:
    """Format a constant as JSON if possible, else as Python; a `bare` string has no quotes."""
    if bare and isinstance(value, str) and value.isprintable():
        return value
    if isinstance(value, dict):
        if "map" in value:
            body = ", ".join(f"{json.dumps(key)}: {const_text(item)}" for key, item in value["map"].items())
            return f"{{{body}}}"
        if "timestamp" in value:
            return str(from_const(value).isoformat().replace("+00:00", "Z"))
        return repr(from_const(value))
    if isinstance(value, list):
        return f"[{', '.join(const_text(item) for item in value)}]"
    return encode_value(value).decode("utf-8")
