"""A mutable table that a compiled Python rule captures.

What it does: finds a list, a set or a dict of the module that a rule reads, unless its name is in upper case.
Why: the policy holds the value at compile time; later changes have no effect.
Example: `blocked = ["rm"]`, read by a rule.
Use instead: `BLOCKED = ("rm",)`.
Fix: make it a tuple or a frozenset, or give it an upper-case name.
"""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Diagnostic, Span

CODES = ("W0117",)


def report(span: Span | None, *, name: str, table: str, kind: str) -> Iterator[Diagnostic]:
    """Report the read of the table."""
    yield diagnose("W0117", span, name=name, table=table, kind=kind)
