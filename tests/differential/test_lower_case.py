"""`lower` is `str.lower`: every character that this Python knows, and the contexts that change a sigma."""

from __future__ import annotations

import sys
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

import campaign
from bobcat.compiler import compile_policy
from bobcat.requests import request_from_json

POLICY = compile_policy("rules: [{id: same, match: {args.x.lower.eq: {ref: args.y}}, decision: allow}]")


def same(text: str) -> bool:
    request = request_from_json({"tool": "t", "args": {"x": text, "y": text.lower()}, "declared": {"reversible": True}})
    return POLICY.evaluate(request).matched_rules == ("same",)


def test_every_character_has_the_lower_case_that_python_gives_it() -> None:
    known = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) not in ("Cn", "Cs")]
    assert len(known) > 100_000
    wrong = [
        part
        for start in range(0, len(known), 500)
        if not same("".join(chunk := known[start : start + 500]))
        for part in chunk
        if not same(part)
    ]
    assert wrong == []


@settings(max_examples=campaign.examples(500), deadline=None)
@given(st.text(st.sampled_from("ΣσςaΑ\u0301.'\u00ad İIı1-\u0345ʰ\U0001d6b0"), max_size=8))
def test_a_sigma_is_final_where_python_says_so(text: str) -> None:
    assert same(text)
