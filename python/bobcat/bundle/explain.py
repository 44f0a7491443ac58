"""Build explanations of decisions from the traces of the core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UnsetType

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
    monitored = bundle.monitored
    others = traces if monitored is None else _core.explain(monitored, request, *given)[1]
    rules = tuple(_rule(bundle, *pair) for pair in zip(traces, others, strict=True))
    return Explanation(decision, rules, bundle.id)


# Any: nested tuples, see _core.pyi.
def _rule(bundle: Policy, trace: Any, other: Any) -> RuleExplanation:
    """Explain one rule; a monitored one by its trace in the policy with such rules in force."""
    rule = bundle.ir.rules[trace[0]]
    monitored = isinstance(rule, IrRule) and not isinstance(rule.mode, UnsetType)
    index, outcome, error, tree, done = other if monitored else trace
    if monitored:
        outcome = "monitored"
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
