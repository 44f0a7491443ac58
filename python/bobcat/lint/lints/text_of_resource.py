"""A test of the text of a command line, a path or a URL.

What it does: finds the first test by `contains`, `starts_with` or `ends_with` in a rule of an argument that is a
    command line, a path or a URL by its name. Other lints search for the texts that a pattern lets through.
Why: programs read many texts as the same file or host, and one text as different ones.
Example: `args.url.starts_with: https://example.com/`.
Use instead: `args.url.url.host: example.com`.
Fix: by hand.
"""

from __future__ import annotations

from bobcat.diagnostics.model import Findings
from bobcat.language.facets import FACETS
from bobcat.language.kinds import OperandForm
from bobcat.language.operators import ROWS
from bobcat.lint.subject import LintContext, RuleFacts

CODES = ("N0104",)
_TEXT_OPERATORS = frozenset(
    row.name for row in ROWS if row.anchors in ("", "start", "end") and row.operand is not OperandForm.PATTERN
)
_FACETS = {
    "path": "path.within",
    "file": "path.within",
    "file_path": "path.within",
    "cmd": "shell.all.program",
    "command": "shell.all.program",
    "url": "url.host",
    "link": "url.host",
}
"""Names of arguments, and the part or operator of a facet that tests the meaning."""


def check(subject: LintContext) -> Findings:
    """Find these tests, one a rule."""
    for facts in subject.rules:
        yield from _of_rule(subject, facts)


def _of_rule(subject: LintContext, facts: RuleFacts) -> Findings:
    parsed = {item.path for item in facts.leaves if item.leaf.op in FACETS}
    for item in facts.leaves:
        instead = _FACETS.get(item.path[-1].lower())
        tests_text = item.leaf.op in _TEXT_OPERATORS
        if item.path[0] == "args" and tests_text and instead and item.path not in parsed:
            yield subject.at_leaf("N0104", facts, item, operator=item.leaf.op, facet=instead)
            return
