"""Human-readable listing of a policy's IR. Not parsed back, never hashed."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from bobcat.ir.canonical import encode_value
from bobcat.ir.constants import from_const
from bobcat.ir.pretty_code import body_lines
from bobcat.ir.schema import (
    AllExpr,
    AllFormula,
    AnyExpr,
    AnyFormula,
    AnyRule,
    CallEvent,
    Const,
    Definition,
    Expr,
    Formerly,
    Formula,
    FormulaDefinition,
    FunctionRule,
    HostRule,
    IrPolicy,
    IrRule,
    Leaf,
    Measure,
    NotExpr,
    NotFormula,
    Obligation,
    Operator,
    Previous,
    ResultEvent,
    Since,
    Source,
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
    memory = {} if policy.memory is UNSET else policy.memory
    defined = (definition_text(name, definition) for name, definition in sorted(memory.items()))
    return (
        "\n\n".join([head, *defined, *(rule_text(rule, its) for rule, its in zip(policy.rules, known, strict=True))])
        + "\n"
    )


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
            monitored = "" if isinstance(rule.mode, UnsetType) else ", monitored"
            lines = [f"{const_text(rule.id, bare=True)}: {rule.verdict}, priority {rule.priority}{monitored}"]
            lines.extend(_details(rule))
            lines.extend(_INDENT + line for line in expr_lines(rule.match))
            return "\n".join(lines)


def definition_text(name: str, definition: Definition) -> str:
    """List one definition: its name and options, then its expressions, one clause a line."""
    match definition:
        case Measure(of, field, within, by, this):
            kind = "count" if isinstance(field, UnsetType) else f"sum of {path_text('args', field)}"
            options = "" if isinstance(by, UnsetType) else f", by {by}"
            options += ", with this call" if this else ""
            lines = [f"{name}: {kind}{_within(within)}{options}", *_indented((of,))]
        case Source(of, fields, links, where, asked_with):
            shown = ", ".join(path_text("record", field) for field in fields)
            lines = [f"{name}: {'links in' if links else 'values of'} {shown}", *_indented((of,))]
            if not isinstance(where, UnsetType):
                lines.extend([f"{_INDENT}where", *(_INDENT + line for line in _indented((where,)))])
            if asked_with:
                lines.append(f"{_INDENT}asked with {', '.join(asked_with)}")
        case FormulaDefinition(formula):
            lines = [f"{name}: formula", *(_INDENT + line for line in formula_lines(formula))]
    return "\n".join(lines)


def formula_lines(formula: Formula) -> list[str]:
    """Format a formula, each operator above its indented parts."""
    match formula:
        case CallEvent(match):
            return ["call", *_indented((match,))]
        case ResultEvent(match):
            return ["result", *_indented((match,))]
        case AllFormula(items):
            head, parts = "all", items
        case AnyFormula(items):
            head, parts = "any", items
        case NotFormula(item):
            head, parts = "not", (item,)
        case Previous(item, within):
            head, parts = f"previous{_within(within)}", (item,)
        case Formerly(item, within):
            head, parts = f"formerly{_within(within)}", (item,)
        case Since(holds, start, within):
            head, parts = f"since{_within(within)}: start, then holds", (start, holds)
    return [head, *(_INDENT + line for part in parts for line in formula_lines(part))]


def _within(micros: int | UnsetType) -> str:
    return "" if isinstance(micros, UnsetType) else f" within {micros / 1_000_000:g} s"


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
    if not isinstance(rule.obligations, UnsetType):
        details.extend(f"{_INDENT}obligation {obligation_text(each)}" for each in rule.obligations)
    return details


def obligation_text(obligation: Obligation) -> str:
    """Format an obligation in one line."""
    return f"{obligation.name} {obligation.phase} the effect: {const_text(obligation.value)}"


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
    if isinstance(operand, dict) and "sources" in operand:
        return f"{op} {', '.join(operand['sources'])}"
    if isinstance(operand, dict) and "places" in operand:
        return f"{op} {' or '.join(comparison_text('', place).strip() for place in operand['places'])}"
    if isinstance(operand, dict) and "tests" in operand and op == "any_of":
        return f"({' or '.join(comparison_text(item['op'], item['operand']) for item in operand['tests'])})"
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
