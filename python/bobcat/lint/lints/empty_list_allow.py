"""A rule that permits the empty list, for which its test of each element is vacuously true.

What it does: finds an `all` or `none` that makes a rule permit, and passes for a list without elements.
Why: there is no element that fails; many tools take an empty list for "everything".
Example: `args.ids.all.matches: '^C-[0-9]+$'`.
Use instead: the same, and `args.ids.length.ge: 1`.
Fix: by hand.
"""

from __future__ import annotations

from bobcat.diagnostics.model import Findings
from bobcat.ir import construct
from bobcat.ir.schema import Leaf
from bobcat.language.facets import IR_OPERATORS
from bobcat.lint.evaluate import holds
from bobcat.lint.subject import LintContext, Path

CODES = ("W0125",)
_OF_LISTS = frozenset(row.name for row in IR_OPERATORS.values() if row.types == ("array",))


def check(subject: LintContext) -> Findings:
    """Find these tests, once for each argument of a rule."""
    for facts in subject.searched(_OF_LISTS):
        seen: set[Path] = set()
        for item in facts.leaves:
            leaf = item.leaf
            if not item.positive or leaf.head != "args" or not _passes_empty(leaf) or item.path in seen:
                continue
            call = subject.example(facts, leaf, construct.leaf("args", leaf.path, "eq", []))
            if call is not None:
                seen.add(item.path)
                yield subject.at_leaf("W0125", facts, item, op=leaf.op, call=call)


def _passes_empty(leaf: Leaf) -> bool:
    """Return true if a test of lists only can be true for the empty list."""
    reference = isinstance(leaf.operand, dict) and "ref" in leaf.operand
    return leaf.op in _OF_LISTS and (reference or holds(leaf.op, leaf.operand, []) is True)
