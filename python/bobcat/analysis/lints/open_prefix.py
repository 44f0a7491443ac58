"""A rule that permits paths of a directory whose name only begins like the one that it names.

What it does: finds the test of a path that makes a rule permit, asks for a beginning that does not end with `/`, and
    is passed by a longer name. A beginning that is read from the context counts as one.
Why: `/home/alice/.ssh` begins with `/home/al`.
Example: `args.path.starts_with: /srv/app`.
Use instead: `args.path.starts_with: /srv/app/`.
Fix: by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bobcat.analysis.calls import Call
from bobcat.analysis.subject import RuleFacts, Subject, shown_call
from bobcat.analysis.texts import TextTest, about, kind_of, leaf_name, permitting_texts
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Every such beginning."""
    for facts in subject.permitting:
        for test in permitting_texts(subject, facts):
            reference = test.op == "starts_with" and isinstance(test.operand, dict)
            if reference or kind_of(facts, test) == "path":
                yield from _findings(subject, facts, test)


def _findings(subject: Subject, facts: RuleFacts, test: TextTest) -> Iterator[Diagnostic]:
    if test.op == "starts_with" and isinstance(test.operand, dict):
        prefix, goal = ".".join(test.operand["ref"]), "^/home/alice/"
        found = subject.find(facts, test.item.leaf, about(test.item.path, goal, listed=test.listed))
        prefixes = [(prefix, found)]
    else:
        begun = [prefix for prefix in test.prefixes if "/" in prefix and not prefix.endswith("/")]
        prefixes = [
            (prefix, subject.find(facts, test.item.leaf, about(test.item.path, goal, listed=test.listed)))
            for prefix in begun
            for goal in [f"^{re.escape(prefix)}-other/"]
        ]
    for prefix, call in prefixes:
        if isinstance(call, Call):
            yield diagnose(
                "W0121",
                subject.leaf_span(test.owner, test.item),
                id=facts.rule.id,
                path=leaf_name(test.item.leaf),
                prefix=prefix,
                call=shown_call(call),
            )
