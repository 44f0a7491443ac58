"""Explanations: the outcome of every rule on one request, clause by clause, with source positions.

`explain` builds one from the trace of the core and the source map of the bundle. It decides nothing itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import to_builtins

from bobcat.diagnostics.model import Span
from bobcat.ir.schema import AnyRule, FunctionRule, HostRule, IrRule
from bobcat.language.operators import SIGNS
from bobcat.model.decision_json import decision_json
from bobcat.text.display import safe_text

if TYPE_CHECKING:
    from bobcat.model.decision import Decision

Outcome: TypeAlias = Literal["true", "false", "absent", "error", "not_reached", "monitored"]
RuleKind: TypeAlias = Literal["declarative", "function", "host"]
"""A rule of the policy language, a Python function compiled into the bundle, or a host callable."""
KINDS: dict[type[AnyRule], RuleKind] = {IrRule: "declarative", FunctionRule: "function", HostRule: "host"}

MOST_SHOWN = 160
"""Characters of a condition."""
Truth = Literal["true", "false", "error"]
_WORDS: dict[str, str] = {"all": "all_of", "any": "any_of", "not": "not"}
_INDENT = "    "
KIND_WORDS: dict[RuleKind, str] = {"declarative": "rule", "function": "Python function", "host": "Python callable"}


@dataclass(frozen=True, slots=True)
class Connective:
    """`all`, `any` or `not` over its clauses, with its outcome."""

    kind: Literal["all", "any", "not"]
    outcome: Outcome
    children: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class ExplainedComparison:
    """One leaf: the value read at `path`, and the outcome of the operator.

    `value` is JSON text, truncated if long; None if absent. `error` is the code of an error. `span` is the
    position in the policy source, None if unknown. `parsed` shows the texts that a facet parsed: its name
    and the parts, or `undecidable`, the code, the place in characters and the reason; None without a facet.
    """

    outcome: Outcome
    path: str
    operator: str
    operand: str
    value: str | None
    error: str | None
    span: Span | None
    parsed: str | None = None


Clause: TypeAlias = Connective | ExplainedComparison


@dataclass(frozen=True, slots=True)
class Read:
    """A value that a condition read: a local by name, or a path of the request such as `args.path`.

    `value` is JSON text, or the `repr` of a container that the function created; a long one is truncated,
    with the number of omitted characters. None if the value is absent.
    """

    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class ExplainedCondition:
    """The condition of one `if`, `elif`, `assert`, `case` or conditional expression that returns.

    `outcome` and `reads` are of the last evaluation, `times` is the number of evaluations. `text` is the source
    if the bundle has it, else a listing of the code. `span` is None if unknown.
    """

    outcome: Truth
    text: str
    times: int
    reads: tuple[Read, ...]
    span: Span | None


@dataclass(frozen=True, slots=True)
class FunctionExplanation:
    """Path of a function to its decision. `decided_at` is the `return` that was reached, or the statement that raised;
    None if the function reached its end, or the position is unknown. Conditions are in the order of their first
    evaluation.
    """

    decided_at: Span | None
    conditions: tuple[ExplainedCondition, ...]


@dataclass(frozen=True, slots=True)
class RuleExplanation:
    """The outcome of one rule.

    The outcome of a rule that is only compared is `monitored`; its clauses have theirs. Only a `declarative` rule has a
    verdict of its own, and a `clause`; only a `function` has a `function`. A rule that was not reached has neither
    `clause` nor `function`.
    """

    id: str
    kind: RuleKind
    outcome: Outcome
    verdict: str | None
    error: str | None
    clause: Clause | None
    function: FunctionExplanation | None
    span: Span | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """A decision with its reasons. `rules` are in evaluation order; `bundle_id` is the policy's digest."""

    decision: Decision
    rules: tuple[RuleExplanation, ...]
    bundle_id: str

    def to_json(self) -> dict[str, Any]:  # Any: JSON data
        """Return the explanation as plain JSON data."""
        rules = [rule_json(rule) for rule in self.rules]
        return {"bundle": self.bundle_id, "decision": decision_json(self.decision), "rules": rules}

    def to_text(self) -> str:
        """Format the explanation for humans, one clause a line."""
        decision = self.decision
        lines = [f"{decision.verdict}: {decision.reason}" if decision.reason else str(decision.verdict)]
        lines.append(f"decided by {', '.join(map(str, decision.matched_rules))}")
        for rule in self.rules:
            lines.append("")
            lines.extend(rule_lines(rule))
        return "\n".join(map(safe_text, lines)) + "\n"


def rule_json(rule: RuleExplanation) -> dict[str, Any]:  # Any: JSON data
    """Return the explanation of one rule as plain JSON data."""
    match = _clause_json(rule.clause) if rule.clause is not None else None
    fields = {"match" if name == "clause" else name: value for name, value in to_builtins(rule).items()}
    return {**fields, "match": match}


def _clause_json(clause: Clause) -> dict[str, Any]:  # Any: JSON data
    match clause:
        case Connective(kind, outcome, children):
            return {"kind": kind, "outcome": outcome, "clauses": [_clause_json(child) for child in children]}
        case ExplainedComparison():
            return {"kind": "leaf", **to_builtins(clause)}


def rule_lines(rule: RuleExplanation) -> list[str]:
    """Format the explanation of one rule: a line for it, and one for each clause or condition."""
    verdict = rule.verdict or KIND_WORDS[rule.kind]
    error = f" {rule.error}" if rule.error is not None else ""
    lines = [f"{rule.id} ({verdict}): {_words(rule.outcome)}{error}{_place(rule.span)}"]
    if rule.clause is not None:
        lines.extend(_clause_lines(rule.clause, 1))
    if rule.function is not None:
        lines.extend(_INDENT + line for line in function_lines(rule, rule.function))
    return lines


def function_lines(rule: RuleExplanation, function: FunctionExplanation) -> list[str]:
    """Format a function's explanation: a line for each condition, and one for the deciding statement."""
    lines = [f"{condition.outcome:<6} {condition.text}{condition_text(condition)}" for condition in function.conditions]
    match rule.outcome:
        case "true":
            end = "decides"
        case "error":
            end = f"error {rule.error}"
        case _:
            end = "abstains"
    return [*lines, f"{end}{_place(function.decided_at)}"]


def condition_text(condition: ExplainedCondition) -> str:
    """Format a condition: the values it read, its evaluation count, and its position."""
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
        case ExplainedComparison():
            sign = SIGNS.get(clause.operator, clause.operator)
            return [
                f"{indent}{_words(clause.outcome):<6} {clause.path} {sign} {clause.operand}"
                f"   {_read(clause)}{_place(clause.span)}"
            ]


def _read(clause: ExplainedComparison) -> str:
    read = f"value {clause.value}" if clause.value is not None else "not there"
    read = read if clause.parsed is None else f"{read}; {clause.parsed}"
    return f"[{read}]" if clause.error is None else f"[{read}: {clause.error}]"


def _words(outcome: Outcome) -> str:
    return "not reached" if outcome == "not_reached" else outcome


def _place(span: Span | None) -> str:
    if span is None:
        return ""
    return f"  {span.file}:{span.line}:{span.column}" if span.line else f"  {span.file} {span.path}"
