"""A rule that requires several approvals, but names no approvers.

What it does: finds `approvals_needed` above 1 without `approvers`.
Why: without names, one person could approve twice under two names.
Example: `decision: approve_required` with `approvals_needed: 2`.
Use instead: the same, and `approvers: [alice, bob, carol]`.
Fix: by hand.
"""

from __future__ import annotations

from bobcat.diagnostics.model import Findings
from bobcat.lint.subject import LintContext

CODES = ("W0133",)


def check(subject: LintContext) -> Findings:
    """Find these rules."""
    for facts in subject.rules:
        needed = facts.rule.approvals_needed
        if isinstance(needed, int) and needed > 1 and not facts.rule.approvers:
            yield subject.at_rule("W0133", facts, count=needed)
