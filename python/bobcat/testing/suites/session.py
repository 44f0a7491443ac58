"""One run of policy tests: collect suites, select cases, decide them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bobcat.diagnostics.model import Diagnostic
from bobcat.frontend.strict.includes import included_files
from bobcat.frontend.yaml.encoding import decode
from bobcat.testing.suites.document import read_suite
from bobcat.testing.suites.model import SUFFIXES, Case, Suite
from bobcat.testing.suites.run import CaseResult, Observer, run_case
from bobcat.testing.suites.select import Selector, is_selected
from bobcat.testing.suites.subjects import Subject, Subjects, policy_path, tools_files

_SKIPPED = frozenset(("__pycache__", "node_modules", "site-packages"))


@dataclass(frozen=True, slots=True)
class LoadedSuite:
    """A suite with its policy and tools."""

    suite: Suite
    subject: Subject


@dataclass(frozen=True, slots=True)
class Collected:
    """The suites of some paths; `errors` are those of suites, policies and tools.

    `texts` are the sources that errors refer to.
    """

    suites: tuple[LoadedSuite, ...]
    errors: tuple[Diagnostic, ...]
    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Selected:
    """The cases to decide, each with its suite; `deselected` is the number of the others."""

    cases: tuple[tuple[LoadedSuite, Case], ...]
    deselected: int = 0


@dataclass(frozen=True, slots=True)
class SessionResult:
    """The outcomes of the cases that were decided; `not_run` is the number of those behind a first failure, `updated`
    that of the cases that got their expectations.
    """

    results: tuple[CaseResult, ...]
    deselected: int
    not_run: int
    seconds: float
    updated: int = 0

    @property
    def failed(self) -> int:
        """The number of failed cases."""
        return sum(not result.passed for result in self.results)


def suite_files(paths: Sequence[str]) -> Iterator[str]:
    """Return the named files, and the suites below named directories, each once. Raises `OSError`.

    Hidden directories, and those of installed packages, are not entered.
    """
    found: dict[str, None] = {}
    for path in paths:
        if not os.path.isdir(path):
            Path(path).stat()
            found[path] = None
            continue
        for here, below, names in os.walk(path):
            below[:] = sorted(name for name in below if not name.startswith(".") and name not in _SKIPPED)
            places = (os.path.normpath(os.path.join(here, name)) for name in sorted(names) if name.endswith(SUFFIXES))
            found.update(dict.fromkeys(places))
    yield from found


def watched_files(paths: Sequence[str], policy: str | None = None) -> set[str]:
    """Return the suites of some paths with the files of their policies and tools; nothing is compiled."""
    found: set[str] = {policy, *included_files(policy)} if policy is not None else set()
    for file in suite_files(paths):
        found.add(file)
        text, bad = decode(Path(file).read_bytes(), file)
        suite = None if bad is not None else read_suite(text, file).suite
        if suite is not None:
            found.update((policy_path(suite), *included_files(policy_path(suite)), *tools_files(suite)))
    return found


def collect(paths: Sequence[str], *, policy: str | None = None, subjects: Subjects | None = None) -> Collected:
    """Read the suites of some paths, and load their policies and tools; `policy` replaces that of each suite.

    `subjects` has the policies and tools that were loaded before. Raises `OSError` for a path that cannot be read.
    """
    subjects = Subjects(policy) if subjects is None else subjects
    suites: list[LoadedSuite] = []
    errors: list[Diagnostic] = []
    for file in suite_files(paths):
        text, bad = decode(Path(file).read_bytes(), file)
        subjects.texts[file] = text
        suite, found = (None, (bad,)) if bad is not None else read_suite(text, file)
        errors.extend(found)
        if suite is None:
            continue
        subject = subjects.of(suite)
        if isinstance(subject, list):
            errors.extend(subject)
        else:
            suites.append(LoadedSuite(suite, subject))
    return Collected(tuple(suites), tuple(errors), subjects.texts)


def select(collected: Collected, expression: Selector | None = None, tags: Collection[str] = ()) -> Selected:
    """Return the cases that an expression and tags select."""
    every = [(suite, case) for suite in collected.suites for case in suite.suite.cases]
    cases = tuple(pair for pair in every if is_selected(pair[1], pair[0].suite.file, expression, tags))
    return Selected(cases, len(every) - len(cases))


def run(
    selected: Selected,
    *,
    first_failure: bool = False,
    observe: Observer | None = None,
    progress: Callable[[CaseResult], None] | None = None,
) -> SessionResult:
    """Decide the selected cases; with `first_failure`, end at the first one that fails."""
    started = time.perf_counter()
    results: list[CaseResult] = []
    for suite, case in selected.cases:
        result = run_case(case, suite.suite.file, suite.subject, observe)
        results.append(result)
        if progress is not None:
            progress(result)
        if first_failure and not result.passed:
            break
    not_run = len(selected.cases) - len(results)
    return SessionResult(tuple(results), selected.deselected, not_run, time.perf_counter() - started)
