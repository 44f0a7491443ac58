"""A rule that permits in every environment that is not on a list.

What it does: finds `context.environment`, `context.workspace` or a text in `context.extra` that a rule which permits
    excludes values of, or that a rule of higher rank restricts for some values, so that an unlisted value
    is permitted.
Why: a new environment, `production` instead of `prod`, or `Prod` is not listed.
Example: `deny` for `context.environment: prod`, then `allow` for the same tool.
Use instead: `allow` in the intended environments: `context.environment.in: [dev, staging]`.
Fix: by hand.
"""

from __future__ import annotations

from bobcat.diagnostics.model import Findings
from bobcat.ir import construct
from bobcat.lint.lints.negative_only import tests_text
from bobcat.lint.subject import LintContext, PlacedLeaf, RuleFacts, ignoring

CODES = ("W0130",)
_UNLISTED = "unlisted"


def check(subject: LintContext) -> Findings:
    """Find these paths, once for each rule that permits."""

    def looks(facts: RuleFacts, item: PlacedLeaf, other: RuleFacts | None) -> bool:
        if item.excludes is not (other is None) or not _is_environment(item):
            return False
        return other is None or not _parted(subject, facts, other)

    for facts, item, other in subject.own_or_restricting("listed-environments", subject.testing(head="context"), looks):
        yield from _finding(subject, facts, item, other)


def _parted(subject: LintContext, facts: RuleFacts, other: RuleFacts) -> bool:
    """Return true if two rules are about different texts of one argument, so that they share no calls."""
    texts = {item.path for item in other.leaves if item.path[0] == "args" and tests_text(item.leaf)}
    return any(subject.constrains(facts, path) for path in texts)


def _is_environment(item: PlacedLeaf) -> bool:
    fixed = item.path in (("context", "environment"), ("context", "workspace"))
    return (fixed or item.path[:2] == ("context", "extra")) and tests_text(item.leaf)


def _finding(subject: LintContext, facts: RuleFacts, item: PlacedLeaf, other: RuleFacts | None) -> Findings:
    if subject.constrains(facts, item.path):
        return
    leaf = item.leaf
    # For a restricting rule: a call that it would restrict in a listed environment.
    looks = [ignoring(other.rule.match, leaf)] if other is not None else []
    call = subject.example(facts, construct.leaf(leaf.head, leaf.path, "eq", _UNLISTED), *looks)
    if call is not None:
        yield subject.at_either("W0130", facts, item, other, call=call)
