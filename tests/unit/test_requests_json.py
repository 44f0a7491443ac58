"""Requests as JSON: what is accepted, what it becomes, what is refused and how."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat import _core, compile_policy
from bobcat.errors import RequestError
from bobcat.model.decision import ActionRequest, ExecutionContext, Principal, ToolMetadata
from bobcat.model.request_json import request_from_json, request_to_json

FULL = {
    "tool": "pay",
    "args": {"n": 2**80, "f": 1.5, "deep": [{"x": None}], "é": "\U0001f600"},
    "declared": {
        "cost": "low",
        "reversible": True,
        "scope": ["a", "b"],
        "blast_radius_hint": 3,
        "has_shadow": True,
        "isolation": "subprocess",
        "effect": "keyed",
    },
    "context": {
        "principal": {"kind": "agent", "id": "7", "name": "Bob"},
        "environment": "prod",
        "workspace": "/w",
        "correlation_id": "c",
        "step_seq": 4,
        "timestamp": "2026-01-31T12:00:00.25+02:00",
        "extra": {"k": [1]},
    },
}

ACCEPTED: list[str] = [
    '{"tool":"t"}',
    ' {"tool" : "t" , "args" : { } } \r\t',
    '{"tool":""}',
    '{"args":{},"tool":"t"}',
    '{"tool":"t","args":{"":{"":[]}}}',
    '{"tool":"t","args":{"a":1e400,"b":-0.0,"c":-0,"d":1E5}}',
    '{"tool":"t","args":{"a":' + "9" * 6000 + "}}",
    '{"tool":"t","args":{"a":"\\ud800","b":"\\u0000"}}',
    '{"tool":"t","args":{"a":' + "[" * 100 + "]" * 100 + "}}",
    '{"tool":"t","declared":{"cost":"x","blast_radius_hint":null,"isolation":null}}',
    '{"tool":"t","declared":{"scope":[]}}',
    '{"tool":"t","context":{"principal":{"kind":"robot","id":""}}}',
    '{"tool":"t","context":{"principal":{"kind":"user","id":"x","name":null}}}',
    '{"tool":"t","context":{"timestamp":"2026-01-31T12:00:00Z"}}',
    '{"tool":"t","context":{"timestamp":"2026-01-31T12:00:00.123456-23:59"}}',
    '{"tool":"t","context":{"timestamp":"0001-01-01T00:00:00Z"}}',
    '{"tool":"t","context":{"step_seq":-1}}',
    json.dumps(FULL),
]
REFUSED: list[str] = [
    "",
    "null",
    "[]",
    "5",
    "{}",
    "{",
    '{"tool":"t"} {}',
    '{"tool":"t",}',
    "{'tool':'t'}",
    '{"tool":null}',
    '{"tool":5}',
    '{"tool":"t","tool":"t"}',
    '{"tool":"t","args":{"a":1,"a":2}}',
    '{"tool":"t","args":{"a":[{"b":1,"b":2}]}}',
    '{"tool":"t","arguments":{}}',
    '{"tool":"t","args":null}',
    '{"tool":"t","args":[]}',
    '{"tool":"t","args":{"a":NaN}}',
    '{"tool":"t","args":{"a":Infinity}}',
    '{"tool":"t","args":{"a":-Infinity}}',
    '{"tool":"t","args":{"a":01}}',
    '{"tool":"t","args":{"a":1.}}',
    '{"tool":"t","args":{"a":.5}}',
    '{"tool":"t","args":{"a":+1}}',
    '{"tool":"t","args":{"a":"\t"}}',
    '{"tool":"t","args":{"a":"\\x41"}}',
    '{"tool":"t","args":{"a":"\\u12"}}',
    '{"tool":"t","args":{"a":' + "[" * 200 + "]" * 200 + "}}",
    '{"tool":"t","args":' + "[" * 100_000,
    '{"tool":"t","declared":{"scope":"fs"}}',
    '{"tool":"t","declared":{"scope":[1]}}',
    '{"tool":"t","declared":{"scope":null}}',
    '{"tool":"t","declared":{"reversible":1}}',
    '{"tool":"t","declared":{"reversible":"yes"}}',
    '{"tool":"t","declared":{"has_shadow":null}}',
    '{"tool":"t","declared":{"blast_radius_hint":1.0}}',
    '{"tool":"t","declared":{"blast_radius_hint":true}}',
    '{"tool":"t","declared":{"cost":1}}',
    '{"tool":"t","declared":{"costs":"low"}}',
    '{"tool":"t","declared":null}',
    '{"tool":"t","context":{"principal":{}}}',
    '{"tool":"t","context":{"principal":{"kind":"user"}}}',
    '{"tool":"t","context":{"principal":null}}',
    '{"tool":"t","context":{"principal":{"kind":"user","id":5}}}',
    '{"tool":"t","context":{"principal":{"kind":"user","id":"a","role":"b"}}}',
    '{"tool":"t","context":{"step_seq":"1"}}',
    '{"tool":"t","context":{"step_seq":1.0}}',
    '{"tool":"t","context":{"extra":[]}}',
    '{"tool":"t","context":{"env":"prod"}}',
    '{"tool":"t","context":{"timestamp":0}}',
    '{"tool":"t","context":{"timestamp":"2026-01-31"}}',
    '{"tool":"t","context":{"timestamp":"2026-01-31T12:00:00"}}',
    '{"tool":"t","context":{"timestamp":"2026-02-30T12:00:00Z"}}',
    '{"tool":"t","context":{"timestamp":"2026-01-31T24:00:00Z"}}',
    '{"tool":"t","context":{"timestamp":"2026-01-31T12:00:60Z"}}',
    '{"tool":"t","context":{"timestamp":"2026-01-31T12:00:00+25:00"}}',
    '{"tool":"t","context":{"timestamp":"0000-01-31T12:00:00Z"}}',
]
EMPTY = compile_policy("rules: []")


@pytest.mark.parametrize("text", ACCEPTED)
def test_a_request_is_accepted_here_and_in_the_core(text: str) -> None:
    assert isinstance(request_from_json(text), ActionRequest)
    assert request_from_json(text.encode()) == request_from_json(text)
    assert len(_core.evaluate_json(EMPTY, text.encode())) == 1


@pytest.mark.parametrize("text", REFUSED)
def test_anything_else_is_refused_here_and_in_the_core(text: str) -> None:
    for source in (text, text.encode()):
        with pytest.raises(RequestError) as caught:
            request_from_json(source)
        assert caught.value.code == "bad_request"
        assert str(caught.value)
    if text:
        with pytest.raises(_core.CoreError) as refused:
            _core.evaluate_json(EMPTY, text.encode())
        assert refused.value.code == "bad_request"


def test_bytes_that_are_no_utf_8_are_refused() -> None:
    for data in (b'{"tool":"\xff"}', b'{"tool":"\xed\xa0\x80"}', b'\xef\xbb\xbf{"tool":"t"}'):
        with pytest.raises(RequestError):
            request_from_json(data)
        with pytest.raises(_core.CoreError):
            _core.evaluate_json(EMPTY, data)


def test_every_key_finds_its_field() -> None:
    assert request_from_json(FULL) == ActionRequest(
        tool="pay",
        args=FULL["args"],  # type: ignore[arg-type]
        declared=ToolMetadata("low", True, ("a", "b"), 3, True, "subprocess", "keyed"),
        context=ExecutionContext(
            Principal("agent", "7", "Bob"),
            "prod",
            "/w",
            "c",
            4,
            datetime(2026, 1, 31, 12, 0, 0, 250_000, timezone(timedelta(hours=2))),
            {"k": [1]},
        ),
    )


def test_what_is_missing_counts_as_the_worst() -> None:
    request = request_from_json('{"tool": "t"}')
    assert request.declared == ToolMetadata("high", False, (), effect="unsafe")
    assert request.args == {}
    assert request.context == ExecutionContext(
        Principal("user", "anonymous"), "dev", ".", "", 0, datetime(1970, 1, 1, tzinfo=UTC), {}
    )


def test_an_error_names_the_place() -> None:
    cases = {
        '{"tool":"t","declared":{"scope":[1]}}': "`declared.scope` must be a string, not an integer",
        '{"tool":"t","context":{"env":1}}': "`context` has no key `env`; its keys are principal, environment",
        "{}": "the request has no `tool`",
        '{"tool":"t","x":1}': "the request has no key `x`; its keys are tool, args, declared, context",
        '{"tool":"t","args":{"a":1,"a":2}}': "the key `a` is written twice",
    }
    for text, message in cases.items():
        with pytest.raises(RequestError, match="^" + message):
            request_from_json(text)


def test_text_past_the_limit_is_refused_unread() -> None:
    with pytest.raises(RequestError) as caught:
        request_from_json(b" " * (64 * 1024 * 1024 + 1))
    assert caught.value.code == "too_large"


@pytest.mark.parametrize("value", [math.nan, math.inf, object(), b"x", {1: 2}, {"x"}])
def test_a_request_that_json_cannot_hold_is_refused(value: Any) -> None:
    base = request_from_json('{"tool":"t"}')
    with pytest.raises(RequestError):
        request_to_json(ActionRequest("t", {"a": value}, base.declared, base.context))


def test_a_cyclic_request_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    base = request_from_json('{"tool":"t"}')
    with pytest.raises(RequestError):
        request_to_json(ActionRequest("t", {"a": loop}, base.declared, base.context))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
REQUESTS = st.builds(
    ActionRequest,
    st.text(),
    st.dictionaries(st.text(), JSON, max_size=3),
    st.builds(
        ToolMetadata,
        st.sampled_from(["low", "medium", "high"]),
        st.booleans(),
        st.lists(st.text(), max_size=2).map(tuple),
        st.none() | st.integers(),
        st.booleans(),
        st.none() | st.text(),
    ),
    st.builds(
        ExecutionContext,
        st.builds(Principal, st.sampled_from(["user", "service", "agent"]), st.text(), st.none() | st.text()),
        st.text(),
        st.text(),
        st.text(),
        st.integers(),
        st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-3, minutes=-30))])),
        st.dictionaries(st.text(), JSON, max_size=2),
    ),
)


def test_lone_surrogates_are_written_as_escapes() -> None:
    base = request_from_json('{"tool": "t"}')
    request_ = replace(base, args={"\udfff": ["a\\\ud800", "\udc00\ud800"]})
    line = request_to_json(request_)
    assert r"a\\\ud800" in line
    assert request_from_json(line.encode("utf-8")) == request_
    with pytest.raises(RequestError, match="surrogate"):
        request_to_json(replace(base, args={"a": "\ud800\udc00"}))


@given(REQUESTS)
def test_a_request_comes_back_from_its_json_equal(request_: ActionRequest) -> None:
    line = request_to_json(request_)
    assert "\n" not in line
    assert request_from_json(line) == request_
    assert len(_core.evaluate_json(EMPTY, line.encode())) == 1
