"""`lower`, and `str` methods of Python rules: every character as CPython 3.11 (Unicode 14.0) has it."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import campaign
from bobcat import _core, compile_policy, deny, request_from_json
from bobcat.model.decision import ActionRequest, Decision, ExecutionContext

POLICY = compile_policy("rules: [{id: same, match: {args.x.lower.eq: {ref: args.y}}, decision: allow}]")
SAME_VERSION = unicodedata.unidata_version == _core.unicode_version
CHARACTERS = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]
LATER = ["\U00010d50", "\ua7cb", "\ua7da", "\ua7dc"]
"""Letters of Unicode 16 and 17 that have lower case there."""


def same(text: str, wanted: str | None = None) -> bool:
    wanted = text.lower() if wanted is None else wanted
    request = request_from_json({"tool": "t", "args": {"x": text, "y": wanted}, "declared": {"reversible": True}})
    return POLICY.evaluate(request).matched_rules == ("same",)


def chunks(size: int) -> Iterator[list[str]]:
    for start in range(0, len(CHARACTERS), size):
        yield CHARACTERS[start : start + size]


def test_every_character_has_the_lower_case_that_cpython_3_11_gives_it() -> None:
    wrong = [part for chunk in chunks(500) if not same("".join(chunk)) for part in chunk if not same(part)]
    assert wrong == [char for char in wrong if same(char, char)]  # what a later version of Unicode has changed
    assert wrong == [] or not SAME_VERSION


def test_the_version_of_unicode_is_in_the_documentation() -> None:
    pages = Path(__file__).parents[2] / "docs" / "reference"
    for page in ("semantics.md", "python-rules.md"):
        assert f"Unicode {_core.unicode_version.removesuffix('.0')}" in (pages / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("later", LATER)
def test_a_letter_of_a_later_version_has_no_case(later: str) -> None:
    assert same(later, later)
    assert _core.lower(later) == later
    assert not _core.is_printable(later)
    compile_policy({"rules": [{"id": "r", "match": {"args.x.lower.eq": later}, "decision": "deny"}]})


@settings(max_examples=campaign.examples(500), deadline=None)
@given(st.text(st.sampled_from("ΣσςaΑ\u0301.'\u00ad İIı1-\u0345ʰ\U0001d6b0"), max_size=8))
def test_a_sigma_is_final_where_python_says_so(text: str) -> None:
    assert same(text)
    assert _core.lower(text) == text.lower()


# --- methods of Python rules ---


def mapped(request: ActionRequest, context: ExecutionContext) -> Decision | None:
    text = request.args["x"]
    made = (
        text.upper(),
        text.lower(),
        text.casefold(),
        "".join([char.title() for char in text if char != "Σ"]),
        "".join([char.swapcase() for char in text if char != "Σ"]),
        "".join([char.capitalize() for char in text if char != "Σ"]),
    )
    return deny("same") if made == tuple(request.args["y"]) else None


def sorted_out(request: ActionRequest, context: ExecutionContext) -> Decision | None:
    text = request.args["x"]
    made = (
        "".join([char for char in text if char.isupper()]),
        "".join([char for char in text if char.islower()]),
        "".join([char for char in text if char.istitle()]),
        "".join([char for char in text if char.isalpha()]),
        "".join([char for char in text if char.isalnum()]),
        "".join([char for char in text if char.isdigit()]),
        "".join([char for char in text if char.isdecimal()]),
        "".join([char for char in text if char.isnumeric()]),
        "".join([char for char in text if char.isspace()]),
        "".join([char for char in text if char.isprintable()]),
    )
    return deny("same") if made == tuple(request.args["y"]) else None


def wanted_by(rule: Callable[..., Decision | None], text: str) -> list[str]:
    """CPython's result for a text."""
    if rule is mapped:
        plain = [char for char in text if char != "Σ"]
        return [
            text.upper(),
            text.lower(),
            text.casefold(),
            "".join(char.title() for char in plain),
            "".join(char.swapcase() for char in plain),
            "".join(char.capitalize() for char in plain),
        ]
    tests = ("upper", "lower", "title", "alpha", "alnum", "digit", "decimal", "numeric", "space", "printable")
    return ["".join(char for char in text if getattr(char, f"is{test}")()) for test in tests]


@pytest.mark.skipif(not SAME_VERSION, reason="this interpreter has another version of Unicode than decisions have")
@pytest.mark.parametrize("rule", [mapped, sorted_out])
def test_a_method_of_a_compiled_rule_does_what_cpython_3_11_does(rule: Callable[..., Decision | None]) -> None:
    bundle = compile_policy("rules: []", python_rules=[rule])
    assert not bundle.python_rules
    wrong = []
    for chunk in chunks(256):
        text = "".join(chunk)
        call = request_from_json({"tool": "t", "args": {"x": text, "y": wanted_by(rule, text)}})
        decision = bundle.evaluate(call)
        if decision.matched_rules != (rule.__name__,):
            wrong.append((hex(ord(chunk[0])), decision.matched_rules))
    assert wrong == []
