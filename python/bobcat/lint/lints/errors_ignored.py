"""A rule that cannot be evaluated is skipped.

What it does: finds `defaults.on_rule_error: continue`.
Why: the caller chooses the arguments: one of the wrong type disables a `deny`.
Example: `defaults: {on_rule_error: continue}`.
Use instead: `on_rule_error: deny`, which is the default.
Fix: remove the line.
"""

from __future__ import annotations

from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Findings
from bobcat.lint.subject import LintContext

CODES = ("W0104",)


def check(subject: LintContext) -> Findings:
    """Report the value of `on_rule_error`."""
    if subject.policy.defaults.on_rule_error == "continue":
        yield diagnose("W0104", subject.source_map.default_span(2))
