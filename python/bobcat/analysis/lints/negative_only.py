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
from bobcat.analysis.subject import Path, PlacedLeaf, RuleFacts, Subject, shown_call
from bobcat.analysis.texts import about, leaf_name, unlisted_texts
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic
from bobcat.ir import construct
from bobcat.ir.schema import Const, Expr, Leaf

_CALLERS = (("context", "principal", "id"), ("context", "principal", "name"))
_FAR_BELOW = -1_000_000_000


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Every such argument, once for a rule; and the caller, where a rule says only who it may not be."""
    for facts in subject.permitting:
        seen: set[Path] = set()
        for item in facts.leaves:
            if item.path in seen or not (item.path[0] == "args" or item.path in _CALLERS) or not _excludes(item):
                continue
            if subject.constrains(facts, item.path):
                continue
            seen.add(item.path)
            if tests_text(item.leaf):
                call = unlisted_call(subject, facts, item.path, listed=item.leaf.op in ("any", "all", "none"))
            else:
                below = construct.leaf(item.leaf.head, item.leaf.path, "eq", _FAR_BELOW)
                answer = subject.find(facts, below)
                call = answer if isinstance(answer, Call) else None
            if call is not None:
                span = subject.leaf_span(facts, item)
                yield diagnose("W0127", span, id=facts.rule.id, path=leaf_name(item.leaf), call=shown_call(call))


def _excludes(item: PlacedLeaf) -> bool:
    """Whether a test says what a text or a number may not be."""
    leaf = item.leaf
    if item.positive:
        return leaf.op == "none" or (leaf.op == "not_between" and _is_number(leaf.operand[0]))
    if leaf.op in ("eq", "in", "between"):
        operand = leaf.operand if isinstance(leaf.operand, list) else [leaf.operand]
        return tests_text(leaf) or any(map(_is_number, operand))
    return tests_text(leaf)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


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
