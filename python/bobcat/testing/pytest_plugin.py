"""The pytest collector of `*.policytest.yaml`: each case is a test, decided as by `bobcat test`.

pytest loads this module whenever Bobcat is installed: it imports nothing else of Bobcat before it meets a suite. The
tags of a case are keywords for `-k`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from bobcat.testing.suites.model import Case
    from bobcat.testing.suites.session import LoadedSuite
    from bobcat.testing.suites.subjects import Subjects

SUFFIXES = (".policytest.yaml", ".policytest.yml")
_SUBJECTS: pytest.StashKey[Subjects] = pytest.StashKey()


class PolicyTestFailure(Exception):
    """A case that is not decided as expected. The message has the differences and the explanation."""


class PolicySuite(pytest.File):
    """One suite of policy tests."""

    def collect(self) -> Iterator[pytest.Item]:
        """Return the cases. Errors of the suite, its policy or its tools are errors of the collection."""
        from bobcat.diagnostics.render import render_text
        from bobcat.testing.suites.session import collect
        from bobcat.testing.suites.subjects import Subjects

        subjects = self.config.stash.setdefault(_SUBJECTS, Subjects())
        collected = collect([_shown(self.path)], subjects=subjects)
        if collected.errors:
            raise self.CollectError(render_text(collected.errors, collected.texts))
        for suite in collected.suites:
            for case in suite.suite.cases:
                yield PolicyCase.from_parent(self, name=case.name, suite=suite, case=case)


class PolicyCase(pytest.Item):
    """One case of a suite."""

    def __init__(self, *, suite: LoadedSuite, case: Case, **given: Any) -> None:  # Any: pytest's own
        super().__init__(**given)
        self._suite = suite
        self._case = case
        self.extra_keyword_matches.update(case.tags)

    def runtest(self) -> None:
        """Decide the case."""
        from bobcat.testing.suites.failures import describe
        from bobcat.testing.suites.reports import summary
        from bobcat.testing.suites.run import run_case
        from bobcat.text.display import safe_text

        result = run_case(self._case, self._suite.suite.file, self._suite.subject)
        if not result.passed:
            raise PolicyTestFailure("\n".join([safe_text(summary(result)), *(line.text for line in describe(result))]))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:  # Any: pytest's own
        """Return the differences without a traceback."""
        if isinstance(excinfo.value, PolicyTestFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the place and the name of the case."""
        return self.path, self._case.span.line - 1, self._case.name


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> PolicySuite | None:
    """Collect a suite of policy tests."""
    if not file_path.name.endswith(SUFFIXES):
        return None
    suite: PolicySuite = PolicySuite.from_parent(parent, path=file_path)
    return suite


def _shown(path: Path) -> str:
    """Return a path relative to the current directory, if it is below."""
    here = Path(os.getcwd())
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
