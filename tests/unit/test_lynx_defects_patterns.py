"""Patterns, rows U-23 to U-26: in the strict profile they mean one thing and take linear time."""

from __future__ import annotations

import time
from typing import Any

import pytest

from bobcat.compiler import compile_policy
from bobcat.errors import PolicyCompileError
from bobcat.model.decision import Verdict
from lynx_defects import call, one_rule, verdict

CATASTROPHIC = [
    r"(?:a+)+$",
    r"(a|a?)+$",
    r"(?:a|a)+$",
    r"([a-z]+)*$",
    r"([a-z]+)+$",
    r"(\w+\s?)*$",
    r"(a+){2,}$",
    r"(a{1,})+$",
    r"((a+))+$",
    r"(?P<x>a+)+$",
    r"(a+?)+$",
    r"(a*a*)*$",
    r"^\s*(\S+\s*)+;$",
    r"(x+x+)+y",
    r"^(?:(?:-[rRf]+\s*)+)+/",
    r"(a|aa)+$",
    r"(aa+)+$",
    r"^(([a-z])+.)+[A-Z]([a-z])+$",
    r"^(.*,){8}P$",
    r".*.*.*=.*;",
    r"\s+$",
    r"(a+)+$",
    r"(a|a)+$",
    r"(.*)*$",
]
TEXTS = ["a" * 20_000 + "!", "x" * 20_000, " " * 20_000 + "!", "a," * 10_000, "-r " * 7_000, "=" * 20_000]


def _allows(pattern: str, text: Any) -> bool:
    policy = {"rules": [{"id": "r", "match": {"args.x.matches": pattern}, "decision": "allow"}]}
    return compile_policy(policy).evaluate(call(args={"x": text})).verdict is Verdict.ALLOW


# lynx-agent defect 23
def test_the_end_of_a_pattern_is_the_end_of_the_text() -> None:
    assert _allows(r"^ls( [a-z]+)*$", "ls foo")
    assert not _allows(r"^ls( [a-z]+)*$", "ls foo\n")


# lynx-agent defect 23
def test_a_dot_matches_line_ends_with_its_flag() -> None:
    assert not _allows(r"rm.*-rf", "rm\n-rf /")
    assert _allows(r"(?s)rm.*-rf", "rm\n-rf /")


# lynx-agent defect 23
def test_a_caret_matches_at_lines_with_the_multiline_flag() -> None:
    assert not _allows(r"^rm", "true\nrm -rf /")
    assert _allows(r"(?m)^rm", "true\nrm -rf /")


@pytest.mark.parametrize("pattern", CATASTROPHIC)
# lynx-agent defect 24, 25
def test_a_catastrophic_pattern_takes_linear_time(pattern: str) -> None:
    policy = {"rules": [{"id": "r", "match": {"args.x.matches": pattern}, "decision": "allow"}]}
    bundle = compile_policy(policy)
    begun = time.perf_counter()
    for text in TEXTS:
        bundle.evaluate(call(args={"x": text}))
    assert time.perf_counter() - begun < 1.0


@pytest.mark.parametrize("pattern", [r"(?=a)", r"(?!a)", r"(?<=a)b", r"(?<!a)b", r"(a)\1", r"(?P<x>a)(?P=x)", r"(?>a)"])
# lynx-agent defect 24
def test_what_linear_time_cannot_do_is_refused(pattern: str) -> None:
    with pytest.raises(PolicyCompileError):
        compile_policy({"rules": [{"id": "r", "match": {"args.x.matches": pattern}, "decision": "deny"}]})


# lynx-agent defect 26
def test_classes_are_ascii() -> None:
    assert not _allows(r"^\d+$", "١٢٣")
    assert not _allows(r"^\w+$", "é")
    assert not _allows(r"^a\sb$", "a\u00a0b")
    assert _allows(r"^\pN+$", "١٢٣")


# lynx-agent defect 26
def test_letters_are_compared_as_they_are() -> None:
    assert verdict(one_rule("{args.x: k}"), x="\u212a") is Verdict.ALLOW
    assert not _allows(r"^k$", "\u212a")
