"""A rule that permits tools by a part of their names.

What it does: finds a test of `tool` that makes a rule permit, and a name that passes it and says that it deletes.
Why: a tool that is added later, or that a server names, is permitted without anybody having looked at it.
Example: `tool.starts_with: read_`, `tool.glob: github_*`.
Use instead: `tool.in: [read_file, read_mail]`.
Fix: by hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.analysis.calls import Call
from bobcat.analysis.lints.unanchored_allow import permitting_patterns
from bobcat.analysis.pattern_syntax import is_anchored
from bobcat.analysis.subject import Subject, shown_call
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic
from bobcat.ir import construct

_BY_PART = frozenset(("starts_with", "ends_with", "contains", "contains_any", "contains_all", "matches", "lower"))


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Every such test."""
    for facts in subject.permitting:
        for item in facts.leaves:
            leaf = item.leaf
            if leaf.head != "tool" or not item.positive or leaf.op not in _BY_PART:
                continue
            if any(not is_anchored(text) for text in permitting_patterns(leaf.op, leaf.operand, positive=True)):
                continue  # W0106
            for goal in ("delete", "wipe", "x"):
                call = subject.find(facts, leaf, construct.leaf("tool", (), "contains", goal))
                if isinstance(call, Call):
                    yield diagnose("W0131", subject.leaf_span(facts, item), id=facts.rule.id, call=shown_call(call))
                    break
