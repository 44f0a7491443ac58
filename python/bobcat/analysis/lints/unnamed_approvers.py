"""A rule that asks for several approvals, and names no approvers.

What it does: finds `approvals_needed` above 1 without `approvers`.
Why: without names nobody can tell two people from one under two names.
Example: `decision: approve_required` with `approvals_needed: 2`.
Use instead: the same, and `approvers: [alice, bob, carol]`.
Fix: by hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.analysis.subject import Subject
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Every such rule."""
    for facts in subject.rules:
        needed = facts.rule.approvals_needed
        if isinstance(needed, int) and needed > 1 and not facts.rule.approvers:
            yield diagnose("W0133", subject.rule_span(facts), id=facts.rule.id, count=needed)
