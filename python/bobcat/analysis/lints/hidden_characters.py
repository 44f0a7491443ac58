r"""A text for people with characters that no screen shows as they are.

What it does: finds control, bidi and invisible characters in reasons and names of approvers; line ends at the end of a
reason are none.
Why: every screen writes them as escapes, so the reader sees `\x1b` or `\n` in the sentence. A policy from elsewhere may
have them to deceive a screen of somebody else.
Example: `reason: "denied\x1b[2J"`.
Use instead: plain text; `>` in place of `|` for a reason over several lines.
Fix: by hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.analysis.subject import Subject
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic
from bobcat.display import hidden_characters


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Every rule with such a text, once."""
    for facts in subject.rules:
        rule = facts.rule
        texts = [("reason", rule.reason.rstrip("\n")), *(("name of an approver", name) for name in rule.approvers)]
        for what, text in texts:
            hidden = hidden_characters(text)
            if hidden:
                yield diagnose("W0220", subject.rule_span(facts), id=rule.id, what=what, hidden=hidden)
                break
