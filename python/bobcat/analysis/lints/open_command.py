"""A rule that permits commands which run another one.

What it does: finds the test of a command line that makes a rule permit, and a command that passes it with `;`, `|`,
    `&`, a redirection, a substitution or a line feed in it.
Why: a shell runs what stands behind these; that the line begins as it should says nothing about it.
Example: `args.cmd.starts_with: git status`, or `args.cmd.matches: '^ls .*$'`.
Use instead: a pattern for the whole line, of plain words: `^git status( -[a-z]+)*$`.
Fix: by hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.analysis.calls import Call
from bobcat.analysis.subject import Path, Subject, shown_call
from bobcat.analysis.texts import first_call, kind_of, leaf_name, permitting_texts
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic

_GOALS = (r"; id\z", r"\nid\z", "[;&|`<>\n]|\\$\\(")


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Every such test, once for an argument of a rule."""
    for facts in subject.permitting:
        seen: set[Path] = set()
        for test in permitting_texts(subject, facts):
            path = test.item.path
            if path in seen or test.unanchored or kind_of(facts, test) != "command":
                continue
            call = first_call(subject, facts, test, _GOALS)
            if isinstance(call, Call):
                seen.add(path)
                span = subject.leaf_span(test.owner, test.item)
                name = leaf_name(test.item.leaf)
                yield diagnose("W0119", span, id=facts.rule.id, path=name, call=shown_call(call))
