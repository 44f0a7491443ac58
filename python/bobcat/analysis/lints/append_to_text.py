"""A transform that appends to a text whose end can make the rest of it count for nothing.

What it does: finds a transform that appends a text, and an argument that it is applied to which ends with the beginning
    of a comment.
Why: ` LIMIT 100` behind `--` limits nothing, ` --dry-run` behind `#` is no option.
Example: `transform: {jsonpath: $.args.sql, append: ' LIMIT 100'}` for every `args.sql`.
Use instead: an argument of its own: `transform: {jsonpath: $.args.limit, set: 100}`; or a pattern without comments.
Fix: by hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.analysis.calls import Call
from bobcat.analysis.subject import RuleFacts, Subject, shown_call
from bobcat.analysis.texts import about
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic

_UNQUOTED = """^(?:[^'"]|'[^']*'|"[^"]*")*"""
_GOALS = (rf"{_UNQUOTED} --\z", rf"{_UNQUOTED} #\z", rf"{_UNQUOTED}(?:--|#|/\*)[^\n'\"]*\z")


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Every such transform."""
    for facts in subject.permitting:
        transform = facts.rule.transform
        if transform is None or transform.op != "append" or not _appends_text(facts):
            continue
        path = ("args", *transform.path)
        for goal in _GOALS:
            call = subject.find(facts, about(path, goal))
            if isinstance(call, Call):
                name = ".".join(path)
                span = subject.rule_span(facts)
                yield diagnose("W0132", span, id=facts.rule.id, path=name, call=shown_call(call))
                break


def _appends_text(facts: RuleFacts) -> bool:
    """Whether what is appended continues a text: a list gets an element that stands for itself."""
    transform = facts.rule.transform
    if transform is None or not isinstance(transform.value, str) or not transform.value:
        return False
    path = ("args", *transform.path)
    return not transform.value[0].isalnum() or any(
        item.path == path and item.leaf.op in ("matches", "starts_with", "ends_with", "lower") for item in facts.leaves
    )
