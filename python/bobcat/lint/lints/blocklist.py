"""A rule that permits every text that the denials before it do not list.

What it does: finds an argument that a rule of higher rank searches for bad texts (W0128) or compares with bad texts
    (W0129), an `allow` or `transform` of the same tool that does not test it, and a permitted text with
    characters that no list of good texts would contain.
Why: `rm  -rf` is not `rm -rf`, `RM` is not `rm`, and `find -delete` is neither.
Example: `deny` for `args.cmd.contains: rm -rf`, then `allow` for `tool: shell`.
Use instead: `allow` for the good texts: `args.cmd.in: [ls, git status]`.
Fix: by hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.diagnostics.model import Findings
from bobcat.ir.schema import Const
from bobcat.language.facets import IR_OPERATORS
from bobcat.lint.lints.negative_only import tests_text, unlisted_call
from bobcat.lint.subject import LintContext, Path, PlacedLeaf, RuleFacts, ignoring
from bobcat.lint.texts import is_command, runs_commands

CODES = ("W0128", "W0129")
_CONSTRAINING = frozenset(row.name for row in IR_OPERATORS.values() if row.constrains)


def check(subject: LintContext) -> Findings:
    """Find these arguments, once for each rule that permits."""
    known: dict[int, list[PlacedLeaf]] = {}
    restricting = subject.restricting(subject.rules)
    for facts in subject.permitting:
        before = subject.before(facts, restricting, "blocklist")
        if not subject.calls.searching:
            continue
        listing = [(other, lists) for other in before if (lists := _lists_of(known, other))]
        if not listing:
            continue
        looked_at = {item.path for item in facts.leaves if item.leaf.op in _CONSTRAINING}.union(_written(facts))
        seen: set[Path] = set()
        for other, lists in listing:
            for item in lists:
                if item.path in looked_at or item.path in seen:
                    continue
                if subject.constrains(facts, item.path):
                    continue
                if not _takes(subject, facts, other, item.path):
                    continue
                listed = IR_OPERATORS[item.leaf.op].elements
                # The denial applies to this call: it would deny the call if the text were a bad one.
                looks = ignoring(other.rule.match, item.leaf)
                call = unlisted_call(subject, facts, item.path, looks, listed=listed)
                if call is not None:
                    seen.add(item.path)
                    code = "W0129" if _compares(item.leaf.op, item.leaf.operand) else "W0128"
                    yield subject.at_rule(code, facts, beside=other, path=".".join(item.path), call=call)


def _lists_of(known: dict[int, list[PlacedLeaf]], other: RuleFacts) -> list[PlacedLeaf]:
    """Return the leaves of a rule that restricts which list bad texts; `known` has those of the rules before."""
    found = known.get(other.index)
    if found is None:
        found = known[other.index] = [*filter(_lists, other.leaves)]
    return found


def _lists(item: PlacedLeaf) -> bool:
    """Return true if a leaf of a rule that restricts lists bad texts of an argument."""
    return item.path[0] == "args" and not item.excludes and tests_text(item.leaf)


def _takes(subject: LintContext, facts: RuleFacts, other: RuleFacts, path: Path) -> bool:
    """Return true if the tools of a rule accept an argument, as far as the policy shows."""
    if other.tools or not facts.tools:
        return True
    return path in subject.arguments(facts) or is_command(path) is runs_commands(facts)


def _compares(op: str, operand: Const) -> bool:
    """Return true if a test is one of equality, also in lower case or of elements."""
    if IR_OPERATORS[op].nests and IR_OPERATORS[op].constrains:
        return all(_compares(item["op"], item["operand"]) for item in operand["tests"])
    return IR_OPERATORS[op].anchors == "both"


def _written(facts: RuleFacts) -> Iterator[Path]:
    """Yield the argument that a transform sets: its value in the call is irrelevant."""
    transform = facts.rule.transform
    if transform is not None and transform.op in ("set", "delete"):
        yield ("args", *transform.path)
