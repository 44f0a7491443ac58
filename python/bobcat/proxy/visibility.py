"""Tools that a policy could permit: a sound approximation from the compiled rules.

A tool is hidden only if no call of it, whatever its arguments, time and `extra`, can have another verdict than deny.
Each comparison on a known path (the tool, its declaration, the principal, the environment, the workspace) is evaluated
by the core; every other one may have any outcome.
"""

from __future__ import annotations

from functools import lru_cache

from bobcat._core import Program, explain
from bobcat.bundle import Policy
from bobcat.ir import canonical, construct
from bobcat.ir.schema import AllExpr, AnyExpr, Expr, IrRule, Leaf, NotExpr, VerdictName
from bobcat.ir.visit import refs
from bobcat.model.decision import ActionRequest, Verdict

TRUE, FALSE, OTHER = 1, 2, 4
"""Possible outcomes of an expression, as a set; OTHER is absent or error."""
ANY = TRUE | FALSE | OTHER

_PERMITTING = ("allow", "transform")
_KNOWN_CONTEXT = ("environment", "workspace", "principal")
_OUTCOMES = {"true": TRUE, "false": FALSE}


def may_permit(policy: Policy, request: ActionRequest) -> bool:
    """Return false only if the policy denies every call of the request's tool by its principal.

    The arguments, the time, the step and `extra` of the request are not read.
    """
    ir = policy.ir
    if ir.profile != "strict":
        return True
    fails = ir.defaults.on_rule_error == "deny"
    for rule in ir.rules:
        if not isinstance(rule, IrRule):
            return True
        outcomes = _outcomes(rule.match, request, rule.verdict)
        if rule.verdict != "deny":
            if outcomes & TRUE:
                return True
            if rule.verdict not in _PERMITTING and fails and outcomes == OTHER:
                return False
        elif not outcomes & FALSE and (fails or not outcomes & OTHER):
            return False
    declared = request.declared
    irreversible = not declared.reversible and not declared.has_shadow
    default = ir.defaults.on_missing_shadow if irreversible else ir.defaults.on_no_match
    return Verdict(default) is not Verdict.DENY


def _outcomes(expr: Expr, request: ActionRequest, verdict: VerdictName) -> int:
    match expr:
        case Leaf():
            return _leaf(expr, request, verdict) if _is_known(expr) else ANY
        case NotExpr():
            found = _outcomes(expr.item, request, verdict)
            return found & OTHER | (TRUE if found & FALSE else 0) | (FALSE if found & TRUE else 0)
        case AllExpr():
            return _combined([_outcomes(item, request, verdict) for item in expr.items], TRUE, FALSE)
        case AnyExpr():
            return _combined([_outcomes(item, request, verdict) for item in expr.items], FALSE, TRUE)


def _combined(items: list[int], neutral: int, decisive: int) -> int:
    """The outcomes of `all_of` (neutral: true, decisive: false) or `any_of` (the other way round)."""
    if decisive in items:
        return decisive
    found = neutral if all(item & neutral for item in items) else 0
    for item in items:
        found |= item & (decisive | OTHER)
    return found


def _is_known(leaf: Leaf) -> bool:
    if any(refs(leaf.operand)):
        return False
    if leaf.head == "context":
        return bool(leaf.path) and leaf.path[0] in _KNOWN_CONTEXT
    return leaf.head in ("tool", "declared")


def _leaf(leaf: Leaf, request: ActionRequest, verdict: VerdictName) -> int:
    if leaf.head == "tool" and leaf.op == "eq" and isinstance(leaf.operand, str):
        return TRUE if leaf.operand == request.tool else FALSE
    program = _program(canonical.encode(construct.policy([construct.rule("", leaf, "deny")])))
    _, ((_, _, _, comparison, _),) = explain(program, request)
    outcome = comparison[1]
    if outcome == "absent" and verdict not in _PERMITTING:
        return FALSE
    return _OUTCOMES.get(outcome, OTHER)


@lru_cache(maxsize=4_096)
def _program(ir: bytes) -> Program:
    return Program(ir)
