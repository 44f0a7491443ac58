"""A rule that permits paths outside the directory that it names.

What it does: finds the test of a path that makes a rule permit, and a path with a `..` that passes it.
Why: `/srv/../etc/passwd` begins with `/srv/`, and `**`, `*` and `[^/]+` match `..` as well.
Example: `args.path.starts_with: /srv/`, `args.path.glob: src/**`.
Use instead: the same, and `not: {args.path.matches: '(^|/)\\.\\.(/|$)'}`.
Fix: by hand.
"""

from __future__ import annotations

from bobcat.diagnostics.model import Findings
from bobcat.lint.subject import LintContext
from bobcat.lint.texts import find_open_texts, kind_of

CODES = ("W0122",)
_GOALS = (r"/\.\./\.\./etc/passwd\z", r"(^|/)\.\.(/|$)")


def check(subject: LintContext) -> Findings:
    """Find these tests, once for each argument of a rule."""
    return find_open_texts(subject, "W0122", lambda facts, test: _GOALS if kind_of(facts, test) == "path" else ())
