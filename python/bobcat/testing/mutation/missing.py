"""Missing test cases: their text, ready to be added to the cases of a suite, and the proof that they kill a mutant.

INVARIANT: a case is reported only after its text has been read again, and passes with the policy and fails with the
mutant.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from bobcat._core import MappingNode
from bobcat.bundle import Policy
from bobcat.frontend.report import DiagnosticCollector
from bobcat.frontend.yaml.source import compose
from bobcat.model.decision import ActionRequest, Verdict
from bobcat.model.defaults import CONTEXT, DECLARED
from bobcat.model.request_json import context_data, declared_data
from bobcat.testing.suites.compare import plain
from bobcat.testing.suites.document import read_suite
from bobcat.testing.suites.model import Case, Expectation, Step
from bobcat.testing.suites.run import RUNS, StepResult, run_case
from bobcat.testing.suites.session import LoadedSuite
from bobcat.testing.suites.subjects import Subject
from bobcat.testing.suites.update import expectation_of, expectation_text

INDENT = "  "
_OTHER = re.compile("[^ -~]")


@dataclass(frozen=True, slots=True)
class MissingCase:
    """A test case that a suite lacks: `text` is an entry of the list `cases`."""

    file: str
    name: str
    text: str


def missing_case(
    name: str, steps: Sequence[Step], suite: LoadedSuite, policy: Policy, mutant: Policy
) -> MissingCase | None:
    """Return the case in which a policy and its mutant decide some calls differently; None if they do not."""
    case = Case(name, tuple(replace(step, expect=None) for step in steps), (), suite.suite.policy_span, 0)
    here, there = (_decided(case, suite, each) for each in (policy, mutant))
    number = next((at for at, (one, two) in enumerate(zip(here, there, strict=False)) if _differ(one, two)), None)
    if number is None:
        return None
    shared = _shared_context(suite)
    try:
        text = _text(name, here[: number + 1], suite, shared)
    except (TypeError, ValueError):  # a value without a JSON form
        return None
    return MissingCase(suite.suite.file, name, text) if _kills(text, suite, policy, mutant) else None


def _decided(case: Case, suite: LoadedSuite, policy: Policy) -> tuple[StepResult, ...]:
    return run_case(case, suite.suite.file, Subject(policy, suite.subject.tools), explains=False).steps


def _expectation(step: StepResult) -> Expectation:
    found = expectation_of(step)
    asks = step.decision.verdict is Verdict.APPROVE_REQUIRED
    return replace(found, approvers=tuple(map(str, step.decision.approvers))) if asks else found


def _differ(one: StepResult, two: StepResult) -> bool:
    return _expectation(one) != _expectation(two)


def _kills(text: str, suite: LoadedSuite, policy: Policy, mutant: Policy) -> bool:
    found = read_suite(f"policy: policy.yaml\ncases:\n{text}", suite.suite.file).suite
    if found is None or len(found.cases) != 1:
        return False
    outcomes = [
        run_case(found.cases[0], suite.suite.file, Subject(each, suite.subject.tools), explains=False).passed
        for each in (policy, mutant)
    ]
    return outcomes == [True, False]


def _shared_context(suite: LoadedSuite) -> Collection[str]:
    """Return the keys of the context that all requests of a suite share."""
    return _context_keys(suite.suite.text)


@lru_cache(maxsize=64)
def _context_keys(text: str) -> Collection[str]:
    root = compose(text, DiagnosticCollector(""))
    found = [item for key, item in root.value if key.value == "context"] if isinstance(root, MappingNode) else []
    return {key.value for item in found if isinstance(item, MappingNode) for key, _ in item.value}


def _text(name: str, results: Sequence[StepResult], suite: LoadedSuite, shared: Collection[str]) -> str:
    steps = [result.step for result in results]
    head = f"{INDENT}- name: {_json(name)}\n"
    if len(results) == 1:
        request = _request(steps[0].request, suite, steps[0], 0, shared)
        expect = _ascii(expectation_text(_expectation(results[0])))
        return f"{head}{INDENT}  request: {_json(request)}\n{INDENT}  expect: {expect}\n"
    lines = [f"{INDENT}  sequence:\n"]
    for number, (step, result) in enumerate(zip(steps, results, strict=True)):
        runs = result.decision.verdict in RUNS
        runs |= step.approved and result.decision.verdict is Verdict.APPROVE_REQUIRED
        request = _request(step.request, suite, step, number, shared)
        parts = [f"call: {_json(request)}", *_outcome(step, runs=runs, first=number == 0)]
        lines.append(
            f"{INDENT}    - {{{', '.join(parts)}, expect: {_ascii(expectation_text(_expectation(result)))}}}\n"
        )
    return "".join((head, *lines))


def _outcome(step: Step, *, runs: bool, first: bool) -> list[str]:
    parts = []
    if step.after and not first and not step.timed:
        parts.append(f"after: {step.after.total_seconds():g}")
    if step.same_reply and not first:
        parts.append("same_reply: true")
    if runs and step.approved:
        parts.append("approved: true")
    if runs and step.outcome == "result":
        parts.append(f"result: {_json(plain(step.value))}")
    if runs and step.outcome == "failed":
        parts.append("failed: true")
    return parts


def _request(
    request: ActionRequest, suite: LoadedSuite, step: Step, number: int, shared: Collection[str]
) -> Mapping[str, Any]:  # Any: JSON
    found: dict[str, Any] = {"tool": request.tool, "args": plain(request.args)}  # Any: JSON
    if not suite.subject.tools.declares(replace(step, request=request)):
        usual = declared_data(DECLARED)
        declared = {key: plain(value) for key, value in declared_data(request.declared).items() if value != usual[key]}
        found |= {"declared": declared} if declared else {}
    usual = context_data(CONTEXT)
    context = {"task": None, **context_data(request.context)}
    for key, value in context.items():
        set_by_run = number > 0 and (
            (key == "timestamp" and not step.timed) or (key == "step_seq" and not step.numbered)
        )
        if not set_by_run and (value != usual.get(key) or key in shared):
            found.setdefault("context", {})[key] = plain(value)
    return found


def _json(value: Any) -> str:  # Any: JSON
    """Return a value in the form of JSON, with the escapes of YAML for all but ASCII: a terminal shows it as it is."""
    return _ascii(json.dumps(value, ensure_ascii=False, allow_nan=False))


def _ascii(text: str) -> str:
    """Escape the other characters of a text, which stand in quotes."""
    return _OTHER.sub(
        lambda found: f"\\u{ord(found[0]):04x}" if ord(found[0]) < 0x10000 else f"\\U{ord(found[0]):08x}", text
    )
