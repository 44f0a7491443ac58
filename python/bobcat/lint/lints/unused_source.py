"""A source that no rule uses.

What it does: finds a source that no `from` names, directly or through `asked_with` of another source.
Why: it has no effect; perhaps a rule was meant to use it.
Example: `sources: {directory: {tool: search_contacts, fields: [email]}}` with rules that do not name `directory`.
Use instead: `match: {tool: invite, args.who.from: directory}`.
Fix: use it or remove it.
"""

from __future__ import annotations

from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Findings, Span
from bobcat.frontend.report import shown

CODES = ("W0145",)


def report(span: Span | None, *, name: str) -> Findings:
    """Report the source."""
    yield diagnose("W0145", span, name=shown(name))
