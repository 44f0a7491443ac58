"""Warnings about what a front end observed: the part of the lints that also runs when a policy is compiled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module

from bobcat.diagnostics.model import Diagnostic
from bobcat.frontend.observation import Finding


def reported(found: Iterable[Finding]) -> tuple[Diagnostic, ...]:
    """Return findings as diagnostics, in order; each observation becomes what the lint of its name reports."""
    return tuple(item for finding in found for item in _reported(finding))


def _reported(finding: Finding) -> Iterator[Diagnostic]:
    if isinstance(finding, Diagnostic):
        yield finding
        return
    # PERF: a compilation loads only the lints that have something to report.
    lint = import_module(f"bobcat.lint.lints.{finding.lint.replace('-', '_')}")
    yield from lint.report(finding.span, **dict(finding.facts))
