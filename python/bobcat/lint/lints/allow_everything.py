"""A rule that permits every tool.

What it does: finds an `allow` or `transform` whose match only excludes calls, and a tool that
    no rule names and that is permitted.
Why: unforeseen calls are permitted; a new tool is open until someone writes a rule.
Example: `match: {}`, or `match: {not: {tool.in: [shell, delete_file]}}`, with `decision: allow`.
Use instead: `tool.in: [read_file, search]`.
Fix: by hand.
"""

from __future__ import annotations

from bobcat.diagnostics.model import Findings
from bobcat.ir import construct
from bobcat.lint.subject import LintContext

CODES = ("W0134",)


def check(subject: LintContext) -> Findings:
    """Find these rules."""
    for facts in subject.searched():
        if any(item.positive for item in facts.leaves):
            continue
        call = subject.example(facts, construct.leaf("tool", (), "eq", "a_new_tool"))
        if call is not None:
            yield subject.at_rule("W0134", facts, call=call)
