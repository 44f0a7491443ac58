"""A pattern that constrains only its ends and accepts anything between them.

What it does: finds an anchored pattern that makes a rule permit, with a repeated `.`, `\\S` or class of almost all
    characters in it, or with a repeated negated class that accepts a line feed; for SQL and other code, also a test of
    its beginning or end. Commands, paths and URLs have lints of their own; prose (`title`, `body`, ...) is free text by
    design.
Why: `[^;]*` accepts a line feed, which starts a second command, header or statement; `.*` accepts everything else.
Example: `args.sql.matches: '(?i)^select .*$'`, `args.job.matches: '^nightly-[^;]+$'`.
Use instead: only the required characters: `^nightly-[a-z0-9-]+$`.
Fix: by hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.diagnostics.model import Findings
from bobcat.lint.pattern_syntax import Chars, PatternSyntaxError, Repeat, Tree, parse, walk
from bobcat.lint.subject import LintContext, Path
from bobcat.lint.texts import TEXT_TESTS, TextKind, TextTest, first_call, kind_of, permitting_texts

CODES = ("W0120",)
MAX_EXCLUDED = 4
"""Printable characters that a class of almost all characters may leave out."""

_AROUND = {
    "starts_with": "behind its beginning",
    "ends_with": "before its end",
    "contains": "around what it contains",
    "contains_any": "around what it contains",
}
_PRINTABLE = "".join(map(chr, range(32, 127)))
_FEW = 8
_UNUSUAL = "[!-+;-?\\[-^`{-~]"


def check(subject: LintContext) -> Findings:
    """Find these tests, once for each argument of a rule."""
    for facts in subject.searched(TEXT_TESTS):
        seen: set[Path] = set()
        for test in permitting_texts(subject, facts):
            path = test.item.path
            if path in seen or test.unanchored or test.deep_glob:
                continue
            for where, goal in _open_places(test, kind_of(facts, test)):
                call = first_call(subject, facts, test, (goal,))
                if call is not None:
                    seen.add(path)
                    yield subject.at_leaf("W0120", facts, test.item, owner=test.owner, where=where, call=call)
                    break


def _open_places(test: TextTest, kind: TextKind) -> Iterator[tuple[str, str]]:
    """Yield descriptions of the places where a test accepts anything, and a pattern for the text accepted there."""
    if test.op == "matches" and kind in ("code", "host", "other"):
        line_feeds = kind != "code"  # a line feed there is white space
        for piece, goal in _pieces(parse(test.operand), line_feeds=line_feeds):
            yield f"where the pattern says `{piece}`", goal
    elif kind == "code" and test.op in _AROUND:
        yield _AROUND[test.op], _UNUSUAL


def _pieces(tree: Tree, *, line_feeds: bool) -> Iterator[tuple[str, str]]:
    """Yield the repeated sets that accept too much, as written, and a pattern for the text they accept."""
    for part in walk(tree):
        if not isinstance(part, Repeat) or not isinstance(part.item, Chars) or part.item.text.startswith("[^/"):
            continue
        chars = part.item
        if part.high is None or part.high > _FEW:
            try:
                excluded = sum(not chars.holds(char) for char in _PRINTABLE)
            except PatternSyntaxError:  # a script, of which Python has no table
                continue
            if line_feeds and chars.holds("\n") and excluded < 40:
                yield chars.text, r"\n"
            if excluded <= MAX_EXCLUDED:
                yield chars.text, _UNUSUAL
