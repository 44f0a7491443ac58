"""Calls that no rule matches go through.

What it does: finds `defaults.on_no_match: allow`.
Why: what nobody thought of is permitted; a new tool is open until someone writes a rule.
Example: `defaults: {on_no_match: allow}`.
Use instead: `on_no_match: deny`, and rules that allow.
Fix: leave the line out.
"""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.analysis.subject import Subject
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic


def check(subject: Subject) -> Iterator[Diagnostic]:
    """The one finding, at the value of `on_no_match`."""
    if subject.policy.defaults.on_no_match == "allow":
        yield diagnose("W0103", subject.source_map.default_span(0))
