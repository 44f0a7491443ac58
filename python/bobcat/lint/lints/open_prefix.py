"""A rule that permits paths of other directories whose names start with the one that it names.

What it does: finds the test of a path that makes a rule permit, requires a prefix that does not end with `/`, and
    accepts a longer name. A prefix that is read from the context counts as one.
Why: `/home/alice/.ssh` begins with `/home/al`.
Example: `args.path.starts_with: /srv/app`.
Use instead: `args.path.starts_with: /srv/app/`.
Fix: by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Diagnostic
from bobcat.lint.calls import ExampleCall
from bobcat.lint.subject import LintContext, RuleFacts, shown_call
from bobcat.lint.texts import TextTest, about, kind_of, leaf_name, permitting_texts

CODES = ("W0121",)


def check(subject: LintContext) -> Iterator[Diagnostic]:
    """Find these prefixes."""
    for facts in subject.searched():
        for test in permitting_texts(subject, facts):
            reference = test.op == "starts_with" and isinstance(test.operand, dict)
            if reference or kind_of(facts, test) == "path":
                yield from _findings(subject, facts, test)


def _findings(subject: LintContext, facts: RuleFacts, test: TextTest) -> Iterator[Diagnostic]:
    if test.op == "starts_with" and isinstance(test.operand, dict):
        prefix, goal = ".".join(test.operand["ref"]), "^/home/alice/"
        found = subject.find(facts, test.item.leaf, about(test.item.path, goal, listed=test.listed))
        prefixes = [(prefix, found)]
    else:
        unterminated = [prefix for prefix in test.prefixes if "/" in prefix and not prefix.endswith("/")]
        prefixes = [
            (prefix, subject.find(facts, test.item.leaf, about(test.item.path, goal, listed=test.listed)))
            for prefix in unterminated
            for goal in [f"^{re.escape(prefix)}-other/"]
        ]
    for prefix, call in prefixes:
        if isinstance(call, ExampleCall):
            yield diagnose(
                "W0121",
                subject.leaf_span(test.owner, test.item),
                id=facts.rule.id,
                path=leaf_name(test.item.leaf),
                prefix=prefix,
                call=shown_call(call),
            )
