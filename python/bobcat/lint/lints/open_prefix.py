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

from bobcat.diagnostics.model import Findings
from bobcat.lint.subject import LintContext, RuleFacts
from bobcat.lint.texts import TEXT_TESTS, TextTest, first_call, kind_of, permitting_texts

CODES = ("W0121",)


def check(subject: LintContext) -> Findings:
    """Find these prefixes."""
    for facts in subject.searched(TEXT_TESTS):
        for test in permitting_texts(subject, facts):
            reference = test.op == "starts_with" and isinstance(test.operand, dict)
            if reference or kind_of(facts, test) == "path":
                yield from _findings(subject, facts, test)


def _findings(subject: LintContext, facts: RuleFacts, test: TextTest) -> Findings:
    if test.op == "starts_with" and isinstance(test.operand, dict):
        goals = {".".join(test.operand["ref"]): "^/home/alice/"}
    else:
        unterminated = [prefix for prefix in test.prefixes if "/" in prefix and not prefix.endswith("/")]
        goals = {prefix: f"^{re.escape(prefix)}-other/" for prefix in unterminated}
    for prefix, goal in goals.items():
        call = first_call(subject, facts, test, (goal,))
        if call is not None:
            yield subject.at_leaf("W0121", facts, test.item, owner=test.owner, prefix=prefix, call=call)
