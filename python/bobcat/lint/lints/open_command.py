"""A rule that permits commands that run a second command.

What it does: finds the test of a command line that makes a rule permit, and a command that passes it with `;`, `|`,
    `&`, a redirection, a substitution or a line feed in it.
Why: a shell runs the text after these; a correct beginning of the line does not restrict it.
Example: `args.cmd.starts_with: git status`, or `args.cmd.matches: '^ls .*$'`.
Use instead: a pattern for the whole line, of plain words: `^git status( -[a-z]+)*$`.
Fix: by hand.
"""

from __future__ import annotations

from bobcat.diagnostics.model import Findings
from bobcat.lint.subject import LintContext
from bobcat.lint.texts import find_open_texts, kind_of

CODES = ("W0119",)
_GOALS = (r"; id\z", r"\nid\z", "[;&|`<>\n]|\\$\\(")


def check(subject: LintContext) -> Findings:
    """Find these tests, once for each argument of a rule."""
    return find_open_texts(subject, "W0119", lambda facts, test: _GOALS if kind_of(facts, test) == "command" else ())
