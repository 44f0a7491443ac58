"""Observations of a front end for the lints: legal constructs that are rarely intended.

A front end reports errors only. It records observations among its errors, in order; `lint.observed.reported` has each
one turned into a warning by the lint of that name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from bobcat.diagnostics.model import Diagnostic, Severity, Span


@dataclass(frozen=True, slots=True)
class Observation:
    """A construct at `span` for one lint; `facts` are named values."""

    lint: str
    span: Span | None
    facts: tuple[tuple[str, object], ...]


Finding: TypeAlias = Diagnostic | Observation


def observed(lint: str, span: Span | None, **facts: object) -> Observation:
    """Return the observation of a construct for the lint of that name."""
    return Observation(lint, span, tuple(facts.items()))


def errors(found: Iterable[Finding]) -> list[Diagnostic]:
    """Return the findings that stop a compilation."""
    return [item for item in found if isinstance(item, Diagnostic) and item.severity is Severity.ERROR]
