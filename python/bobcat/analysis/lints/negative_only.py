"""A rule that permits because of what an argument is not.

What it does: finds an argument of which a rule that permits says only what it may not be, and a text that gets through
    with characters which no list of good texts would have in it.
Why: what nobody thought of is permitted: another spelling, another program, another host.
Example: `match: {tool: shell, not: {args.cmd.contains: rm}}` with `decision: allow`.
Use instead: what the argument may be: `args.cmd.in: [ls, git status]`.
Fix: by hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.analysis.calls import Call
from bobcat.analysis.subject import Path, RuleFacts, Subject, shown_call
from bobcat.analysis.texts import about, leaf_name, unlisted_texts
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic
from bobcat.ir.schema import Const, Expr, Leaf


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Every such argument, once for a rule."""
    for facts in subject.permitting:
        seen: set[Path] = set()
        for item in facts.leaves:
            excludes = item.leaf.op == "none" if item.positive else tests_text(item.leaf)
            if item.path[0] != "args" or item.path in seen or not excludes or subject.constrains(facts, item.path):
                continue
            seen.add(item.path)
            listed = item.leaf.op in ("any", "all", "none")
            call = unlisted_call(subject, facts, item.path, listed=listed)
            if call is not None:
                span = subject.leaf_span(facts, item)
                yield diagnose("W0127", span, id=facts.rule.id, path=leaf_name(item.leaf), call=shown_call(call))


def unlisted_call(subject: Subject, facts: RuleFacts, path: Path, *goals: Expr, listed: bool) -> Call | None:
    """A call that a rule permits with a text at a path that nobody would list."""
    for pattern in unlisted_texts(facts, path):
        call = subject.find(facts, about(path, pattern, listed=listed), *goals)
        if isinstance(call, Call):
            return call
    return None


def tests_text(leaf: Leaf) -> bool:
    """Whether a test tells texts apart: not one of a number, a bool, a length, or of being there."""
    return _tells_apart(leaf.op, leaf.operand)


def _tells_apart(op: str, operand: Const) -> bool:
    match op:
        case "matches" | "starts_with" | "ends_with":
            return True
        case "eq" | "in" | "contains" | "contains_any" | "contains_all":
            items = operand if isinstance(operand, list) else [operand]
            return any(isinstance(item, str) for item in items)
        case "lower" | "any" | "all" | "none":
            return any(_tells_apart(item["op"], item["operand"]) for item in operand["tests"])
        case _:
            return False
