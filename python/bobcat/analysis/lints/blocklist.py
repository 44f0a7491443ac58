"""A rule that permits whatever the refusals before it have not thought of.

What it does: finds an argument that a rule of higher rank looks for bad texts in (W0128) or compares with bad texts
    (W0129), an `allow` or `transform` of the same tool that does not look at it, and a text that gets through with
    characters which no list of good texts would have in it.
Why: `rm  -rf` is not `rm -rf`, `RM` is not `rm`, and `find -delete` is neither.
Example: `deny` for `args.cmd.contains: rm -rf`, then `allow` for `tool: shell`.
Use instead: `allow` for the texts that are good: `args.cmd.in: [ls, git status]`.
Fix: by hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.analysis.calls import Call
from bobcat.analysis.lints.negative_only import tests_text, unlisted_call
from bobcat.analysis.subject import Path, PlacedLeaf, RuleFacts, Subject, ignoring, shared_tools, shown_call
from bobcat.analysis.texts import is_command, leaf_name, runs_commands
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic
from bobcat.ir.schema import Const

_OUTSIDE = ("exists", "length")
"""Tests that say nothing of what a text holds."""


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Every such argument, once for a rule that permits."""
    for facts in subject.permitting:
        looked_at = {item.path for item in facts.leaves if item.leaf.op not in _OUTSIDE} | set(_written(facts))
        seen: set[Path] = set()
        for other in subject.restricting_before(facts, "blocklist"):
            if not shared_tools(facts.tools, other.tools):
                continue
            for item in other.leaves:
                if item.path in looked_at or item.path in seen or not _lists(item):
                    continue
                if subject.constrains(facts, item.path):
                    continue
                if not _takes(subject, facts, other, item.path):
                    continue
                listed = item.leaf.op in ("any", "all", "none")
                # The call is one that the refusal looks at: it would be refused if the text were a bad one.
                looks = ignoring(other.rule.match, item.leaf)
                call = unlisted_call(subject, facts, item.path, looks, listed=listed)
                if call is not None:
                    seen.add(item.path)
                    yield _finding(subject, facts, other, item, call)


def _lists(item: PlacedLeaf) -> bool:
    """Whether a leaf of a rule that restricts names bad texts of an argument."""
    return item.path[0] == "args" and item.positive and tests_text(item.leaf)


def _takes(subject: Subject, facts: RuleFacts, other: RuleFacts, path: Path) -> bool:
    """Whether the tools of a rule take an argument, as far as the policy shows."""
    if other.tools or not facts.tools:
        return True
    return path in subject.arguments(facts) or is_command(path) is runs_commands(facts)


def _finding(subject: Subject, facts: RuleFacts, other: RuleFacts, item: PlacedLeaf, call: Call) -> Diagnostic:
    code = "W0129" if _compares(item.leaf.op, item.leaf.operand) else "W0128"
    return diagnose(
        code,
        subject.rule_span(facts),
        related=subject.here(other),
        id=facts.rule.id,
        other=other.rule.id,
        path=leaf_name(item.leaf),
        call=shown_call(call),
    )


def _compares(op: str, operand: Const) -> bool:
    """Whether a test is one of equality, in lower case or of elements."""
    if op in ("lower", "any", "all", "none"):
        return all(_compares(item["op"], item["operand"]) for item in operand["tests"])
    return op in ("eq", "in")


def _written(facts: RuleFacts) -> Iterator[Path]:
    """The argument that a transform sets: what the call had there does not count."""
    transform = facts.rule.transform
    if transform is not None and transform.op in ("set", "delete"):
        yield ("args", *transform.path)
