"""Expectations for cases that have none: the text of a suite with the decisions of its policy, comments kept.

A changed text is read again: the suite must be the same one with these expectations, or nothing is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from bobcat._core import MappingNode, Node
from bobcat.diagnostics.model import Span
from bobcat.frontend.report import DiagnosticCollector
from bobcat.frontend.yaml.scalars import MAY_BE_TYPED
from bobcat.frontend.yaml.source import compose
from bobcat.testing.suites.compare import deciding_rule, error_codes, named_rule, plain
from bobcat.testing.suites.document import read_suite
from bobcat.testing.suites.model import Case, Expectation, Suite
from bobcat.testing.suites.run import CaseResult, StepResult

_NOWHERE = Span("", 0, 0, 0, 0)
_PLAIN = re.compile(r"[A-Za-z_<][A-Za-z0-9_.<>/-]*(?::[A-Za-z0-9_.<>/-]+)*")


@dataclass(frozen=True, slots=True)
class Update:
    """The new text of a suite, the number of written expectations, and the names of the cases that get them.

    `problems` are about cases that stay without one.
    """

    file: str
    before: str
    after: str
    written: int
    cases: tuple[str, ...]
    problems: tuple[str, ...]


class _Insertion(NamedTuple):
    line: int
    column: int
    text: str


def updates(suites: Sequence[Suite], results: Sequence[CaseResult]) -> Iterator[Update]:
    """Return the updates of suites with cases that have no expectation."""
    for suite in suites:
        open_ = [item for item in results if item.file == suite.file and not item.case.has_expectation]
        if open_:
            yield _update(suite, open_)


def _update(suite: Suite, results: Sequence[CaseResult]) -> Update:
    entries: dict[int, list[CaseResult]] = {}
    for result in results:
        entries.setdefault(result.case.written, []).append(result)
    places = _places(suite)
    problems: list[str] = []
    insertions: list[_Insertion] = []
    wanted: dict[int, list[Expectation]] = {}
    for written, items in entries.items():
        expectations = [[expectation_of(step) for step in item.steps] for item in items]
        if any(other != expectations[0] for other in expectations):
            name = items[0].case.name
            problems.append(f"the rows of `{name}` are decided differently: write `expect` with parameters")
            continue
        wanted[written] = expectations[0]
        escaped = items[0].case.row is not None
        for node, expectation in zip(places[written], expectations[0], strict=True):
            insertions.append(_insertion(node, expectation_text(expectation, escaped=escaped), suite.text))
    text = _inserted(suite.text, insertions)
    if not _is_as_wanted(suite, text, wanted):
        problem = "the layout of the file is one that cannot be extended: write the expectations by hand"
        return Update(suite.file, suite.text, suite.text, 0, (), (*problems, problem))
    names = tuple(item.case.name for written in wanted for item in entries[written])
    return Update(suite.file, suite.text, text, len(insertions), names, tuple(problems))


def _places(suite: Suite) -> list[list[Node]]:
    """Return the mapping of each case, or those of its steps."""
    root = compose(suite.text, DiagnosticCollector(suite.file))
    assert isinstance(root, MappingNode)
    cases = _value(root, "cases")
    found = []
    for node in [] if cases is None else cases.value:
        steps = _value(node, "sequence")
        found.append([node] if steps is None else list(steps.value))
    return found


def _value(node: Node, key: str) -> Node | None:
    return next((item for name, item in node.value if name.value == key), None)


def expectation_of(step: StepResult) -> Expectation:
    """Return the expectation that a decision meets."""
    decision = step.decision
    codes = error_codes(decision) if deciding_rule(decision).startswith("<rule_error:") else ()
    args = None if decision.transform_args is None else plain(decision.transform_args)
    error = codes[-1] if codes else None
    return Expectation(str(decision.verdict), named_rule(decision) or None, None, args, error)


def expectation_text(expect: Expectation, *, escaped: bool = False) -> str:
    """Format an expectation in one line; `escaped` for a case with a table."""
    parts = [f"verdict: {expect.verdict}"]
    if expect.rule is not None:
        parts.append(f"rule: {_scalar(expect.rule)}")
    if expect.error is not None:
        parts.append(f"error: {_scalar(expect.error)}")
    if expect.approvers is not None:
        parts.append(f"approvers: {json.dumps(expect.approvers, ensure_ascii=False)}")
    if expect.args is not None:
        parts.append(f"args: {json.dumps(expect.args, ensure_ascii=False)}")
    text = f"{{{', '.join(parts)}}}"
    return text.replace("$", "$$") if escaped else text


def _scalar(text: str) -> str:
    is_plain = _PLAIN.fullmatch(text) is not None and text[:1] not in MAY_BE_TYPED
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def _insertion(node: Node, text: str, source: str) -> _Insertion:
    """Return the text to insert at the end of a mapping, in its style."""
    end = node.end()
    if getattr(node, "flow_style", False):
        before = "\n".join(source.split("\n")[: end.line + 1])
        before = before[: len(before) - len(source.split("\n")[end.line]) + end.column - 1].rstrip()
        return _Insertion(end.line, end.column - 1, f"{'' if before.endswith(',') else ','} expect: {text}")
    column = node.value[0][0].start_mark.column
    line = end.line if end.column == 0 else end.line + 1
    return _Insertion(line, 0, f"{' ' * column}expect: {text}\n")


def _inserted(source: str, insertions: Sequence[_Insertion]) -> str:
    lines = source.split("\n")
    if lines[-1] and any(item.line >= len(lines) for item in insertions):
        lines.append("")
    for line, column, text in sorted(insertions, reverse=True):
        lines[line] = lines[line][:column] + text + lines[line][column:]
    return "\n".join(lines)


def _is_as_wanted(suite: Suite, text: str, wanted: dict[int, list[Expectation]]) -> bool:
    """Return true if a text is the suite with the wanted expectations, and nothing else is changed."""
    again = read_suite(text, suite.file).suite
    if again is None or len(again.cases) != len(suite.cases):
        return False
    return all(
        _contents(new) == _contents(_expecting(old, wanted.get(old.written)))
        for old, new in zip(suite.cases, again.cases, strict=True)
    )


def _expecting(case: Case, wanted: list[Expectation] | None) -> Case:
    if wanted is None:
        return case
    steps = [replace(step, expect=expect) for step, expect in zip(case.steps, wanted, strict=True)]
    return replace(case, steps=tuple(steps))


def _contents(case: Case) -> object:
    """Return the case without places."""
    return case.name, case.tags, [replace(step, span=_NOWHERE) for step in case.steps]
