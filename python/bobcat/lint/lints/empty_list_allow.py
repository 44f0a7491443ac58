"""A rule that permits the empty list, for which its test of each element is vacuously true.

What it does: finds an `all` or `none` that makes a rule permit, and passes for a list without elements.
Why: there is no element that fails; many tools take an empty list for "everything".
Example: `args.ids.all.matches: '^C-[0-9]+$'`.
Use instead: the same, and `args.ids.length.ge: 1`.
Fix: by hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Diagnostic
from bobcat.ir import construct
from bobcat.lint.calls import ExampleCall
from bobcat.lint.subject import LintContext, Path, shown_call
from bobcat.lint.texts import leaf_name

CODES = ("W0125",)


def check(subject: LintContext) -> Iterator[Diagnostic]:
    """Find these tests, once for each argument of a rule."""
    for facts in subject.searched():
        seen: set[Path] = set()
        for item in facts.leaves:
            leaf = item.leaf
            if not item.positive or leaf.head != "args" or leaf.op not in ("all", "none") or item.path in seen:
                continue
            call = subject.find(facts, leaf, construct.leaf("args", leaf.path, "eq", []))
            if isinstance(call, ExampleCall):
                seen.add(item.path)
                span = subject.leaf_span(facts, item)
                name = leaf_name(leaf)
                yield diagnose("W0125", span, id=facts.rule.id, path=name, op=leaf.op, call=shown_call(call))
