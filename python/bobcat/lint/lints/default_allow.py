"""Calls that no rule matches are permitted.

What it does: finds `defaults.on_no_match: allow`.
Why: unforeseen calls are permitted; a new tool is open until someone writes a rule.
Example: `defaults: {on_no_match: allow}`.
Use instead: `on_no_match: deny`, and rules that allow.
Fix: remove the line.
"""

from __future__ import annotations

from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Findings
from bobcat.lint.subject import LintContext

CODES = ("W0103",)


def check(subject: LintContext) -> Findings:
    """Report the value of `on_no_match`."""
    if subject.policy.defaults.on_no_match == "allow":
        yield diagnose("W0103", subject.source_map.default_span(0))
