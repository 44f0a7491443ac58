"""A Python rule that stays a callable.

What it does: finds what cannot be compiled in a Python rule (W0115), and what makes it impure (W0116), if such rules
    are permitted by `uncompiled="callable"`.
Why: a callable is slow, every loader of the bundle needs it, and its digest does not cover what it calls.
Example: a rule that reads the clock.
Use instead: the supported subset of Python, `docs/reference/python-rules.md`.
Fix: by hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Findings, Span

if TYPE_CHECKING:
    from bobcat.frontend.python.analysis.refusal import RefusalKind

CODES = ("W0115", "W0116")


_BY_KIND: dict[RefusalKind, str] = {"shape": "W0115", "impure": "W0116"}


def report(span: Span | None, *, kind: RefusalKind, name: str, problem: str, instead: str) -> Findings:
    """Report one reason."""
    yield diagnose(_BY_KIND[kind], span, name=name, problem=problem, instead=instead)
