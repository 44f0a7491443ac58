"""A sum that a negative argument makes smaller.

What it does: finds an upper bound of a sum over the calls of a tool that some rule permits without a lower bound of the
    summed argument.
Why: a call with -1000 leaves room for 1000 more.
Example: `{tool: pay, run.sum.pay.amount.with_this.le: 1000}`.
Use instead: `{tool: pay, args.amount.ge: 0, run.sum.pay.amount.with_this.le: 1000}`.
Fix: add a lower bound of the argument to the rules that permit the tool, or deny what is below it.
"""

from __future__ import annotations

from functools import cache

from msgspec import UNSET

from bobcat.diagnostics.model import Findings
from bobcat.ir.schema import Measure
from bobcat.language.facets import IR_OPERATORS
from bobcat.lint.run_definitions import definitions, permitting
from bobcat.lint.subject import LintContext, PlacedLeaf, RuleFacts

CODES = ("W0149",)


def check(subject: LintContext) -> Findings:
    """Find these sums."""
    sums = [*definitions(subject)]
    restricting = subject.restricting(subject.rules if sums else ())

    @cache
    def tests(facts: RuleFacts) -> list[PlacedLeaf]:
        """Return the tests of a rule, and those of the rules of higher rank that deny."""
        others = [item for other in subject.before(facts, restricting, "shrinking-sum") for item in other.leaves]
        return [*facts.leaves, *(PlacedLeaf(item.number, item.leaf, not item.positive) for item in others)]

    for _, definition, facts, item in sums:
        if not isinstance(definition, Measure) or definition.field is UNSET or not _is_upper(item):
            continue
        path = ("args", *definition.field)
        rules = [other for other in permitting(subject, definition.of) or [] if other.permits]  # an approver sees it
        open_rules = [other for other in rules if not any(_bounds(each, path) for each in tests(other))]
        if open_rules:
            argument = ".".join(path)
            yield subject.at_leaf("W0149", facts, item, argument=argument, other=open_rules[0].rule.id)


def _is_upper(item: PlacedLeaf) -> bool:
    return item.leaf.op in (("lt", "le", "between") if item.positive else ("gt", "ge"))


def _bounds(item: PlacedLeaf, path: tuple[str, ...]) -> bool:
    """Return true if a test, or its negation, requires a value from 0 on."""
    if item.path != path:
        return False
    row = IR_OPERATORS[item.leaf.op]
    if not item.positive:
        return item.leaf.op in ("lt", "le")
    if row.interval is None or isinstance(item.leaf.operand, dict):
        return row.anchors == "both"
    low = row.interval(item.leaf.operand)[0]
    return low is not None and not isinstance(low[0], str) and low[0] is not None and low[0] >= 0
