r"""Comments that ignore one finding in one place: `# bobcat: ignore W0102 because REASON`.

A comment applies to its own line, or to the next line of the source if it is alone on its line. On the first line of
a rule, it applies to the whole rule. Errors cannot be ignored. Comments are not part of the compiled policy.
"""

from __future__ import annotations

import io
import re
import tokenize
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import yaml

from bobcat.diagnostics.catalogue import CODES, diagnose
from bobcat.diagnostics.model import Diagnostic, Severity, Span
from bobcat.diagnostics.render import lines_of
from bobcat.frontend.report import shown
from bobcat.frontend.suggest import closest

_MARK = re.compile(r"#\s*bobcat:\s*ignore\b(.*)$")
_FORM = re.compile(r"\s*(\S+(?:\s*,\s*\S+)*?)\s+because\s+(\S.*)")
_CLOSED = re.compile(r"\s*(\S+(?:\s*,\s*\S+)*)\s*(?:because)?\s*")


@dataclass(frozen=True, slots=True)
class Ignore:
    """One code that a comment ignores, for the findings of one line."""

    code: str
    reason: str
    line: int
    span: Span


def apply_ignores(
    found: Iterable[Diagnostic], text: str, file: str, rules: Iterable[Span], *, python: bool = False
) -> list[Diagnostic]:
    """Mark the findings that a comment ignores as suppressed, and add findings about the comments.

    `rules` are the positions of the rules.
    """
    if "bobcat:" not in text:
        return list(found)
    ignores, problems = _read(text, file, python=python)
    ends: dict[int, int] = {}
    for span in rules:
        if span.file == file:
            ends[span.line] = max(span.end_line, ends.get(span.line, 0))
    found = list(found)
    covering = _covering(ignores, found, file, ends)
    kept: list[Diagnostic] = []
    used: set[Ignore] = set()
    for item in found:
        line = _ignorable_line(item, file)
        match = None if line is None else covering.get((item.code, line))
        if match is None:
            kept.append(item)
            continue
        used.add(match)
        kept.append(replace(item, suppressed=match.reason))
    unused = [diagnose("W0136", ignore.span, ignored=ignore.code) for ignore in ignores if ignore not in used]
    return [*kept, *problems, *unused]


def _covering(
    ignores: Iterable[Ignore], found: Iterable[Diagnostic], file: str, ends: Mapping[int, int]
) -> dict[tuple[str, int], Ignore]:
    """Return the first comment that applies to the findings of a code in a line; `ends` has the last lines of rules."""
    lines: dict[str, set[int]] = defaultdict(set)
    for item in found:
        line = _ignorable_line(item, file)
        if line is not None:
            lines[item.code].add(line)
    ordered = {code: sorted(numbers) for code, numbers in lines.items()}
    covering: dict[tuple[str, int], Ignore] = {}
    seen: set[tuple[str, int]] = set()
    for ignore in ignores:
        if (ignore.code, ignore.line) in seen:
            continue
        seen.add((ignore.code, ignore.line))
        own = ordered.get(ignore.code, [])
        last = ends.get(ignore.line, ignore.line)
        for line in own[bisect_left(own, ignore.line) : bisect_right(own, last)]:
            covering.setdefault((ignore.code, line), ignore)
    return covering


def _ignorable_line(item: Diagnostic, file: str) -> int | None:
    """Return the line of a finding that a comment of a file can ignore."""
    if item.severity is Severity.ERROR or item.span is None or item.span.file != file:
        return None
    return item.span.line


def _read(text: str, file: str, *, python: bool) -> tuple[list[Ignore], list[Diagnostic]]:
    lines = lines_of(text)
    ignores: list[Ignore] = []
    problems: list[Diagnostic] = []
    for number, column, comment in _comments(text, lines, python=python):
        span = Span(file, number, column + 1, number, len(lines[number - 1]) + 1)
        form = _FORM.fullmatch(comment)
        if form is None:
            codes = _CLOSED.fullmatch(comment)
            problem = "it gives no reason" if codes is not None else "it names no finding"
            problems.append(diagnose("W0137", span, problem=problem))
            continue
        alone = not lines[number - 1][:column].strip()
        line = _next_line(lines, number) if alone else number
        for code in re.split(r"\s*,\s*", form[1]):
            problem_of_code = _problem(code)
            if problem_of_code is None:
                ignores.append(Ignore(code, form[2].strip(), line, span))
            else:
                problems.append(diagnose("W0137", span, problem=problem_of_code))
    return ignores, problems


def _problem(code: str) -> str | None:
    if code not in CODES:
        near = closest(code.upper(), sorted(CODES))
        suggestion = f"; did you mean `{near}`?" if near else ""
        return f"there is no finding `{shown(code)}`{suggestion}"
    if CODES[code].severity is Severity.ERROR:
        return f"`{code}` is an error, and cannot be ignored"
    if code in ("W0136", "W0137"):
        return f"`{code}` is about ignore comments, and cannot be ignored"
    return None


def _next_line(lines: list[str], number: int) -> int:
    """Return the next line that is neither a comment nor empty."""
    for following in range(number, len(lines)):
        stripped = lines[following].strip()
        if stripped and not stripped.startswith("#"):
            return following + 1
    return number


def _comments(text: str, lines: list[str], *, python: bool) -> Iterator[tuple[int, int, str]]:
    """Yield line, column and text of each comment that starts with the marker."""
    marked = {number: found for number, line in enumerate(lines, 1) if (found := _MARK.search(line)) is not None}
    if not marked:
        return
    if python:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            found = _MARK.match(token.string) if token.type == tokenize.COMMENT else None
            if found is not None:
                yield token.start[0], token.start[1], found[1]
        return
    scalars = _scalar_lines(text)
    for number, found in marked.items():
        column = found.start()
        before = lines[number - 1][:column]
        inside = any(start <= (number, column) < end for start, end in scalars.get(number, ()))
        if not inside and (not before or before[-1].isspace()):
            yield number, column, found[1]


def _scalar_lines(text: str) -> dict[int, list[tuple[tuple[int, int], tuple[int, int]]]]:
    """Return the start and end of the scalars of a source by line."""
    found: dict[int, list[tuple[tuple[int, int], tuple[int, int]]]] = {}
    for token in yaml.scan(text.removeprefix("\ufeff"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(token, yaml.ScalarToken):
            start = (token.start_mark.line + 1, token.start_mark.column)
            end = (token.end_mark.line + 1, token.end_mark.column)
            for line in range(start[0], end[0] + 1):
                found.setdefault(line, []).append((start, end))
    return found
