"""The `python` dialect means what `re.search` of CPython 3.11 means, where linear time allows."""

from __future__ import annotations

import re
import sys
import warnings
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import campaign
import pattern_grammar
from bobcat import _core

# What `re` takes and linear time, or a cap, does not allow; every code is in docs/reference/patterns.md.
NARROWER = {"unsupported", "too_large", "too_long", "too_nested"}
EVERY_CHARACTER = "".join(chr(point) for point in range(0x110000) if not 0xD800 <= point <= 0xDFFF)

pytestmark = pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the dialect is that of CPython 3.11")


def stdlib(pattern: str) -> re.Pattern[str] | None:
    """The pattern as `re` compiles it; None when it refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return re.compile(pattern)
        except (re.error, ValueError, OverflowError):
            return None


def assert_same(pattern: str, texts: list[str]) -> None:
    theirs = stdlib(pattern)
    refused = _core.check_pattern(pattern, "python")
    if theirs is None:
        assert refused, f"re refuses {pattern!r}"
        return
    if refused:
        assert {code for code, *_ in refused} <= NARROWER, (pattern, refused)
        return
    ours = _core.Pattern(pattern, "python")
    for text in texts:
        assert ours.search(text) == (theirs.search(text) is not None), (pattern, text)


@settings(max_examples=campaign.examples(250))
@given(st.integers(0, 2**48))
def test_generated_patterns_match_the_same_texts(seed: int) -> None:
    rng = Random(seed)
    for _ in range(10):
        assert_same(pattern_grammar.pattern(rng, "python"), pattern_grammar.texts(rng, 10))


@settings(max_examples=campaign.examples(250))
@given(st.integers(0, 2**48))
def test_pieces_thrown_together_are_accepted_or_refused_alike(seed: int) -> None:
    rng = Random(seed)
    for _ in range(20):
        assert_same(pattern_grammar.soup(rng, "python"), pattern_grammar.texts(rng, 5))


@settings(max_examples=campaign.examples(300))
@given(
    st.text(alphabet=r"ab\(|)[]{}*+?^$.-,:0123PZAdwxibBaimsx=!<>#_ é", max_size=12),
    st.text(alphabet="ab0é_-{},\n", max_size=6),
)
def test_arbitrary_text_as_a_pattern_is_evaluated_alike(pattern: str, text: str) -> None:
    assert_same(pattern, [text, pattern])


@pytest.mark.parametrize(
    "pattern",
    [
        r"a$", r"a$\n", r"$\n", r"^$", r"(?m)a$", r"(?m)$.", r"a\Z", r"(a$)?b", r"(?:a$|b)\n?", r"\B", r"\b",
        r"(?a)\B", r"(?a)a\B", r"\bé\b", r"(?a)\bé",
        r"\w", r"(?a)\w", r"\d", r"\s", r"[\x1c-\x1f]", r"(?i)k", r"(?i)[k]", r"(?i)[^k]", r"(?i)s", r"(?i)i",
        r"(?i)ß", r"(?i)\u0130", r"(?ai)k", r"(?ai)é",
        r"(?i)[\u0100-\uffff]", r"(?i)[^\x00-\u024f]", r"x{,2}y", r"x{,}y", r"x{", r"x{}", r"x{1", r"x{2}{", r"[]a]",
        r"[^]a]", r"[a-]", r"[[a]]", r"[a||b]",
        "(?x) a b # c\n d", "(?x)[ ]", r"(?x)\ ", "(?#no)a*", "a(?#no)*", "(?i)(?s)a.", "(?i:a)b", "(?-i:a)",
        "(?i)(?-i:a)b", r"\0", r"\012", r"\123", r"\777",
        r"\8", r"\1", r"(a)\1", "(?P<n>a)(?P<n>b)", "(?P<1>a)", "(?P<é>a)", "(?P=n)", "a++", "(?>a)", "(?=a)",
        "(?<!a)b", "(a)?(?(1)b|c)", "^*", r"\b+", "(?:^)*",
        "a**", "(?:a*)*", "()", "()*", "|", "a|", r"\N{DASH}", r"\u12", r"\U00110000", r"[\b]", r"[\B]", r"[\Z]",
        "a(?i)", "(?L)a", "(?t)a", "(?au)a", "(?a)(?u)a",
        "(?i)[\U00010400-\U00010410]", "[\U00010400-\U00010410]", "(?i)\U0001f600", r"\ud800", r"(?a:\W)",
        r"(?a)(?a:\W)", r"(?u:\W)", r"[\ud800a]",
        "(?x)#\\\n a", "(?#\\)a)b",
    ],
)  # fmt: skip
def test_the_corners_of_the_dialect_agree(pattern: str) -> None:
    texts = ["", "\n", "a", "a\n", "a\n\n", "\na", "aéa", "é", "éé", "K", "k", "\u212a", "ſ", "S", "ß", "ẞ", "i", "I",
    "\u0130", "\u0131", "\x1c", "ab", "abd",
             "ac", "bc", "b", "xxy", "y", "{", "}", "x{}", "x{,", "[]", "a]", "|", "-", "²", "٠", "_", "\x00", "\x01",
             "\x08", "S", " ", "b\n", "\U00010428",
             "\U00010400", "\U0001f600", "漢", "\u0301a"]  # fmt: skip
    assert_same(pattern, texts)


CLASSES = [r"\w", r"\d", r"\s", ".", r"(?i)[a-z]", r"(?i)[^a-z]", r"(?i)[\u0100-\u1fff]", r"(?i)[^\u0100-\u1fff]",
r"(?i)[\u2000-\uffff]",
           r"(?a)\w", r"(?a)\s", r"(?ai)[a-z]", r"(?i)[\W\u0130]"]  # fmt: skip


@pytest.mark.parametrize("pattern", CLASSES)
def test_a_class_has_the_same_characters(pattern: str) -> None:
    members = "".join(re.findall(pattern, EVERY_CHARACTER))
    inside = set(members)
    others = "".join(char for char in EVERY_CHARACTER if char not in inside)
    flags, _, body = pattern.rpartition(")") if pattern.startswith("(") else ("", "", pattern)
    assert _core.Pattern(rf"{flags and flags + ')'}\A(?:{body})*\Z", "python").search(members)
    assert not _core.Pattern(pattern, "python").search(others)


def test_every_letter_ignores_case_as_re_does() -> None:
    cased = [char for char in EVERY_CHARACTER if ord(char) < 0x10000 and (char.lower() != char or char.upper() != char)]
    text = "".join(cased)
    for char in cased[::3]:
        pattern = f"(?i){char}"
        ours = _core.Pattern(pattern, "python")
        found = set(re.findall(pattern, text))
        assert all(ours.search(other) for other in found), pattern
        assert not ours.search("".join(other for other in cased if other not in found)), pattern
