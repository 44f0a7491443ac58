"""A rule that permits URLs of other hosts than the one that it names.

What it does: finds the test of a URL that makes a rule permit, and a URL of another host that passes it.
Why: `https://api.example.com.evil.test` and `https://api.example.com@evil.test` begin with `https://api.example.com`,
    and `https://evil.test/.example.com` ends with `.example.com`.
Example: `args.url.starts_with: https://api.example.com`.
Use instead: `args.url.starts_with: https://api.example.com/`.
Fix: by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bobcat.analysis.calls import Call
from bobcat.analysis.subject import Path, Subject, shown_call
from bobcat.analysis.texts import TextTest, first_call, kind_of, leaf_name, permitting_texts
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic

_GOALS = (r"^https?://(?:[^/?#\\@]*[.@])?evil\.test(?:[/?#\\:]|\z)",)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Every such test, once for an argument of a rule."""
    for facts in subject.permitting:
        seen: set[Path] = set()
        for test in permitting_texts(subject, facts):
            path = test.item.path
            if path in seen or test.unanchored or kind_of(facts, test) != "url" or not _names_a_host(test):
                continue
            call = first_call(subject, facts, test, _GOALS)
            if isinstance(call, Call):
                seen.add(path)
                name = leaf_name(test.item.leaf)
                span = subject.leaf_span(test.owner, test.item)
                yield diagnose("W0123", span, id=facts.rule.id, path=name, call=shown_call(call))


def _names_a_host(test: TextTest) -> bool:
    """Whether the operand says more than which scheme or which file it is."""
    text = re.sub(r"\\(.)", r"\1", str(test.operand))
    text = re.sub(r"[\^$()?:*+]|https\??|//", "", text)
    return re.search(r"[\w-]+\.[\w-]+|localhost", text) is not None and not re.fullmatch(r"\.\w{2,4}", text)
