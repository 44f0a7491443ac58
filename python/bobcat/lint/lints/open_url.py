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

from bobcat.diagnostics.model import Findings
from bobcat.lint.subject import LintContext, RuleFacts
from bobcat.lint.texts import TextTest, find_open_texts, kind_of

CODES = ("W0123",)
_URLS = (r"^https?://(?:[^/?#\\@]*[.@])?evil\.test(?:[/?#\\:]|\z)",)
_HOSTS = (r"(?:^|[.@])evil\.test\z",)


def check(subject: LintContext) -> Findings:
    """Find these tests, once for each argument of a rule."""
    return find_open_texts(subject, "W0123", _goals)


def _goals(facts: RuleFacts, test: TextTest) -> tuple[str, ...]:
    kind = kind_of(facts, test)
    if kind == "url":
        return (*(_URLS if _names_a_host(test) else ()), *_longer_names(test))
    if kind == "host":
        return (*(_HOSTS if _names_a_part(test) else ()), *_longer_names(test))
    return ()


def _names_a_part(test: TextTest) -> bool:
    """Return true if a test of a host or an address can be about a part of it; a list may contain a whole one."""
    items = test.operand if isinstance(test.operand, list) else [test.operand]
    if test.op in ("contains", "contains_any", "contains_all"):
        return any(isinstance(item, str) and item.startswith(("@", ".")) for item in items)
    return test.op == "starts_with" and "." in str(test.operand)


def _longer_names(test: TextTest) -> tuple[str, ...]:
    """Return patterns for hosts that have a suffix of `ends_with` but another domain."""
    if test.op != "ends_with":
        return ()
    items = test.operand if isinstance(test.operand, list) else [test.operand]
    domains = [item for item in items if isinstance(item, str) and re.match(r"[a-z0-9][\w-]*\.", item)]
    return tuple(rf"evil{re.escape(item)}\z" for item in domains)


def _names_a_host(test: TextTest) -> bool:
    """Return true if the operand specifies more than a scheme or a file."""
    text = re.sub(r"\\(.)", r"\1", str(test.operand))
    text = re.sub(r"[\^$()?:*+]|https\??|//", "", text)
    return re.search(r"[\w-]+\.[\w-]+|localhost", text) is not None and not re.fullmatch(r"\.\w{2,4}", text)
