"""A test of the text of a command line, a path or a URL.

What it does: finds the first test by `contains`, `starts_with`, `ends_with`, `glob` or `matches` in a rule of an
    argument that is a command line, a path or a URL by the last word of its name. Other lints search for the texts that
    a pattern lets through.
Why: programs read many texts as the same file or host, and one text as different ones.
Example: `args.url.starts_with: https://example.com/`.
Use instead: `args.url.url.host: example.com`.
Fix: by hand.
"""

from __future__ import annotations

import re
from functools import lru_cache

from bobcat.diagnostics.model import Findings
from bobcat.language.facets import FACETS
from bobcat.language.kinds import OperandForm
from bobcat.language.operators import ROWS
from bobcat.lint.implication import PERMITS
from bobcat.lint.subject import LintContext, RuleFacts

CODES = ("N0104",)
_TEXT_OPERATORS = frozenset(
    row.name
    for row in ROWS
    if row.anchors in ("", "start", "end") or row.operand in (OperandForm.PATTERN, OperandForm.GLOB)
)
_WORDS = {
    "path.within": "path file filename filepath dir directory folder cwd",
    "shell.all.program": "cmd command commandline script",
    "url.host": "url uri link href endpoint",
}
_FACETS = {word: facet for facet, words in _WORDS.items() for word in words.split()}
"""Last words of names of arguments, and the part or operator of a facet that tests the meaning."""
_LAST_WORD = re.compile(r"(?:.*[_\-. ]|.*[a-z](?=[A-Z]))?(.+)")


def check(subject: LintContext) -> Findings:
    """Find these tests, one a rule."""
    for facts in subject.testing(_TEXT_OPERATORS, head="args"):
        yield from _of_rule(subject, facts)


def _of_rule(subject: LintContext, facts: RuleFacts) -> Findings:
    parsed = {item.path for item in facts.leaves if item.leaf.op in FACETS}
    for item in facts.leaves:
        if item.path[0] != "args" or item.leaf.op not in _TEXT_OPERATORS:
            continue
        instead = _facet_of(item.path[-1])
        if instead is not None and item.path not in parsed:
            facet = instead if facts.rule.verdict in PERMITS else instead.replace(".all.", ".any.")
            yield subject.at_leaf("N0104", facts, item, operator=item.leaf.op, facet=facet)
            return


@lru_cache(maxsize=4_096)
def _facet_of(argument: str) -> str | None:
    """Return the part or operator that tests the meaning of an argument, by its name."""
    name = _LAST_WORD.fullmatch(argument)
    return _FACETS.get(name[1].lower()) if name else None
