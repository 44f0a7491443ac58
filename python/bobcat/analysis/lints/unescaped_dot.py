"""A pattern for a host that other hosts match, too.

What it does: finds a `.` between letters in the pattern of a URL, a host or an address that makes a rule permit.
Why: an unescaped `.` stands for any character: `api.example.com` also matches `apiXexample.com`, which anybody can buy.
Example: `args.url.matches: '^https://api.example.com/[a-z]+$'`.
Use instead: `args.url.matches: '^https://api\\.example\\.com/[a-z]+$'`.
Fix: by hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.analysis.calls import Call
from bobcat.analysis.pattern_syntax import Alt, Cat, Chars, Repeat, Tree
from bobcat.analysis.subject import Subject, shown_call
from bobcat.analysis.texts import about, kind_of, leaf_name, permitting_texts
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Every such pattern, at its first such `.`."""
    for facts in subject.permitting:
        for test in permitting_texts(subject, facts):
            if test.op != "matches" or kind_of(facts, test) not in ("url", "host") or test.tree is None:
                continue
            at = next(iter(sorted(_dots(test.tree))), None)
            if at is None:
                continue
            other = f"{test.operand[:at]}x{test.operand[at + 1 :]}"
            call = subject.find(facts, test.item.leaf, about(test.item.path, other, listed=test.listed))
            if isinstance(call, Call):
                name = leaf_name(test.item.leaf)
                span = subject.leaf_span(test.owner, test.item)
                yield diagnose("W0124", span, id=facts.rule.id, path=name, call=shown_call(call))


def _dots(tree: Tree) -> Iterator[int]:
    """Where a `.` stands once, between letters or digits."""
    match tree:
        case Cat(items):
            for before, item, after in zip(items, items[1:], items[2:], strict=False):
                if isinstance(item, Chars) and item.text == "." and item.negated and _letter(before) and _letter(after):
                    yield item.at
            for item in items:
                yield from _dots(item)
        case Alt(items):
            for item in items:
                yield from _dots(item)
        case Repeat(item):
            yield from _dots(item)
        case _:
            pass


def _letter(tree: Tree) -> bool:
    return isinstance(tree, Chars) and not tree.negated and len(tree.text) == 1 and tree.text.isalnum()
