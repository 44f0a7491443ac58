"""A rule that permits whatever has a matching part.

What it does: finds a `matches` that makes a rule permit, whose pattern is not anchored at both ends.
Why: a pattern is searched anywhere in the text: `ls` is also found in `ls; rm -rf /`.
Example: `args.cmd.matches: ls` with `decision: allow`.
Use instead: `args.cmd.matches: ^ls$`, or `args.cmd: ls`.
Fix: by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bobcat.analysis.implication import PERMITS
from bobcat.bundle.source_map import SourceMap
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic
from bobcat.ir.schema import NESTING, All, AnyOf, Const, Expr, Leaf, Not, Operator, Policy, Rule

_FLAGS = re.compile(r"\(\?([imsU]+)\)")
_TOKEN = re.compile(r"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|.", re.DOTALL)


def check(policy: Policy, source_map: SourceMap) -> Iterator[Diagnostic]:
    """Every such pattern, at its leaf."""
    for index, rule in enumerate(policy.rules):
        if isinstance(rule, Rule) and rule.verdict in PERMITS:
            for number, leaf, positive in _leaves(rule.match):
                if any(not is_anchored(pattern) for pattern in _patterns(leaf.op, leaf.operand, positive=positive)):
                    yield diagnose("W0106", source_map.leaf_span(index, number), id=rule.id)


def _patterns(op: Operator, operand: Const, *, positive: bool) -> Iterator[str]:
    """The patterns that make a comparison true where they are found."""
    if op == "matches":
        if positive:
            yield operand
    elif op in NESTING:
        for item in operand["tests"]:
            yield from _patterns(item["op"], item["operand"], positive=positive is not (op == "none"))


def is_anchored(pattern: str) -> bool:
    """Whether every match of `pattern` reaches from the start of the text to its end, as far as its form shows."""
    flags = ""
    while found := _FLAGS.match(pattern):
        flags += found[1]
        pattern = pattern[found.end() :]
    tokens = _TOKEN.findall(pattern)
    line_wise = "m" in flags or "(?m" in pattern or re.search(r"\(\?\w*m", pattern) is not None
    if len(tokens) < 2 or "|" in _top_level(tokens):
        return False
    starts = tokens[0] == "\\A" or (tokens[0] == "^" and not line_wise)
    ends = tokens[-1] == "\\z" or (tokens[-1] == "$" and not line_wise)
    return starts and ends


def _top_level(tokens: list[str]) -> list[str]:
    found: list[str] = []
    level = 0
    for token in tokens:
        if token == ")":
            level -= 1
        if level == 0:
            found.append(token)
        if token == "(":
            level += 1
    return found


def _leaves(expr: Expr) -> Iterator[tuple[int, Leaf, bool]]:
    """The leaves in pre-order: number, leaf, and whether it stands under an even number of `not`."""
    waiting: list[tuple[Expr, bool]] = [(expr, True)]
    number = 0
    while waiting:
        node, positive = waiting.pop()
        match node:
            case Leaf():
                yield number, node, positive
                number += 1
            case Not(item):
                waiting.append((item, not positive))
            case All(items) | AnyOf(items):
                waiting.extend((item, positive) for item in reversed(items))
