"""A pattern for a host that other hosts match, too.

What it does: finds a `.` between letters in the pattern of a URL, a host or an address that makes a rule permit.
Why: an unescaped `.` matches any character: `api.example.com` also matches `apiXexample.com`, which anyone can buy.
Example: `args.url.matches: '^https://api.example.com/[a-z]+$'`.
Use instead: `args.url.matches: '^https://api\\.example\\.com/[a-z]+$'`.
Fix: by hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.diagnostics.model import Findings
from bobcat.lint.pattern_syntax import Cat, Chars, Tree, walk
from bobcat.lint.subject import LintContext
from bobcat.lint.texts import TEXT_TESTS, first_call, kind_of, permitting_texts

CODES = ("W0124",)


def check(subject: LintContext) -> Findings:
    """Find these patterns, at their first such `.`."""
    for facts in subject.searched(TEXT_TESTS):
        for test in permitting_texts(subject, facts):
            if test.op != "matches" or kind_of(facts, test) not in ("url", "host") or test.tree is None:
                continue
            at = next(iter(sorted(_dots(test.tree))), None)
            if at is None:
                continue
            other = f"{test.operand[:at]}x{test.operand[at + 1 :]}"
            call = first_call(subject, facts, test, (other,))
            if call is not None:
                yield subject.at_leaf("W0124", facts, test.item, owner=test.owner, call=call)


def _dots(tree: Tree) -> Iterator[int]:
    """Yield the positions of a single `.` between letters or digits."""
    for items in (part.items for part in walk(tree) if isinstance(part, Cat)):
        for before, item, after in zip(items, items[1:], items[2:], strict=False):
            if isinstance(item, Chars) and item.text == "." and item.negated and _letter(before) and _letter(after):
                yield item.at


def _letter(tree: Tree) -> bool:
    return isinstance(tree, Chars) and not tree.negated and len(tree.text) == 1 and tree.text.isalnum()
