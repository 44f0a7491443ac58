"""Reports of policy tests for programs: JSON, JUnit XML, and the annotations of GitHub."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from bobcat.bundle.explanation import rule_json
from bobcat.diagnostics.model import Diagnostic
from bobcat.model.decision_json import decision_json
from bobcat.testing.suites.compare import plain
from bobcat.testing.suites.failures import describe, rules_about
from bobcat.testing.suites.run import CaseResult, StepResult
from bobcat.testing.suites.session import SessionResult
from bobcat.text.display import safe_text

Json = dict[str, Any]  # Any: JSON
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def session_json(result: SessionResult) -> Json:
    """Return the outcomes as plain JSON data."""
    return {
        "version": 1,
        "passed": len(result.results) - result.failed,
        "failed": result.failed,
        "deselected": result.deselected,
        "not_run": result.not_run,
        "seconds": round(result.seconds, 6),
        "cases": [case_json(item) for item in result.results],
    }


def case_json(result: CaseResult) -> Json:
    """Return the outcome of a case as plain JSON data."""
    span = result.case.span
    return {
        "file": result.file,
        "line": span.line,
        "column": span.column,
        "name": result.case.name,
        "tags": list(result.case.tags),
        "outcome": "passed" if result.passed else "failed",
        "seconds": round(result.seconds, 6),
        "problem": result.problem,
        "steps": [_step_json(step) for step in result.steps],
    }


def _step_json(step: StepResult) -> Json:
    differences = [
        {"key": item.key, "expected": plain(item.expected), "actual": plain(item.actual), "help": item.help}
        for item in step.differences
    ]
    decision = decision_json(step.decision)
    transformed = step.decision.transform_args
    found: Json = {
        "line": step.step.span.line,
        "tool": step.request.tool,
        "args": plain(step.request.args),
        "decision": {**decision, "transform_args": None if transformed is None else plain(transformed)},
        "differences": differences,
    }
    if step.explanation is not None:
        found["explanation"] = [rule_json(rule) for rule in rules_about(step)]
    return found


def junit(result: SessionResult) -> str:
    """Return JUnit XML: a test suite for each file."""
    files: dict[str, list[CaseResult]] = {}
    for item in result.results:
        files.setdefault(item.file, []).append(item)
    counts = f'tests="{len(result.results)}" failures="{result.failed}" errors="0" time="{result.seconds:.6f}"'
    lines = ['<?xml version="1.0" encoding="utf-8"?>', f'<testsuites name="bobcat test" {counts}>']
    for file, items in files.items():
        failed = sum(not item.passed for item in items)
        seconds = sum(item.seconds for item in items)
        lines.append(
            f'  <testsuite name={_attribute(file)} tests="{len(items)}" failures="{failed}" errors="0" '
            f'skipped="0" time="{seconds:.6f}">'
        )
        for item in items:
            lines.extend(_junit_case(item))
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>", ""])


def _junit_case(item: CaseResult) -> Iterator[str]:
    head = (
        f"    <testcase classname={_attribute(item.file)} name={_attribute(item.case.name)} "
        f'file={_attribute(item.file)} line="{item.case.span.line}" time="{item.seconds:.6f}"'
    )
    if item.passed:
        yield f"{head}/>"
        return
    yield f"{head}>"
    text = "\n".join(line.text for line in describe(item))
    yield f"      <failure message={_attribute(summary(item))}>{escape(_xml(text))}</failure>"
    yield "    </testcase>"


def summary(result: CaseResult) -> str:
    """Return the first difference of a failed case, in one line."""
    for step in result.steps:
        for item in step.differences:
            expected = "other arguments" if item.key == "args" else f"`{item.expected}`"
            actual = "" if item.key == "args" else f", not `{item.actual}`"
            return f"`{item.key}`: expected {expected}{actual}"
    return result.problem or "failed"


def github(result: SessionResult) -> Iterator[str]:
    """Return a workflow command of GitHub for each failure."""
    for item in result.results:
        if not item.passed:
            text = "\n".join([safe_text(summary(item)), *(line.text for line in describe(item))])
            span = item.case.span
            yield _annotation("error", span.file, span.line, span.column, safe_text(item.case.name), text)


def github_diagnostics(found: Iterable[Diagnostic]) -> Iterator[str]:
    """Return a workflow command of GitHub for each error of a suite or a policy."""
    for item in found:
        help = "" if item.help is None else f"\nhelp: {safe_text(item.help)}"
        text = f"{safe_text(item.message)}{help}"
        file, line, column = (
            ("", 1, 1) if item.span is None else (item.span.file, item.span.line or 1, item.span.column)
        )
        yield _annotation(str(item.severity), file, line, max(column, 1), item.code, text)


# `file` is a path that GitHub opens: it stays as it is, within the escapes of a property.
def _annotation(level: str, file: str, line: int, column: int, title: str, text: str) -> str:
    level = "notice" if level == "note" else level
    return f"::{level} file={_property(file)},line={line},col={column},title={_property(title)}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _attribute(text: str) -> str:
    written = escape(_xml(text))
    for char in "\n\r\t":
        written = written.replace(char, f"&#{ord(char)};")
    return f'"{written}"'
