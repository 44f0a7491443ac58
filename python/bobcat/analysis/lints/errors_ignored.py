"""A rule that cannot be judged is skipped.

What it does: finds `defaults.on_rule_error: continue`.
Why: the caller chooses the arguments: one of the wrong type makes a `deny` vanish.
Example: `defaults: {on_rule_error: continue}`.
Use instead: `on_rule_error: deny`, which is the default.
Fix: leave the line out.
"""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.analysis.subject import Subject
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic


def check(subject: Subject) -> Iterator[Diagnostic]:
    """The one finding, at the value of `on_rule_error`."""
    if subject.policy.defaults.on_rule_error == "continue":
        yield diagnose("W0104", subject.source_map.default_span(2))
