"""A clause without alternatives, which is always false.

What it does: finds `in: []`, `contains_any: []` and `any_of: []`.
Why: the clause is always false, so its rule never fires.
Example: `match: {tool.in: []}`.
Use instead: `match: {tool.in: [shell]}`.
Fix: by hand.
"""

from __future__ import annotations

from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Findings, Span

CODES = ("W0109",)


def report(span: Span | None) -> Findings:
    """Report the empty list."""
    yield diagnose("W0109", span)
