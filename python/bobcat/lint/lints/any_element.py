"""A rule that permits a list as soon as one of its elements passes.

What it does: finds an `any` that makes a rule permit, and a list that passes it with another element in it.
Why: one recipient in the user's company makes `any` true; the others are not checked.
Example: `args.to.any.ends_with: '@example.com'`.
Use instead: `args.to.all.ends_with: '@example.com'`, and `args.to.length.ge: 1`.
Fix: by hand.
"""

from __future__ import annotations

from bobcat.diagnostics.model import Findings
from bobcat.ir import construct
from bobcat.lint.subject import LintContext

CODES = ("W0135",)
_OTHER = "another element"


def check(subject: LintContext) -> Findings:
    """Find these tests."""
    for facts in subject.searched(("any",)):
        for item in facts.leaves:
            leaf = item.leaf
            if not item.positive or leaf.head != "args" or leaf.op != "any":
                continue
            call = subject.example(facts, leaf, construct.leaf("args", leaf.path, "contains", _OTHER))
            if call is not None:
                yield subject.at_leaf("W0135", facts, item, call=call)
