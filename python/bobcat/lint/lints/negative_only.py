"""A rule that permits by excluding values of an argument.

What it does: finds an argument for which a rule that permits only excludes values, and a permitted text
    with characters that no list of good texts would contain.
Why: unforeseen values are permitted: another spelling, another program, another host.
Example: `match: {tool: shell, not: {args.cmd.contains: rm}}` with `decision: allow`.
Use instead: a list of allowed values: `args.cmd.in: [ls, git status]`.
Fix: by hand.
"""

from __future__ import annotations

from bobcat.diagnostics.model import Findings
from bobcat.ir import construct
from bobcat.ir.schema import Const, Expr, Leaf
from bobcat.language.facets import IR_OPERATORS
from bobcat.language.kinds import OperandForm
from bobcat.lint.subject import LintContext, Path, PlacedLeaf, RuleFacts
from bobcat.lint.texts import about, unlisted_texts

CODES = ("W0127",)
_CALLERS = (("context", "principal", "id"), ("context", "principal", "name"))
_FAR_BELOW = -1_000_000_000
_EXCLUDING = frozenset(row.name for row in IR_OPERATORS.values() if row.excludes)
_OF_TEXTS = (
    OperandForm.VALUE,
    OperandForm.SCALARS,
    OperandForm.PART,
    OperandForm.PARTS,
    OperandForm.SOME_PARTS,
)


def check(subject: LintContext) -> Findings:
    """Find these arguments, once for each rule; and the principal, if a rule only excludes principals."""
    for facts in subject.searched():
        seen: set[Path] = set()
        for item in facts.leaves:
            if item.positive and item.leaf.op not in _EXCLUDING:  # PERF: most leaves
                continue
            if item.path in seen or not (item.path[0] == "args" or item.path in _CALLERS) or not _excludes(item):
                continue
            if subject.constrains(facts, item.path):
                continue
            seen.add(item.path)
            if tests_text(item.leaf):
                call = unlisted_call(subject, facts, item.path, listed=IR_OPERATORS[item.leaf.op].elements)
            else:
                below = construct.leaf(item.leaf.head, item.leaf.path, "eq", _FAR_BELOW)
                call = subject.example(facts, below)
            if call is not None:
                yield subject.at_leaf("W0127", facts, item, call=call)


def _excludes(item: PlacedLeaf) -> bool:
    """Return true if a test that excludes values excludes texts or numbers."""
    leaf = item.leaf
    row = IR_OPERATORS[leaf.op]
    if row.elements and item.positive:
        return True
    operand = leaf.operand if isinstance(leaf.operand, list) else [leaf.operand]
    numbers = row.operand in (OperandForm.VALUE, OperandForm.SCALARS, OperandForm.BOUNDS) and any(
        map(_is_number, operand)
    )
    return numbers if row.operand is OperandForm.BOUNDS else numbers or tests_text(leaf)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def unlisted_call(subject: LintContext, facts: RuleFacts, path: Path, *goals: Expr, listed: bool) -> str | None:
    """Return the sentence that shows a call which a rule permits with an implausible text at a path."""
    patterns = unlisted_texts(facts, path)
    calls = (subject.example(facts, about(path, pattern, listed=listed), *goals) for pattern in patterns)
    return next((call for call in calls if call is not None), None)


def tests_text(leaf: Leaf) -> bool:
    """Return true if a test distinguishes texts: not a test of a number, a bool, a length, or presence."""
    return _tells_apart(leaf.op, leaf.operand)


def _tells_apart(op: str, operand: Const) -> bool:
    row = IR_OPERATORS[op]
    if row.nests:
        return row.constrains and any(_tells_apart(item["op"], item["operand"]) for item in operand["tests"])
    if row.operand in (OperandForm.PATTERN, OperandForm.TEXTS):
        return True
    items = operand if isinstance(operand, list) else [operand]
    return row.operand in _OF_TEXTS and any(isinstance(item, str) for item in items)
