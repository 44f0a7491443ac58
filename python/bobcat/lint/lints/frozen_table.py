"""A mutable table that a compiled Python rule captures.

What it does: finds a list, a set or a dict of the module that a rule reads, unless its name is in upper case.
Why: the policy holds the value at compile time; later changes have no effect.
Example: `blocked = ["rm"]`, read by a rule.
Use instead: `BLOCKED = ("rm",)`.
Fix: make it a tuple or a frozenset, or give it an upper-case name.
"""

from __future__ import annotations

from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Findings, Span

CODES = ("W0117",)


def report(span: Span | None, *, name: str, table: str, kind: str) -> Findings:
    """Report the read of the table."""
    yield diagnose("W0117", span, name=name, table=table, kind=kind)
