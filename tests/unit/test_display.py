"""Untrusted text is shown so that it cannot act on the screen, hide, or look like other text."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat.text.display import MAX_MARKS, safe_args, safe_json, safe_name, safe_text, wrapped
from untrusted import untrusted_text

INVISIBLE = [
    *("\u00ad", "\u034f", "\u061c", "\u115f", "\u1160", "\u17b4", "\u180b", "\u180e", "\u200b", "\u200d", "\u200e"),
    *("\u202e", "\u2066", "\u2069", "\u2800", "\u3164", "\ufe0f", "\ufeff", "\uffa0", "\ufffc"),
    *("\U000e0001", "\U000e0041", "\U000e0100"),
]
SPACES = ["\u00a0", "\u1680", *map(chr, range(0x2000, 0x200B)), "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"]
CONTROLS = [*map(chr, range(0x20)), "\x7f", *map(chr, range(0x80, 0xA0))]
OTHERS = ["\ud800", "\ue000", "\U00100000", "\u0378", "\U0003ffff"]


@pytest.mark.parametrize("character", [*INVISIBLE, *SPACES, *CONTROLS, *OTHERS], ids=ascii)
def test_a_character_that_shows_nothing_or_acts_is_an_escape(character: str) -> None:
    for shown in (safe_text(f"a{character}b"), safe_name(f"a{character}b"), safe_json(f"a{character}b")):
        assert character not in shown
        assert "\\" in shown
    assert json.loads(safe_json({"a": character})) == {"a": character}


@given(untrusted_text())
def test_no_shown_text_acts_on_a_screen(text: str) -> None:
    for shown in (
        safe_text(text),
        safe_name(text),
        safe_json(text),
        safe_json({text: [text]}),
        *safe_args({text: text}),
    ):
        assert "\n" not in shown
        bad = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
        assert not [character for character in shown if unicodedata.category(character) in bad]
        assert not set(shown) & set(INVISIBLE)
        shown.encode()


@given(untrusted_text())
def test_only_newlines_survive_in_several_lines(text: str) -> None:
    shown = safe_text(text, multiline=True)
    assert shown.count("\n") == text.count("\n")
    assert all(character == "\n" or character.isprintable() for character in shown)


@given(st.text(alphabet=st.characters(min_codepoint=0x20, max_codepoint=0x7E)))
def test_plain_text_is_shown_as_it_is(text: str) -> None:
    assert safe_text(text) == safe_name(text) == text


@pytest.mark.parametrize(
    "text",
    ["naïve café — “q” … €", "日本語 test", "Łódź", "файл с именем config.yaml", "m²", "東京tower", "Ελλάδα", "한국어"],
)
def test_ordinary_text_of_any_language_is_shown_as_it_is(text: str) -> None:
    assert safe_text(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pay\u0440al", "pay\u0440al [mixed scripts]"),
        ("\uff41dmin", "\uff41dmin [mixed scripts]"),
        ("\U0001d41copy", "\U0001d41copy [mixed scripts]"),
        ("use \u0441\u043e\u0440\u0443 now", "use \u0441\u043e\u0440\u0443 [Cyrillic] now"),
        ("\u05d0\u05d1 1 2", "\u05d0\u05d1 1 2 [right-to-left]"),
        ("https\uff1a\uff0f\uff0fa", "https\\uff1a\uff0f\\uff0fa"),
        ("rm \u2010rf", "rm \\u2010rf"),
        ("a\u0336b", "a\\u0336b"),
        ("=\u0338", "=\\u0338"),
        ("\u0301a", "\\u0301a"),
        ("a\nb\tc\rd\x1be", "a\\nb\\tc\\rd\\x1be"),
    ],
)
def test_text_that_looks_like_other_text_is_marked(text: str, shown: str) -> None:
    assert safe_text(text) == shown


def test_a_name_in_an_alphabet_that_looks_like_another_one_is_marked_also_where_it_stands_alone() -> None:
    assert safe_name("\u0441\u043e\u0440\u0443") == "\u0441\u043e\u0440\u0443 [Cyrillic]"
    assert safe_name("удалить") == "удалить"


def test_json_keeps_its_value_and_names_what_it_marks_behind_it() -> None:
    shown = safe_json({"to": "pay\u0440al", "x": "\x85\u202e\U000e0041"})
    text, _, marks = shown.partition(" [")
    assert json.loads(text) == {"to": "pay\u0440al", "x": "\x85\u202e\U000e0041"}
    assert marks == "mixed scripts: pay\u0440al]"
    many = safe_json([f"a\u0430{'b' * index}" for index in range(9)])
    assert many.endswith(" [and 6 more]")


def test_a_flood_of_combining_marks_is_escaped() -> None:
    shown = safe_text("Z" + "\u0301" * 50)
    assert shown.count("\u0301") == MAX_MARKS
    assert shown.count("\\u0301") == 50 - MAX_MARKS


def test_a_shortened_text_says_by_how_much() -> None:
    assert safe_text("x" * 1500, limit=100) == "x" * 100 + "... [1,400 more characters]"
    assert safe_json("x" * 1500, limit=101).endswith("... [1,401 more characters]")
    assert safe_text("x" * 100, limit=100) == "x" * 100


def test_a_wrapped_line_never_begins_where_a_line_of_ours_does() -> None:
    line = "  args: " + "x" * 32 + "  reason: harmless" + "日" * 40
    pieces = list(wrapped(line, 40))
    assert pieces[0] == line[:40]
    assert all(piece.startswith("    | ") for piece in pieces[1:])
    assert pieces[0] + "".join(piece.removeprefix("    | ") for piece in pieces[1:]) == line


def test_the_work_of_showing_grows_with_the_text_only() -> None:
    """One pass, however many suspicious words there are."""
    word = "a\u0430"
    assert safe_text(" ".join([word] * 5000)).count("[mixed scripts]") == 5000
