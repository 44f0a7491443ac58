r"""A displayed text with characters that are not visible.

What it does: finds control, bidi and invisible characters in reasons and names of approvers, except line ends at the
end of a reason.
Why: Bobcat displays them as escapes, so the reader sees `\x1b` or `\n` in the sentence. A third-party policy may
contain them to deceive another program's display.
Example: `reason: "denied\x1b[2J"`.
Use instead: plain text; `>` in place of `|` for a reason over several lines.
Fix: by hand.
"""

from __future__ import annotations

from bobcat.diagnostics.model import Findings
from bobcat.lint.subject import LintContext
from bobcat.text.display import hidden_characters

CODES = ("W0220",)


def check(subject: LintContext) -> Findings:
    """Find rules with such a text, once each."""
    for facts in subject.rules:
        rule = facts.rule
        reason = rule.reason
        if reason.isascii() and reason.isprintable() and not rule.approvers:  # PERF: most rules
            continue
        texts = [("reason", reason.rstrip("\n")), *(("name of an approver", name) for name in rule.approvers)]
        for what, text in texts:
            hidden = hidden_characters(text)
            if hidden:
                yield subject.at_rule("W0220", facts, what=what, hidden=hidden)
                break
