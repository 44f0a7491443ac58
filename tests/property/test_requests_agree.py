"""A text is a request for Python exactly when it is one for the core, and then the two read the same call."""

from __future__ import annotations

import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

import campaign
from bobcat import _core, compile_policy
from bobcat.errors import RequestError
from bobcat.model.request_json import request_from_json

FULL = (
    '{"tool":"pay","args":{"n":12,"f":1.5e3,"deep":[{"x":null},true,"\\u00e9\\ud83d\\ude00"]},'
    '"declared":{"cost":"low","reversible":true,"scope":["a"],"blast_radius_hint":3,"has_shadow":false,"isolation":"x",'
    '"effect":"none"},'
    '"context":{"principal":{"kind":"agent","id":"7","name":"Bob"},"environment":"prod","workspace":"/w",'
    '"correlation_id":"c","step_seq":4,"timestamp":"2026-01-31T12:00:00.25+02:00","extra":{"k":[1]}}}'
)
POLICY = compile_policy("""
rules:
  - {id: n, match: {args.n.gt: 10}, decision: dry_run}
  - {id: deep, match: {args.deep.contains: true}, decision: allow}
  - {id: late, match: {context.timestamp.ge: "2026-01-31T10:00:00.25Z"}, decision: deny}
  - {id: cheap, match: {declared.cost: low, declared.scope.contains: a}, decision: allow}
""")

_PIECES = (
    *(
        "",
        "0",
        "1",
        "-",
        ".",
        "e",
        "E+1",
        '"',
        "\\",
        "\\u",
        "\\ud800",
        "\\udc00",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "/",
        "'",
    ),
    *("null", "true", "NaN", "Infinity", " ", "\t", "\r", "\x00", "\x7f", "é", "\u2028", "\ufeff", "Z", "z", "T", "t"),
    *("+24:00", "-00:00", ":60", ".1234567", ".1234560", "9" * 30, "1e999", '"a":1,', '"tool":"t",'),
)
FRAGMENTS = st.sampled_from(_PIECES)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    text = FULL
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        length = draw(st.integers(0, 6))
        text = text[:start] + draw(FRAGMENTS) + text[start + length :]
    return text


def agree(text: str) -> None:
    try:
        request = request_from_json(text)
    except RequestError:
        request = None
    try:
        decisions = _core.evaluate_json(POLICY, text.encode("utf-8", "surrogatepass"))
    except _core.CoreError:
        decisions = []
    if request is None:
        assert not decisions, text
    else:
        assert decisions == [POLICY.evaluate(request)], text


@settings(max_examples=campaign.examples(400))
@given(damaged())
def test_a_damaged_request_is_the_same_for_both(text: str) -> None:
    agree(text)


TIMES = st.one_of(
    st.datetimes().map(lambda moment: moment.isoformat() + "Z"),
    st.from_regex(r"\A\d{4}-[01]\d-[0-3]\d[Tt ][012]\d:[0-6]\d:[0-6]\d(\.\d{0,9})?([Zz]|[+-][012]\d:?[0-6]\d)?\Z"),
)


@settings(max_examples=campaign.examples(400))
@given(TIMES)
@example("2026-02-29T12:00:00Z")
@example("2024-02-29T12:00:00Z")
@example("1900-02-29T12:00:00Z")
@example("2026-01-31T23:59:60Z")
@example("2026-01-31T12:00:00.1234567Z")
@example("2026-01-31T12:00:00.1234560Z")
@example("2026-01-31T12:00:00.Z")
@example("2026-01-31 12:00:00Z")
@example("0001-01-01T00:00:00+23:59")
@example("9999-12-31T23:59:59.999999-23:59")
@example("2026-01-31T12:00:00-00:00")
@example("2026-01-31T12:00:00+24:00")
@example("٢٠٢٦-01-31T12:00:00Z")
def test_a_time_is_the_same_for_both(text: str) -> None:
    agree(json.dumps({"tool": "t", "context": {"timestamp": text}}))
