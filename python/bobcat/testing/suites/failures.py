"""The description of a failed case: the call, what differs, and the explanation of the rules that it is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from bobcat.bundle.explanation import Explanation, RuleExplanation, rule_lines
from bobcat.model.decision import ActionRequest, Decision
from bobcat.testing.suites.compare import Difference, deciding_rule, diff_lines, named_rule
from bobcat.testing.suites.run import CaseResult, StepResult
from bobcat.text.display import safe_json, safe_text

MOST_ARGS = 2_000
"""Characters of the arguments of a call."""


class Style(StrEnum):
    """The kind of a line, for colours."""

    PLAIN = ""
    HEAD = "head"
    EXPECTED = "expected"
    ACTUAL = "actual"
    QUIET = "quiet"


class Line(NamedTuple):
    """One safe line of a description."""

    text: str
    style: Style = Style.PLAIN


def place_of(result: CaseResult) -> str:
    """Return the place of a case: `file:line:column`."""
    span = result.case.span
    return f"{span.file}:{span.line}:{span.column}"


def failed_step(result: CaseResult) -> StepResult:
    """Return the step at which a case failed, or the last one."""
    return next((step for step in result.steps if step.differences), result.steps[-1])


def describe(result: CaseResult) -> Iterator[Line]:
    """Describe a failed case in safe lines."""
    step = failed_step(result)
    number = result.steps.index(step) + 1
    of = f"step {number} of {len(result.case.steps)}: " if result.case.is_sequence else ""
    yield _call(of, step.request)
    if result.problem is not None:
        yield Line(f"  problem   {safe_text(result.problem)}", Style.ACTUAL)
    yield from _differences(step.differences)
    yield from _decision(step.decision)
    for rule in rules_about(step):
        yield from _rule(rule)


def describe_decision(
    request: ActionRequest, decision: Decision, found: Iterable[Difference], explanation: Explanation
) -> Iterator[Line]:
    """Describe one decision that is not as expected in safe lines."""
    found = tuple(found)
    expected = next((item.expected for item in found if item.key == "rule"), None)
    yield _call("", request)
    yield from _differences(found)
    yield from _decision(decision)
    for rule in _rules(explanation, decision, expected):
        yield from _rule(rule)


def _call(of: str, request: ActionRequest) -> Line:
    return Line(f"  call      {of}{safe_text(request.tool)} {safe_json(request.args, limit=MOST_ARGS)}")


def _differences(differences: Iterable[Difference]) -> Iterator[Line]:
    for difference in differences:
        if difference.key == "args":
            yield Line("  args      - expected, + actual")
            for line in diff_lines(difference.expected, difference.actual):
                style = {"-": Style.EXPECTED, "+": Style.ACTUAL}.get(line[:1], Style.PLAIN)
                yield Line(f"    {safe_text(line)}", style)
        else:
            name = difference.key
            yield Line(f"  expected  {name}: {_shown(difference.expected)}", Style.EXPECTED)
            yield Line(f"  actual    {name if name != 'reason_matches' else 'reason'}: {_shown(difference.actual)}",
                       Style.ACTUAL)  # fmt: skip
        if difference.help is not None:
            yield Line(f"  help      {safe_text(difference.help)}")


def _decision(decision: Decision) -> Iterator[Line]:
    yield Line(f"  decision  {decision.verdict} by {safe_text(deciding_rule(decision))}"
               + (f": {safe_text(decision.reason)}" if decision.reason else ""))  # fmt: skip


def _rule(rule: RuleExplanation) -> Iterator[Line]:
    for line in rule_lines(rule):
        yield Line(f"    {safe_text(line)}", Style.QUIET)


def rules_about(step: StepResult) -> tuple[RuleExplanation, ...]:
    """Return the explanations of the expected rule and of those that decided; without them, of rules about the call."""
    if step.explanation is None:
        return ()
    return _rules(step.explanation, step.decision, None if step.step.expect is None else step.step.expect.rule)


def _rules(explanation: Explanation, decision: Decision, expected: str | None) -> tuple[RuleExplanation, ...]:
    rules = explanation.rules
    names = {named_rule(decision), *map(str, decision.matched_rules), *(() if expected is None else (expected,))}
    names |= {name[12:-1].rpartition(":")[0] for name in names if name.startswith("<rule_error:")}
    found = tuple(rule for rule in rules if rule.id in names)
    return found or tuple(rule for rule in rules if _is_close(rule))


def _is_close(rule: RuleExplanation) -> bool:
    """Return true if a part of a rule that did not fire is true: it is about the call."""
    clause = rule.clause
    if clause is None or rule.outcome == "not_reached":
        return False
    below = getattr(clause, "children", ())
    return clause.outcome == "true" or any(child.outcome == "true" for child in below)


def _shown(value: object) -> str:
    return "none" if value is None else safe_text(value)
