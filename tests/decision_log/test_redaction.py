"""Redaction: keyed digests in place of the values at paths, and the key beside a file."""

from __future__ import annotations

import hashlib
import hmac
import json
import stat
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat.decision_log import DecisionLogError, redact, redaction_key

KEY = bytes(range(32))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def digest(text: str) -> str:
    return "hmac-sha256:" + hmac.new(KEY, text.encode(), hashlib.sha256).hexdigest()


def test_values_at_paths_become_keyed_digests() -> None:
    body = {
        "tool": "pay",
        "args": {"card": "4111", "items": [{"secret": 1, "name": "a"}, {"secret": [2]}], "a.b": {"c": None}},
    }
    found = redact(
        body, ["args.card", "args.items.*.secret", 'args["a.b"].c', "args.none", "tool.x", "args.items.9"], KEY
    )
    assert found == {
        "tool": "pay",
        "args": {
            "card": digest('"4111"'),
            "items": [{"secret": digest("1"), "name": "a"}, {"secret": digest("[2]")}],
            "a.b": {"c": digest("null")},
        },
    }
    assert body["args"]["card"] == "4111"  # type: ignore[index]


def test_overlapping_paths_give_one_digest_of_the_outer_value() -> None:
    body = {"args": {"list": [1, 2]}}
    assert redact(body, ["args.list", "args.list.*", "args.list[0]"], KEY) == {"args": {"list": digest("[1,2]")}}
    assert redact(body, ["args.list[1]", "args.list.*"], KEY) == {"args": {"list": [digest("1"), digest("2")]}}


def test_values_inside_objects_are_redacted() -> None:
    @dataclass
    class Card:
        number: str

    body = {"args": {"card": Card("4111"), "all": (Card("4222"),)}}
    found = redact(body, ["args.card.number", "args.all.*.number"], KEY)
    assert found == {"args": {"card": {"number": digest('"4111"')}, "all": [{"number": digest('"4222"')}]}}


def test_a_value_that_looks_redacted_is_redacted_too() -> None:
    value = "hmac-sha256:" + "0" * 64
    assert redact({"a": value}, ["a"], KEY) == {"a": digest(f'"{value}"')}


@given(json_values, st.text(min_size=8, max_size=12, alphabet="xyz"))
def test_no_redacted_value_stays_in_the_text(value: object, secret: str) -> None:
    body = {"args": {"deep": [{"secret": {"inner": secret, "other": value}}]}}
    text = json.dumps(redact(body, ["args.deep.*.secret"], KEY))
    assert secret not in text.replace("hmac-sha256", "")


@pytest.mark.parametrize("path", ["", ".", "a..b", "a.", 'a["b', "a[b]", "a[", "a]"])
def test_malformed_paths_are_rejected(path: str) -> None:
    with pytest.raises(ValueError, match="is not a path such as"):
        redact({}, [path], KEY)


def test_an_empty_key_is_rejected() -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        redact({}, ["a"], b"")


def test_the_key_of_a_file_is_beside_it_and_stays(tmp_path: Path) -> None:
    key = redaction_key(tmp_path / "log.db")
    path = tmp_path / "log.db-key"
    assert (len(key), stat.S_IMODE(path.stat().st_mode)) == (32, 0o600)
    assert redaction_key(tmp_path / "log.db") == key
    assert [file.name for file in tmp_path.iterdir()] == ["log.db-key"]
    path.write_text("short\n")
    with pytest.raises(DecisionLogError, match="does not hold a key"):
        redaction_key(tmp_path / "log.db")
    with pytest.raises(DecisionLogError, match="cannot be read"):
        redaction_key(tmp_path / "other.db", create=False)


def test_a_log_on_a_server_needs_an_explicit_key() -> None:
    with pytest.raises(DecisionLogError, match="pass the redaction key explicitly"):
        redaction_key("postgresql://somebody@host/name")
