"""Globs become patterns that stand for the same texts, by a slow matcher that follows the page."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import campaign
from bobcat._core import Pattern
from bobcat.frontend.strict.globs import GlobError, to_pattern
from bobcat.frontend.strict.patterns import check_pattern
from oracle.globs import matches

LETTERS = "ab/.-*]"
_ITEMS = ["a", "b", ".", "a-b", "--a", "\\]", "\\-", "+-0", "é", "*", "?", "{", "\\\\"]
BRACKETS = st.builds(
    lambda negated, items: f"[{negated}{''.join(items)}]",
    st.sampled_from(["", "!", "^"]),
    st.lists(st.sampled_from(_ITEMS), min_size=1, max_size=3),
)
PARTS = st.one_of(
    st.sampled_from(["a", "b", "/", ".", "é", "-", "\\*", "\\{", "\\\\", "$", "|", "("]),
    st.sampled_from(["*", "**", "**/", "/**/", "/**", "?", "***"]),
    BRACKETS,
)
GLOBS = st.recursive(
    st.lists(PARTS, max_size=5).map("".join),
    lambda inner: st.builds(
        lambda before, items, after: f"{before}{{{','.join(items)}}}{after}",
        inner,
        st.lists(inner, min_size=1, max_size=3),
        inner,
    ),
    max_leaves=4,
)
TEXTS = st.text(st.sampled_from("aabb//..é-*\n$|]"), max_size=7)


@settings(max_examples=campaign.examples(1500), deadline=None)
@given(GLOBS, st.lists(TEXTS, min_size=1, max_size=8))
def test_a_glob_and_its_pattern_stand_for_the_same_texts(glob: str, texts: list[str]) -> None:
    try:
        pattern = to_pattern(glob)
    except GlobError:
        return
    search = Pattern(pattern, "re2").search
    for text in texts:
        assert bool(search(text)) is matches(glob, text), (glob, pattern, text)


@settings(max_examples=campaign.examples(500), deadline=None)
@given(st.text(max_size=12) | st.text(st.sampled_from("[]{}*?!-\\,/a"), max_size=12))
def test_any_text_is_a_glob_with_a_sound_pattern_or_is_refused(glob: str) -> None:
    try:
        pattern = to_pattern(glob)
    except GlobError:
        return
    assert list(check_pattern(pattern, "re2")) == []


@pytest.mark.parametrize(
    ("glob", "pattern"),
    [
        ("", "^$"),
        ("a.py", r"^a\.py$"),
        ("/srv/*.py", r"^/srv/[^/]*\.py$"),
        ("**/x", "(?s)^(?:.*/)?x$"),
        ("/a/**", "(?s)^/a/.*$"),
        ("a**b", "(?s)^a.*b$"),
        ("[!a-c]?", "^[^/a-c][^/]$"),
        ("[+-9]", r"^[\+-\.0-9]$"),
        ("x{a,b*}", "^x(?:a|b[^/]*)$"),
        ("{,a}", "^(?:|a)$"),
        ("a,b", "^a,b$"),
        ("/{**/a,b}", "(?s)^/(?:(?:.*/)?a|b)$"),
        ("{a/,b}**/c", "(?s)^(?:a/|b).*/c$"),
    ],
)
def test_the_pattern_is_as_plain_as_the_glob(glob: str, pattern: str) -> None:
    assert to_pattern(glob) == pattern


@pytest.mark.parametrize(
    ("glob", "problem"),
    [
        ("[a", "a `[` is not closed"),
        ("[", "a `[` is not closed"),
        ("[]", "a `[` is not closed"),
        ("[a\\", "a `[` is not closed"),
        ("{a", "a `{` is not closed"),
        ("{a,{b}", "a `{` is not closed"),
        ("a}", "a `}` has no matching `{`"),
        ("a\\", "it ends with a backslash"),
        ("[/]", "brackets never match `/`"),
        ("[b-a]", "the range `b-a` is empty"),
        ("{" * 9 + "}" * 9, "more than 8 levels"),
    ],
)
def test_an_invalid_glob_is_refused_with_a_reason(glob: str, problem: str) -> None:
    with pytest.raises(GlobError, match=problem.replace("[", r"\[").replace("{", r"\{")):
        to_pattern(glob)
