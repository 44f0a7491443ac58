"""Irreversible calls without a shadow go through when no rule matches.

What it does: finds `defaults.on_missing_shadow: allow`.
Why: the calls that cannot be undone and cannot be tried are the last that should pass unseen.
Example: `defaults: {on_missing_shadow: allow}`.
Use instead: `on_missing_shadow: approve_required`.
Fix: leave the line out.
"""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.analysis.subject import Subject
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic


def check(subject: Subject) -> Iterator[Diagnostic]:
    """The one finding, at the value of `on_missing_shadow`."""
    if subject.policy.defaults.on_missing_shadow == "allow":
        yield diagnose("W0105", subject.source_map.default_span(1))
