"""A rule that permits tools by a part of their names.

What it does: finds a test of `tool` that makes a rule permit, and a name that passes it and indicates a deletion.
Why: a tool that is added later, or that a server names, is permitted without review.
Example: `tool.starts_with: read_`, `tool.glob: github_*`.
Use instead: `tool.in: [read_file, read_mail]`.
Fix: by hand.
"""

from __future__ import annotations

from bobcat.diagnostics.model import Findings
from bobcat.ir import construct
from bobcat.lint.lints.unanchored_allow import permitting_patterns
from bobcat.lint.pattern_syntax import is_anchored
from bobcat.lint.subject import LintContext

CODES = ("W0131",)
_BY_PART = frozenset(("starts_with", "ends_with", "contains", "contains_any", "contains_all", "matches", "lower"))


def check(subject: LintContext) -> Findings:
    """Find these tests."""
    for facts in subject.searched(_BY_PART):
        for item in facts.leaves:
            leaf = item.leaf
            if leaf.head != "tool" or not item.positive or leaf.op not in _BY_PART:
                continue
            if any(not is_anchored(text) for text in permitting_patterns(leaf.op, leaf.operand, positive=True)):
                continue  # W0106
            for goal in ("delete", "wipe", "x"):
                call = subject.example(facts, leaf, construct.leaf("tool", (), "contains", goal))
                if call is not None:
                    yield subject.at_leaf("W0131", facts, item, call=call)
                    break
