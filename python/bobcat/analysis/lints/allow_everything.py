"""A rule that permits every tool.

What it does: finds an `allow` or `transform` whose match says nothing about a call but what it is not, and a tool that
    nobody has named and gets through.
Why: what nobody thought of is permitted; a new tool is open until someone writes a rule.
Example: `match: {}`, or `match: {not: {tool.in: [shell, delete_file]}}`, with `decision: allow`.
Use instead: `tool.in: [read_file, search]`.
Fix: by hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.analysis.calls import Call
from bobcat.analysis.subject import Subject, shown_call
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic
from bobcat.ir import construct


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Every such rule."""
    for facts in subject.permitting:
        if any(item.positive for item in facts.leaves):
            continue
        call = subject.find(facts, construct.leaf("tool", (), "eq", "a_new_tool"))
        if isinstance(call, Call):
            yield diagnose("W0134", subject.rule_span(facts), id=facts.rule.id, call=shown_call(call))
