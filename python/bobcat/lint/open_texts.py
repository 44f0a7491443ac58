"""Findings shared by lints about rules that permit texts that their tests should reject."""

from __future__ import annotations

from collections.abc import Callable

from bobcat.diagnostics.model import Findings
from bobcat.lint.subject import LintContext, Path, RuleFacts
from bobcat.lint.texts import TextTest, first_call, permitting_texts


def find_open_texts(
    subject: LintContext, code: str, patterns: Callable[[RuleFacts, TextTest], tuple[str, ...]]
) -> Findings:
    """Find the tests that accept a text matching one of their `patterns`, once for each argument of a rule.

    Tests that W0106 reports are omitted.
    """
    for facts in subject.searched():
        seen: set[Path] = set()
        for test in permitting_texts(subject, facts):
            path = test.item.path
            if path in seen or test.unanchored:
                continue
            call = first_call(subject, facts, test, patterns(facts, test))
            if call is not None:
                seen.add(path)
                yield subject.at_leaf(code, facts, test.item, owner=test.owner, call=call)
