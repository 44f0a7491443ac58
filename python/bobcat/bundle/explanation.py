"""Explanations: how every rule came out on one request, clause by clause, with the place in the source.

`explain` builds one from the trace of the core and the source map of the bundle. It decides nothing itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from bobcat import _core
from bobcat.bundle.function_explanation import Condition, FunctionExplanation, explained
from bobcat.diagnostics import Span
from bobcat.display import safe_text
from bobcat.ir.pretty import path_text
from bobcat.ir.schema import AnyRule, FunctionRule, HostRule, Rule

if TYPE_CHECKING:
    from bobcat.bundle.model import PolicyBundle
    from bobcat.model import ActionRequest, Decision, ExecutionContext

Outcome: TypeAlias = Literal["true", "false", "absent", "error", "not_reached"]
Kind: TypeAlias = Literal["declarative", "function", "host"]
"""A rule of the policy language, a Python function compiled into the bundle, or a callable that is called back."""
KINDS: dict[type[AnyRule], Kind] = {Rule: "declarative", FunctionRule: "function", HostRule: "host"}

_SIGNS: dict[str, str] = {"eq": "==", "gt": ">", "ge": ">=", "lt": "<", "le": "<="}
_WORDS: dict[str, str] = {"all": "all_of", "any": "any_of", "not": "not"}
_INDENT = "    "
KIND_WORDS: dict[Kind, str] = {"declarative": "rule", "function": "Python function", "host": "Python callable"}


@dataclass(frozen=True, slots=True)
class Connective:
    """`all`, `any` or `not` over its clauses, and how it came out."""

    kind: Literal["all", "any", "not"]
    outcome: Outcome
    children: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One leaf: what was read at `path`, and how the operator judged it.

    `value` is JSON text, cut when long; None where nothing is there. `error` is the code of an error. `span` is the
    place in the policy source, None where it is not known.
    """

    outcome: Outcome
    path: str
    operator: str
    operand: str
    value: str | None
    error: str | None
    span: Span | None


Clause: TypeAlias = Connective | Comparison


@dataclass(frozen=True, slots=True)
class RuleExplanation:
    """How one rule came out.

    Only a `declarative` rule has a verdict of its own, and a `clause`; only a `function` has a `function`. One that was
    not reached has neither of the last two.
    """

    id: str
    kind: Kind
    outcome: Outcome
    verdict: str | None
    error: str | None
    clause: Clause | None
    function: FunctionExplanation | None
    span: Span | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """A decision with the reasons for it. `rules` stand in evaluation order; `bundle_id` is the policy's digest."""

    decision: Decision
    rules: tuple[RuleExplanation, ...]
    bundle_id: str

    def to_json(self) -> dict[str, Any]:  # Any: JSON data
        """The explanation as plain JSON data."""
        decision = self.decision
        return {
            "bundle": self.bundle_id,
            "decision": {
                "verdict": str(decision.verdict),
                "reason": decision.reason,
                "matched_rules": list(decision.matched_rules),
                "approvers": list(decision.approvers),
                "approvals_needed": decision.approvals_needed,
                "timeout_seconds": decision.timeout_seconds,
                "transform_args": decision.transform_args,
            },
            "rules": [_rule_json(rule) for rule in self.rules],
        }

    def to_text(self) -> str:
        """The explanation for people, one clause a line."""
        decision = self.decision
        lines = [f"{decision.verdict}: {decision.reason}" if decision.reason else str(decision.verdict)]
        lines.append(f"decided by {', '.join(map(str, decision.matched_rules))}")
        for rule in self.rules:
            lines.append("")
            lines.extend(_rule_lines(rule))
        return "\n".join(map(safe_text, lines)) + "\n"


def explain(bundle: PolicyBundle, request: ActionRequest, context: ExecutionContext | None = None) -> Explanation:
    """The decision of `bundle` on `request`, and how every rule came out. `context` counts in place of the request's.

    Raises `TypeError` for what is no bundle or no request.
    """
    decision, traces = _core.explain(bundle, request, context)
    rules = tuple(_rule(bundle, trace) for trace in traces)
    return Explanation(decision, rules, bundle.id)


def _rule(
    bundle: PolicyBundle,
    trace: tuple[int, str, str | None, Any, Any],  # Any: nested tuples, see _core.pyi
) -> RuleExplanation:
    index, outcome, error, tree, done = trace
    rule = bundle.ir.rules[index]
    source_map = bundle.source_map
    span = source_map.rule_span(index) if source_map is not None else None
    verdict: str | None = None
    match rule:
        case Rule():
            name, verdict = str(rule.id), rule.verdict
        case FunctionRule() | HostRule():
            name = rule.name
    return RuleExplanation(
        name,
        KINDS[type(rule)],
        _outcome(outcome),
        verdict,
        error,
        _clause(bundle, index, tree) if tree is not None else None,
        explained(bundle, index, done) if done is not None else None,
        span,
    )


