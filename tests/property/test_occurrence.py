"""Whole values in texts: the core beside the table of tokens and an implementation that tries every place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bobcat import Policy, Request
from oracle.links import links
from oracle.occurrence import occurs
from oracle.values import CannotEvaluate

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "vectors/occurrences.jsonl").read_text(encoding="utf-8").splitlines()
]
RULES = """\
version: 1
rules:
  - {id: plain, match: {tool: plain, args.value.occurs_in: {ref: context.task}}, decision: allow}
  - {id: lower, match: {tool: lower, args.value.lower.occurs_in: {ref: context.task}}, decision: allow}
  - {id: links, match: {tool: links, args.value.links.all.in: {ref: args.known}}, decision: allow}
  - {id: count, match: {tool: count, args.value.links.length.eq: {ref: args.count}}, decision: allow}
  - {id: certain, match: {tool: certain, args.value.links.length.ge: 0}, decision: allow}
"""
POLICY = Policy.compile(RULES)
WORDS = st.sampled_from(
    "Bob bob Ann O'Brien Bob's Anne-Marie a ab aa our-company.com www.our-company.com our-company.co x@our-company.com"
    " bob@example.com alice.bob@example.com https://a.example/x https://a.example/x_(y) 1 10 1000 1,000 1000.00 1.000"
    " 1.500 12,345,678 1.000,00 1'000 -5 $5 5$ 98.70 007 0 000 DE89370400440532013000 DE89 3704 0044 0532 0130 00 GB82"
    " WEST report.pdf old-report.pdf report.pdf.exe 10:30 2024-05-15 #general mailto:bob@example.com Müller ΟΔΟΣ İ"
    " \u212a K k é e\u0301 Bo\u200bb 北京 😀 C++ ı ß".split()
)
MARKS = st.sampled_from(
    [*" \t\n.,;:!?()[]{}<>\"'`-_/@#*=&%+$€’“”«»…。\u00a0\u200b\u0301", "  ", ", ", "](", "'s", "> <"]
)
TEXTS = st.lists(st.one_of(WORDS, MARKS, st.characters(codec="utf-8")), max_size=12).map("".join)
SPACED = st.lists(st.one_of(WORDS, MARKS), max_size=12).map(" ".join)
PARTS = st.sampled_from(
    "http https :// : // / \\ www. a.example b.co x.pdf evil @ . , ; ( ) [ ] ]( ]: <a href= src = ' \" > url( data:"
    " javascript: 192.0.2.1 1.2 & # ? é 。 xn--a e.g end.Then _ - * ! | \u200b HTTP FTP".split()
)
LINKED = st.lists(st.one_of(PARTS, st.sampled_from([" ", "\n", "x"])), max_size=14).map("".join)


def core(value: object, text: str, *, lower: bool = False) -> bool:
    request = Request("lower" if lower else "plain", {"value": value}, task=text)
    return POLICY.evaluate(request).verdict.value == "allow"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: json.dumps(row)[:60])
def test_a_row_of_the_table_has_its_answer(row: list[Any]) -> None:
    needle, text, wanted, lower = row[0], row[1], row[2], len(row) > 3
    assert occurs(needle, text, lower=lower) is wanted
    if isinstance(needle, str) or not lower:  # `lower` tests strings
        assert core(needle, text, lower=lower) is wanted


@given(needle=st.one_of(WORDS, TEXTS), text=st.one_of(TEXTS, SPACED), lower=st.booleans())
@example(needle="a. a", text="a. a. a", lower=False)
@example(needle="DE89 3704", text="DE89 3704 0044 0532 0130 00", lower=False)
def test_texts_occur_as_in_the_slow_implementation(needle: str, text: str, lower: bool) -> None:
    assert core(needle, text, lower=lower) is occurs(needle, text, lower=lower)


@given(text=st.one_of(TEXTS, SPACED), data=st.data(), lower=st.booleans())
def test_parts_of_a_text_occur_as_in_the_slow_implementation(text: str, data: st.DataObject, lower: bool) -> None:
    begin = data.draw(st.integers(0, len(text)))
    needle = text[begin : data.draw(st.integers(begin, len(text)))]
    assert core(needle, text, lower=lower) is occurs(needle, text, lower=lower)


@given(
    number=st.one_of(st.integers(-2000, 20000), st.floats(-2000, 2000).map(lambda value: round(value, 3))),
    form=st.sampled_from(
        ["{}", "{:,}", "{:.2f}", "{:,.2f}", "${}", "{}€", "-{}", "{}.", "({})", "{}0", "0{}", "{} 000"]
    ),
)
def test_numbers_occur_by_value(number: float, form: str) -> None:
    text = f"pay {form.format(number)} now"
    assert core(number, text) is occurs(number, text)
    assert core(str(number), text) is occurs(str(number), text)


@given(text=LINKED)
@example(text="https://a.example,https://b.co")
@example(text="<a href='ht\ntps://x'>")
@example(text="httpdata:http")
@example(text="](](]:")
@example(text="看。a.example")
@example(text="bücher.example。谢谢")
@example(text="...a.example")
@example(text="a.example。 b")
def test_links_are_those_of_the_slow_implementation(text: str) -> None:
    try:
        found = links(text)
    except CannotEvaluate:
        assert POLICY.evaluate(Request("certain", {"value": text})).verdict.value == "deny"
        return
    for tool in ("links", "count"):
        request = Request(tool, {"value": text, "known": found, "count": len(found)})
        assert POLICY.evaluate(request).verdict.value == "allow", (found, POLICY.explain(request).to_text())


def test_an_explanation_shows_the_words_around_a_value() -> None:
    task = "Pay «Bob's bill» of $1,000"
    text = POLICY.explain(Request("plain", {"value": "Bob"}, task=task)).to_text()
    assert '"Bob" is in context.task: "«Bob\'s"' in text
    text = POLICY.explain(Request("plain", {"value": 1000}, task=task)).to_text()
    assert '1000 is in context.task: "$1,000"' in text
    text = POLICY.explain(Request("plain", {"value": "Eve"}, task=task)).to_text()
    assert '"Eve" is not in context.task' in text
