"""A rule that permits numbers up to a bound, including negative ones.

What it does: finds an argument that a rule compares with an upper bound before it permits, itself or in a rule of
    higher rank that restricts larger numbers, and for which a number far below zero is permitted.
Why: a refund of -1000000000 is below 500.
Example: `args.amount.le: 500`; or `deny` for `args.amount.gt: 500`, then `allow`.
Use instead: `args.amount.between: [1, 500]`.
Fix: by hand.
"""

from __future__ import annotations

from bobcat.diagnostics.model import Findings
from bobcat.ir import construct
from bobcat.ir.schema import Leaf
from bobcat.lint.subject import LintContext, PlacedLeaf, RuleFacts, ignoring

CODES = ("W0126",)
_BOUNDS = ("lt", "le", "gt", "ge")
_FAR_BELOW = -1_000_000_000


def check(subject: LintContext) -> Findings:
    """Find these bounds, once for each argument of a rule."""

    def looks(_: RuleFacts, item: PlacedLeaf, other: RuleFacts | None) -> bool:
        return _is_upper(item.leaf, limits=item.positive is (other is None))

    for facts, item, other in subject.own_or_restricting(
        "missing-lower-bound", subject.testing(_BOUNDS, head="args"), looks
    ):
        if other is None or not subject.constrains(facts, item.path):
            yield from _finding(subject, facts, item, other)


def _is_upper(leaf: Leaf, *, limits: bool) -> bool:
    """Return true if a comparison, or its negation, is an upper bound of a numeric argument."""
    if leaf.head != "args" or leaf.op not in (("lt", "le") if limits else ("gt", "ge")):
        return False
    reference = isinstance(leaf.operand, dict) and "ref" in leaf.operand
    return reference or (isinstance(leaf.operand, int | float) and not isinstance(leaf.operand, bool))


def _finding(subject: LintContext, facts: RuleFacts, item: PlacedLeaf, other: RuleFacts | None) -> Findings:
    leaf = item.leaf
    below = construct.leaf("args", leaf.path, "eq", _FAR_BELOW)
    if other is not None:
        call = subject.example(facts, below, ignoring(other.rule.match, leaf))
    else:
        call = subject.example(facts, below, *([leaf] if item.positive else []))
    if call is not None:
        yield subject.at_either("W0126", facts, item, other, call=call)