def _clause(bundle: PolicyBundle, rule: int, tree: Any) -> Clause:  # Any: nested tuples, see _core.pyi
    if tree[0] != "leaf":
        kind, outcome, children = tree
        return Connective(kind, _outcome(outcome), tuple(_clause(bundle, rule, child) for child in children))
    _, outcome, head, path, op, operand, value, error, leaf = tree
    span = bundle.source_map.leaf_span(rule, leaf) if bundle.source_map is not None else None
    return Comparison(_outcome(outcome), path_text(head, path), op, operand, value, error, span)


def _outcome(text: str) -> Outcome:
    match text:
        case "true" | "false" | "absent" | "error" | "not_reached":
            return text
        case _:
            raise AssertionError(f"the core gave the outcome {text!r}")


def _rule_json(rule: RuleExplanation) -> dict[str, Any]:  # Any: JSON data
    return {
        "id": rule.id,
        "kind": rule.kind,
        "outcome": rule.outcome,
        "verdict": rule.verdict,
        "error": rule.error,
        "match": _clause_json(rule.clause) if rule.clause is not None else None,
        "function": _function_json(rule.function) if rule.function is not None else None,
        "span": _span_json(rule.span),
    }


def _function_json(function: FunctionExplanation) -> dict[str, Any]:  # Any: JSON data
    return {
        "decided_at": _span_json(function.decided_at),
        "conditions": [
            {
                "outcome": condition.outcome,
                "text": condition.text,
                "times": condition.times,
                "reads": [{"name": read.name, "value": read.value} for read in condition.reads],
                "span": _span_json(condition.span),
            }
            for condition in function.conditions
        ],
    }


def _clause_json(clause: Clause) -> dict[str, Any]:  # Any: JSON data
    match clause:
        case Connective(kind, outcome, children):
            return {"kind": kind, "outcome": outcome, "clauses": [_clause_json(child) for child in children]}
        case Comparison():
            return {
                "kind": "leaf",
                "outcome": clause.outcome,
                "path": clause.path,
                "operator": clause.operator,
                "operand": clause.operand,
                "value": clause.value,
                "error": clause.error,
                "span": _span_json(clause.span),
            }


def _span_json(span: Span | None) -> dict[str, Any] | None:  # Any: JSON data
    if span is None:
        return None
    return {
        "file": span.file,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
        "path": span.path,
    }


def _rule_lines(rule: RuleExplanation) -> list[str]:
    said = rule.verdict or KIND_WORDS[rule.kind]
    error = f" {rule.error}" if rule.error is not None else ""
    lines = [f"{rule.id} ({said}): {_words(rule.outcome)}{error}{_place(rule.span)}"]
    if rule.clause is not None:
        lines.extend(_clause_lines(rule.clause, 1))
    if rule.function is not None:
        lines.extend(_INDENT + line for line in function_lines(rule, rule.function))
    return lines


def function_lines(rule: RuleExplanation, function: FunctionExplanation) -> list[str]:
    """What a function did, for people: a line for each condition, and one for where it ended."""
    lines = [f"{condition.outcome:<6} {condition.text}{said_of(condition)}" for condition in function.conditions]
    match rule.outcome:
        case "true":
            end = "decides"
        case "error":
            end = f"error {rule.error}"
        case _:
            end = "abstains"
    return [*lines, f"{end}{_place(function.decided_at)}"]


def said_of(condition: Condition) -> str:
    """What a condition read, how often it was asked, and where it stands."""
    reads = ", ".join(f"{read.name} {'is ' + read.value if read.value is not None else 'not there'}"
                      for read in condition.reads)  # fmt: skip
    times = f" {condition.times} times" if condition.times > 1 else ""
    return f"{f'   [{reads}]' if reads else ''}{times}{_place(condition.span)}"


def _clause_lines(clause: Clause, depth: int) -> list[str]:
    indent = _INDENT * depth
    match clause:
        case Connective(kind, outcome, children):
            nested = [line for child in children for line in _clause_lines(child, depth + 1)]
            return [f"{indent}{_words(outcome):<6} {_WORDS[kind]}", *nested]
        case Comparison():
            sign = _SIGNS.get(clause.operator, clause.operator)
            return [
                f"{indent}{_words(clause.outcome):<6} {clause.path} {sign} {clause.operand}"
                f"   {_read(clause)}{_place(clause.span)}"
            ]


def _read(clause: Comparison) -> str:
    read = f"value {clause.value}" if clause.value is not None else "not there"
    return f"[{read}]" if clause.error is None else f"[{read}: {clause.error}]"


def _words(outcome: Outcome) -> str:
    return "not reached" if outcome == "not_reached" else outcome


def _place(span: Span | None) -> str:
    if span is None:
        return ""
    return f"  {span.file}:{span.line}:{span.column}" if span.line else f"  {span.file} {span.path}"
