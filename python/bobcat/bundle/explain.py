"""Build explanations of decisions from the traces of the core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bobcat import _core
from bobcat.bundle.explain_function import explain_function
from bobcat.bundle.explanation import (
    KINDS,
    Clause,
    Connective,
    ExplainedComparison,
    Explanation,
    RuleExplanation,
)
from bobcat.bundle.model import Policy
from bobcat.ir.pretty import path_text
from bobcat.ir.schema import FunctionRule, HostRule, IrRule
from bobcat.ir.spelling import run_path

if TYPE_CHECKING:
    from bobcat._core import RunState
    from bobcat.model.decision import ActionRequest, ExecutionContext


def explain(
    bundle: Policy,
    request: ActionRequest,
    context: ExecutionContext | None = None,
    state: RunState | None = None,
) -> Explanation:
    """Return the decision of `bundle` on `request`, and the outcome of every rule. `context` replaces the request's;
    `state` is that of its run.

    Raises `TypeError` for a wrong bundle or request type.
    """
    given = (context,) if state is None else (context, state)
    decision, traces = _core.explain(bundle, request, *given)
    rules = tuple(_rule(bundle, trace) for trace in traces)
    return Explanation(decision, rules, bundle.id)


def _rule(bundle: Policy, trace: Any) -> RuleExplanation:  # Any: nested tuples, see _core.pyi
    index, outcome, error, tree, done = trace
    rule = bundle.ir.rules[index]
    source_map = bundle.source_map
    span = source_map.rule_span(index) if source_map is not None else None
    verdict: str | None = None
    match rule:
        case IrRule():
            name, verdict = str(rule.id), rule.verdict
        case FunctionRule() | HostRule():
            name = rule.name
    return RuleExplanation(
        name,
        KINDS[type(rule)],
        outcome,
        verdict,
        error,
        _clause(bundle, index, tree) if tree is not None else None,
        explain_function(bundle, index, done) if done is not None else None,
        span,
    )


def _clause(bundle: Policy, rule: int, tree: Any) -> Clause:  # Any: nested tuples, see _core.pyi
    if tree[0] != "leaf":
        kind, outcome, children = tree
        return Connective(kind, outcome, tuple(_clause(bundle, rule, child) for child in children))
    _, outcome, head, path, op, operand, value, error, leaf, parsed = tree
    span = bundle.source_map.leaf_span(rule, leaf) if bundle.source_map is not None else None
    text = run_path(path[0], bundle.ir.memory) if head == "run" else path_text(head, path)
    return ExplainedComparison(outcome, text, op, operand, value, error, span, parsed)
