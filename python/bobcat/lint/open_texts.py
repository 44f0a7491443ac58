"""Findings shared by lints about rules that permit texts that their tests should reject."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Diagnostic
from bobcat.lint.calls import ExampleCall
from bobcat.lint.subject import LintContext, Path, RuleFacts, shown_call
from bobcat.lint.texts import TextTest, first_call, leaf_name, permitting_texts


def find_open_texts(
    subject: LintContext, code: str, patterns: Callable[[RuleFacts, TextTest], tuple[str, ...]]
) -> Iterator[Diagnostic]:
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
            if isinstance(call, ExampleCall):
                seen.add(path)
                span = subject.leaf_span(test.owner, test.item)
                yield diagnose(code, span, id=facts.rule.id, path=leaf_name(test.item.leaf), call=shown_call(call))
