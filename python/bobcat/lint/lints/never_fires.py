"""A rule whose match no call can make true.

What it does: finds a match that is always false, or requires two different values at one path.
Why: the rule decides nothing; if it denies, it protects nothing.
Example: `match: {tool: shell, all_of: [{tool: bash}]}`.
Use instead: `tool.in: [shell, bash]`, or `any_of`.
Fix: by hand.
"""

from __future__ import annotations

from bobcat.diagnostics.model import Findings
from bobcat.lint.subject import LintContext

CODES = ("W0112",)


def check(subject: LintContext) -> Findings:
    """Find these rules."""
    for facts in subject.rules:
        if facts.never:
            yield subject.at_rule("W0112", facts)
