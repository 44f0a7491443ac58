"""A rule that permits paths which leave the directory that it names.

What it does: finds the test of a path that makes a rule permit, and a path that passes it with a `..` in it.
Why: `/srv/../etc/passwd` begins with `/srv/`, and `**`, `*` and `[^/]+` stand for `..` as well.
Example: `args.path.starts_with: /srv/`, `args.path.glob: src/**`.
Use instead: the same, and `not: {args.path.matches: '(^|/)\\.\\.(/|$)'}`.
Fix: by hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.analysis.calls import Call
from bobcat.analysis.subject import Path, Subject, shown_call
from bobcat.analysis.texts import first_call, kind_of, leaf_name, permitting_texts
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic

_GOALS = (r"/\.\./\.\./etc/passwd\z", r"(^|/)\.\.(/|$)")


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Every such test, once for an argument of a rule."""
    for facts in subject.permitting:
        seen: set[Path] = set()
        for test in permitting_texts(subject, facts):
            path = test.item.path
            if path in seen or test.unanchored or kind_of(facts, test) != "path":
                continue
            call = first_call(subject, facts, test, _GOALS)
            if isinstance(call, Call):
                seen.add(path)
                name = leaf_name(test.item.leaf)
                span = subject.leaf_span(test.owner, test.item)
                yield diagnose("W0122", span, id=facts.rule.id, path=name, call=shown_call(call))
