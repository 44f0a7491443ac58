"""A value that no tool declares.

What it does: finds a comparison of a path that has a closed set of values with a value outside of it.
Why: the comparison is always false, usually because of a misspelling.
Example: `declared.cost: hihg`.
Use instead: `declared.cost: high`.
Fix: by hand.
"""

from __future__ import annotations

from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Findings, Span
from bobcat.frontend.report import shown
from bobcat.frontend.suggest import closest, listed

CODES = ("W0113",)


def report(span: Span | None, *, path: str, value: str, values: tuple[str, ...]) -> Findings:
    """Report the value; `values` are those of the path."""
    near = closest(value, values)
    help = f"did you mean `{near}`?" if near else None
    yield diagnose("W0113", span, path=path, value=shown(value), known=listed(values), help=help)
