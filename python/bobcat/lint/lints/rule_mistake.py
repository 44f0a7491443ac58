"""A Python rule whose code cannot do what its author meant.

What it does: finds a returned value that is not a decision, a decision that is not returned, and unknown fields.
Why: the rule is in error when it reaches the mistake, which denies the call.
Example: `return "rm" in request.args["cmd"] and deny("no")`.
Use instead: an `if` statement with `return deny("no")`.
Fix: by hand.
"""

from __future__ import annotations

from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Findings, Span

CODES = ("W0118",)


def report(span: Span | None, *, name: str, problem: str, instead: str) -> Findings:
    """Report one mistake."""
    yield diagnose("W0118", span, name=name, problem=problem, instead=instead)
