"""Irreversible calls without a shadow are permitted when no rule matches.

What it does: finds `defaults.on_missing_shadow: allow`.
Why: calls that can be neither undone nor previewed need review most.
Example: `defaults: {on_missing_shadow: allow}`.
Use instead: `on_missing_shadow: approve_required`.
Fix: remove the line.
"""

from __future__ import annotations

from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Findings
from bobcat.lint.subject import LintContext

CODES = ("W0105",)


def check(subject: LintContext) -> Findings:
    """Report the value of `on_missing_shadow`."""
    if subject.policy.defaults.on_missing_shadow == "allow":
        yield diagnose("W0105", subject.source_map.default_span(1))
