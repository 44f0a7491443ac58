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

_URLS = (r"^https?://(?:[^/?#\\@]*[.@])?evil\.test(?:[/?#\\:]|\z)",)
_HOSTS = (r"(?:^|[.@])evil\.test\z",)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Every such test, once for an argument of a rule."""
    for facts in subject.permitting:
        seen: set[Path] = set()
        for test in permitting_texts(subject, facts):
            path = test.item.path
            if path in seen or test.unanchored:
                continue
            kind = kind_of(facts, test)
            goals: tuple[str, ...] = ()
            if kind == "url" and _names_a_host(test):
                goals = _URLS
            elif kind == "host" and _names_a_part(test):
                goals = _HOSTS
            if kind in ("url", "host"):
                goals = (*goals, *_longer_names(test))
            call = first_call(subject, facts, test, goals)
            if isinstance(call, Call):
                seen.add(path)
                name = leaf_name(test.item.leaf)
                span = subject.leaf_span(test.owner, test.item)
                yield diagnose("W0123", span, id=facts.rule.id, path=name, call=shown_call(call))


def _names_a_part(test: TextTest) -> bool:
    """Whether a test of a host or an address can be one of a part of it; a list may contain a whole one."""
    items = test.operand if isinstance(test.operand, list) else [test.operand]
    if test.op in ("contains", "contains_any", "contains_all"):
        return any(isinstance(item, str) and item.startswith(("@", ".")) for item in items)
    return test.op == "starts_with" and "." in str(test.operand)


def _longer_names(test: TextTest) -> tuple[str, ...]:
    """Patterns for hosts whose names only end like the one that `ends_with` names."""
    if test.op != "ends_with":
        return ()
    items = test.operand if isinstance(test.operand, list) else [test.operand]
    domains = [item for item in items if isinstance(item, str) and re.match(r"[a-z0-9][\w-]*\.", item)]
    return tuple(rf"evil{re.escape(item)}\z" for item in domains)


def _names_a_host(test: TextTest) -> bool:
    """Whether the operand says more than which scheme or which file it is."""
    text = re.sub(r"\\(.)", r"\1", str(test.operand))
    text = re.sub(r"[\^$()?:*+]|https\??|//", "", text)
    return re.search(r"[\w-]+\.[\w-]+|localhost", text) is not None and not re.fullmatch(r"\.\w{2,4}", text)
