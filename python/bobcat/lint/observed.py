"""Warnings about what a front end observed: the part of the lints that also runs when a policy is compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from types import ModuleType
from typing import TypeAlias

from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Diagnostic
from bobcat.frontend.observation import Finding

Report: TypeAlias = Callable[..., Iterable[Diagnostic]]
"""Called with a span; its keywords are the facts of the observation."""


def reported(found: Iterable[Finding]) -> tuple[Diagnostic, ...]:
    """Return findings as diagnostics, in order; each observation becomes what the lint of its name reports."""
    return tuple(item for finding in found for item in _reported(finding))


def _reported(finding: Finding) -> Iterator[Diagnostic]:
    if isinstance(finding, Diagnostic):
        yield finding
        return
    # PERF: a compilation loads only the lints that have something to report.
    lint = import_module(f"bobcat.lint.lints.{finding.lint.replace('-', '_')}")
    yield from report_of(lint)(finding.span, **dict(finding.facts))


def report_of(lint: ModuleType) -> Report:
    """Return the function that words the observations for a lint: its own, or one that shows the facts as they are."""
    own: Report | None = getattr(lint, "report", None)
    return own or (lambda span, **facts: (diagnose(lint.CODES[0], span, **facts),))
