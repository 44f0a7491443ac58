"""The `re2` dialect means what google-re2 means: same patterns accepted, same texts matched."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

import campaign
import pattern_grammar
from bobcat import _core

# What this dialect refuses although google-re2 would take it; every code is in docs/reference/patterns.md.
NARROWER = {"any_byte", "brace_text", "too_large", "too_long", "too_nested"}
EVERY_CHARACTER = "".join(chr(point) for point in range(0x110000) if not 0xD800 <= point <= 0xDFFF)
OPTIONS = re2.Options()
OPTIONS.log_errors = False


def google(pattern: str) -> Any:  # Any: google-re2 has no types
    """The pattern as google-re2 compiles it; None when it refuses."""
    try:
        return re2.compile(pattern, OPTIONS)
    except re2.error:
        return None


def assert_same(pattern: str, texts: list[str]) -> None:
    theirs = google(pattern)
    refused = _core.check_pattern(pattern, "re2")
    if theirs is None:
        assert refused, f"google-re2 refuses {pattern!r}"
        return
    if refused:
        assert {code for code, *_ in refused} <= NARROWER, (pattern, refused)
        return
    ours = _core.Pattern(pattern, "re2")
    for text in texts:
        assert ours.search(text) == (theirs.search(text) is not None), (pattern, text)


@settings(max_examples=campaign.examples(250))
@given(st.integers(0, 2**48))
def test_generated_patterns_match_the_same_texts(seed: int) -> None:
    rng = Random(seed)
    for _ in range(10):
        assert_same(pattern_grammar.pattern(rng, "re2"), pattern_grammar.texts(rng, 10))


@settings(max_examples=campaign.examples(250))
@given(st.integers(0, 2**48))
def test_pieces_thrown_together_are_accepted_or_refused_alike(seed: int) -> None:
    rng = Random(seed)
    for _ in range(20):
        assert_same(pattern_grammar.soup(rng, "re2"), pattern_grammar.texts(rng, 5))


@settings(max_examples=campaign.examples(300))
@given(
    st.text(alphabet=r"ab\(|)[]{}*+?^$.-,:0123pPQEdwxibB=!<>_é", max_size=12),
    st.text(alphabet="ab0é_-{},\n", max_size=6),
)
def test_arbitrary_text_as_a_pattern_is_evaluated_alike(pattern: str, text: str) -> None:
    assert_same(pattern, [text, pattern])


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?i)k", r"(?i)s", r"(?i)[^k]", r"(?i)\w", r"(?i)\W", r"(?i)\bk\b", r"(?i)ß", r"(?i)\p{Lu}", r"(?i)\P{Lu}",
        r"\s", r"[[:space:]]",
        r"a$", r"(?m)a$", r"(?m)^$", r"\B", r"a\B", r"\Ba", r"(?s).", ".", r"(|a)*b", r"(?:)", "", r"x{0}",
        r"\Qa+\E+", r"a\Q\E*", r"{", r"a{01}",
        r"a{1000000000000}", r"[a-b-c]", r"[]-a]", r"[\x{d800}]", r"[^\x{d800}]", r"\x{d800}", r"\pN", r"\p{^Greek}",
        r"\P{^Greek}", r"[[:^alpha:][:digit:]]",
        r"(?i:k)k", r"(?i)(?-i:k)k", r"a(?i)k|K", r"(?U)a+", r"\<", r"\_", r"\012", r"\777", "(?P<1>a)",
        "(?<n>a)(?<n>b)", r"\C", r"a{,3}",
    ],
)  # fmt: skip
def test_the_corners_of_the_dialect_agree(pattern: str) -> None:
    texts = ["", "\n", "a", "a\n", "\na", "aéa", "é", "K", "k", "\u212a", "ſ", "S", "ß", "ẞ", "\v", " ", "ab", "a+",
    "a++", "{", "}", "a{01}",
             "bc", "-", "]", "\ud7ff", "\ue000", "٠", "λ", "Λ", "<", "_", "\u01ff", "\U0001f600", "漢"]  # fmt: skip
    assert_same(pattern, texts)


NAMES = ["Any", "C", "Co", "L", "Lu", "M", "Mc", "Mn", "N", "Nd", "S", "Zl", "Zs", "Common", "Greek", "Han"]


@pytest.mark.parametrize("name", NAMES)
def test_a_unicode_class_has_the_same_characters(name: str) -> None:
    same_characters(rf"\p{{{name}}}")


@pytest.mark.parametrize("pattern", [r"(?i)[a-z]", r"(?i)\p{Lu}", r"(?i)[\x{100}-\x{1fff}]", r"[[:punct:]]", r"\s"])
def test_a_folded_class_has_the_same_characters(pattern: str) -> None:
    same_characters(pattern)


def same_characters(pattern: str) -> None:
    members = "".join(re2.findall(f"(?:{pattern})+", EVERY_CHARACTER, OPTIONS))
    inside = set(members)
    others = "".join(char for char in EVERY_CHARACTER if char not in inside)
    assert _core.Pattern(rf"^(?:{pattern})*$", "re2").search(members)
    assert not _core.Pattern(pattern, "re2").search(others)


@pytest.mark.slow
def test_every_script_and_category_has_the_same_characters() -> None:
    known = [f"{major}{minor}" for major in "CLMNPSZ" for minor in ["", *"abcdefghijklmnopqrstuvwxyz"]]
    for name in [*known, *SCRIPTS]:
        if google(rf"\p{{{name}}}") is not None:
            same_characters(rf"\p{{{name}}}")


SCRIPTS = """
    Adlam Arabic Armenian Balinese Bengali Bopomofo Braille Canadian_Aboriginal Cherokee Common Coptic Cuneiform
    Cyrillic Deseret Devanagari Egyptian_Hieroglyphs Ethiopic Georgian Glagolitic Gothic Greek Gujarati Gurmukhi Han
    Hangul Hebrew Hiragana Inherited Javanese Kannada Katakana Kawi Khmer Lao Latin Linear_A Linear_B Malayalam
    Mongolian Myanmar Nag_Mundari Nko Ogham Oriya Runic SignWriting Sinhala Syriac Tamil Tangut Telugu Thaana Thai
    Tibetan Tifinagh Vai Vithkuqi Yi
""".split()


def test_google_re2_refuses_nothing_that_the_core_takes_among_character_classes() -> None:
    for name in [*NAMES, *SCRIPTS, "greek", "Letter", "Cn", "LC", "L&", "", "Todhri", "Script=Greek"]:
        assert_same(rf"\p{{{name}}}", [])
