"""A pattern that permits because of its ends, and takes anything between them.

What it does: finds an anchored pattern that makes a rule permit, with a repeated `.`, `\\S` or class of almost all
    characters in it, or with a repeated negated class that takes a line feed; of SQL and other code, also a test of its
    beginning or end. Commands, paths and URLs have lints of
    their own, texts for people (`title`, `body`, ...) are meant to be free.
Why: `[^;]*` takes a line feed, after which a second command, header or statement begins; `.*` takes everything else.
Example: `args.sql.matches: '(?i)^select .*$'`, `args.job.matches: '^nightly-[^;]+$'`.
Use instead: the characters that are needed: `^nightly-[a-z0-9-]+$`.
Fix: by hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.analysis.calls import Call
from bobcat.analysis.pattern_syntax import Alt, Cat, Chars, Repeat, Tree, parse
from bobcat.analysis.subject import Path, Subject, shown_call
from bobcat.analysis.texts import TextKind, TextTest, first_call, kind_of, leaf_name, permitting_texts
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic

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


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Every such test, once for an argument of a rule."""
    for facts in subject.permitting:
        seen: set[Path] = set()
        for test in permitting_texts(subject, facts):
            path = test.item.path
            if path in seen or test.unanchored or test.deep_glob:
                continue
            for where, goal in _open_places(test, kind_of(facts, test)):
                call = first_call(subject, facts, test, (goal,))
                if isinstance(call, Call):
                    seen.add(path)
                    name = leaf_name(test.item.leaf)
                    span = subject.leaf_span(test.owner, test.item)
                    yield diagnose("W0120", span, id=facts.rule.id, path=name, where=where, call=shown_call(call))
                    break


def _open_places(test: TextTest, kind: TextKind) -> Iterator[tuple[str, str]]:
    """Where a test takes anything, in words, and a pattern for what it takes there."""
    if test.op == "matches" and kind in ("code", "host", "other"):
        line_feeds = kind != "code"  # a line feed there is white space
        for piece, goal in _pieces(parse(test.operand), line_feeds=line_feeds):
            yield f"where the pattern says `{piece}`", goal
    elif kind == "code" and test.op in _AROUND:
        yield _AROUND[test.op], _UNUSUAL


def _pieces(tree: Tree, *, line_feeds: bool) -> Iterator[tuple[str, str]]:
    """The repeated sets that take too much, as they are written, and a pattern for what they take."""
    match tree:
        case Repeat(Chars() as chars, _, high) if high is None or high > _FEW:
            excluded = sum(not chars.holds(char) for char in _PRINTABLE)
            if line_feeds and chars.holds("\n") and excluded < 40 and not chars.text.startswith("[^/"):
                yield chars.text, r"\n"
            if excluded <= MAX_EXCLUDED and not chars.text.startswith("[^/"):
                yield chars.text, _UNUSUAL
        case Repeat(item):
            yield from _pieces(item, line_feeds=line_feeds)
        case Cat(items) | Alt(items):
            for item in items:
                yield from _pieces(item, line_feeds=line_feeds)
        case _:
            pass
