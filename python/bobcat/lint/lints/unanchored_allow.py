"""A rule that permits every text with a matching part.

What it does: finds a `matches` that makes a rule permit, whose pattern is not anchored at both ends; one that a rule of
    higher rank requires, by denying other texts, counts as well.
Why: a pattern is searched anywhere in the text: `ls` is also found in `ls; rm -rf /`.
Example: `args.cmd.matches: ls` with `decision: allow`.
Use instead: `args.cmd.matches: ^ls$`, or `args.cmd: ls`.
Fix: by hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.diagnostics.model import Findings
from bobcat.ir.schema import Const, Operator
from bobcat.language.facets import IR_NESTING
from bobcat.lint.pattern_syntax import is_anchored
from bobcat.lint.subject import LintContext

CODES = ("W0106",)
_WITH_PATTERNS = IR_NESTING | {"matches"}


def check(subject: LintContext) -> Findings:
    """Find these patterns, at their leaves."""
    for facts in subject.permitting_with(_WITH_PATTERNS):
        own = [(facts, item, item.positive) for item in facts.leaves]
        required = [(owner, item, True) for owner, item in subject.required(facts)]
        for owner, item, positive in (*own, *required):
            if item.leaf.op not in _WITH_PATTERNS:
                continue
            patterns = permitting_patterns(item.leaf.op, item.leaf.operand, positive=positive)
            if any(not is_anchored(pattern) for pattern in patterns):
                yield subject.at_leaf("W0106", facts, item, owner=owner)


def permitting_patterns(op: Operator, operand: Const, *, positive: bool) -> Iterator[str]:
    """Yield the patterns that make a comparison true if they match."""
    if op == "matches":
        if positive:
            yield operand
    elif op in IR_NESTING:
        for item in operand["tests"]:
            yield from permitting_patterns(
                item["op"], item["operand"], positive=positive is not (op in ("none", "not"))
            )
