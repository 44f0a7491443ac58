"""A variable that nothing refers to.

What it does: finds a name under `vars` that no `${name}` of the policy uses.
Why: it has no effect; perhaps a rule was meant to use it, and holds a value of its own.
Example: `vars: {max_payment: 500}` with a rule that has `args.amount.le: 500`.
Use instead: `args.amount.le: ${max_payment}`.
Fix: use it or remove it.
"""

from __future__ import annotations

from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Findings, Span
from bobcat.frontend.report import shown

CODES = ("W0155",)


def report(span: Span | None, *, name: str) -> Findings:
    """Report the variable."""
    yield diagnose("W0155", span, name=shown(name))
