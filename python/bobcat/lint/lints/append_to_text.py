"""A transform that appends to a text whose end can cancel the appended part.

What it does: finds a transform that appends a text, and an argument value for it that ends with the start
    of a comment.
Why: ` LIMIT 100` after `--` limits nothing, ` --dry-run` after `#` is not an option.
Example: `transform: {jsonpath: $.args.sql, append: ' LIMIT 100'}` for every `args.sql`.
Use instead: an argument of its own: `transform: {jsonpath: $.args.limit, set: 100}`; or a pattern without comments.
Fix: by hand.
"""

from __future__ import annotations

from bobcat.diagnostics.model import Findings
from bobcat.lint.subject import LintContext, RuleFacts
from bobcat.lint.texts import about

CODES = ("W0132",)
_UNQUOTED = """^(?:[^'"]|'[^']*'|"[^"]*")*"""
_GOALS = (rf"{_UNQUOTED} --\z", rf"{_UNQUOTED} #\z", rf"{_UNQUOTED}(?:--|#|/\*)[^\n'\"]*\z")


def check(subject: LintContext) -> Findings:
    """Find these transforms."""
    for facts in subject.searched():
        transform = facts.rule.transform
        if transform is None or transform.op != "append" or not _appends_text(facts):
            continue
        path = ("args", *transform.path)
        for goal in _GOALS:
            call = subject.example(facts, about(path, goal))
            if call is not None:
                yield subject.at_rule("W0132", facts, path=".".join(path), call=call)
                break


def _appends_text(facts: RuleFacts) -> bool:
    """Return true if the appended value continues a text: a list gets a separate element."""
    transform = facts.rule.transform
    if transform is None or not isinstance(transform.value, str) or not transform.value:
        return False
    path = ("args", *transform.path)
    return not transform.value[0].isalnum() or any(
        item.path == path and item.leaf.op in ("matches", "starts_with", "ends_with", "lower") for item in facts.leaves
    )
