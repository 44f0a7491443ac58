"""The core writes canonical JSON, keys and record hashes exactly as Python does, or leaves the value to Python."""

from __future__ import annotations

import enum
import math
from hashlib import sha256
from types import MappingProxyType
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import campaign
from bobcat._core import action_key, canonical_text, chained_hash
from bobcat.journal.keys import chain_hash, idempotency_key
from bobcat.model.frozen import FrozenDict, FrozenList
from bobcat.text.json_text import any_json_text, any_loose_json_text, json_text, loose_json_text
from hostile_values import pick
from hostile_values import values as hostile_values


class Colour(enum.StrEnum):
    RED = "red"


class Size(enum.IntEnum):
    BIG = 2


class Faceless:
    """A value that does not even say what it is."""

    @property
    def __class__(self) -> Any:
        raise RuntimeError("faceless")


class Keyed(dict[Any, Any]):
    """A dict that says something else than it holds."""

    def items(self) -> Any:
        return [("lie", 1)]


# Any below: every value has a text is the point.
well_formed = st.text(max_size=6) | st.sampled_from(
    ["", '"', "\\", "/", "\x00\x1f\x7f\x80", "\n\r\t\b\f", "é\u2028\U0001f600"]
)
any_text = st.text(st.characters(exclude_categories=()), max_size=6) | st.sampled_from(
    ["\ud800", "a\udfff", "\ud83d\ude00"]
)
edges = [
    -0.0,
    0.0,
    1e16,
    1e15,
    9999999999999998.0,
    1e-4,
    1e-5,
    1e-7,
    5e-324,
    1.7976931348623157e308,
    0.1,
    1e22,
    2.0**70,
]
integers = st.integers() | st.sampled_from([0, -1, 2**63 - 1, -(2**63), 2**63, -(2**64), 10**30])
finite = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(edges)
plain_leaves = st.none() | st.booleans() | integers | finite | well_formed
odd_leaves = any_text | pick(
    [
        math.nan,
        math.inf,
        -math.inf,
        10**5000,
        -(10**5000),
        b"a",
        Colour.RED,
        Size.BIG,
        {1, "a"},
        frozenset(),
        object,
        Faceless(),
    ]
)


def containers(inner: st.SearchStrategy[Any], keys: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(inner, max_size=4)
    dicts = st.dictionaries(keys, inner, max_size=4)
    return (
        lists | lists.map(tuple) | lists.map(FrozenList) | dicts | dicts.map(FrozenDict) | dicts.map(MappingProxyType)
        | dicts.map(FrozenDict).map(MappingProxyType)
    )  # fmt: skip


plain = st.recursive(plain_leaves, lambda inner: containers(inner, well_formed), max_leaves=12)
anything = st.recursive(
    plain_leaves | odd_leaves | hostile_values,
    lambda inner: (
        containers(inner, any_text | st.none() | st.integers() | st.sampled_from([Colour.RED, 1.5, True, (1, 2)]))
        | st.dictionaries(well_formed, inner, max_size=2).map(Keyed)
    ),
    max_leaves=8,
)


@settings(max_examples=campaign.examples(600), deadline=None)
@given(plain)
def test_the_core_writes_every_plain_value_as_python_does(value: Any) -> None:
    assert canonical_text(value) == any_json_text(value) == any_loose_json_text(value)


@settings(max_examples=campaign.examples(600), deadline=None)
@given(anything)
def test_the_core_writes_plain_values_in_both_formats(value: Any) -> None:
    text = canonical_text(value)
    assert text is None or text == any_json_text(value) == any_loose_json_text(value)
    assert json_text(value) == any_json_text(value)
    assert loose_json_text(value) == any_loose_json_text(value)


def nested(depth: int, innermost: Any) -> Any:
    value = innermost
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


@pytest.mark.parametrize("depth", [1, 62, 63, 64, 65, 66, 200])
@pytest.mark.parametrize("seal", [lambda value: value, MappingProxyType], ids=["dict", "proxy"])
def test_deep_values_are_cut_where_they_were(depth: int, seal: Any) -> None:
    value = seal({"a": nested(depth, 1)})
    assert json_text(value) == any_json_text(value)
    assert loose_json_text(value) == any_loose_json_text(value)
    assert (canonical_text(value) is None) == (depth > 63)


def test_a_value_that_contains_itself_is_left_to_python() -> None:
    value: dict[str, Any] = {}
    value["self"] = [value]
    assert canonical_text(value) is None
    assert json_text(value) == '{"self":["<cycle>"]}'


def test_keys_are_sorted_by_code_point() -> None:
    keys = ["\U0001f600", "\uffff", "é", "z", "a", "A", ""]
    assert (
        json_text(dict.fromkeys(keys)) == json_text(dict.fromkeys(sorted(keys))) == any_json_text(dict.fromkeys(keys))
    )


def slow_key(run_id: str, step: int, tool: str, args: Any, *, text: Any) -> str:
    return sha256(f"{run_id}|{step}|{tool}|{text(args)}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


@settings(max_examples=campaign.examples(300), deadline=None)
@given(any_text, integers, any_text, st.dictionaries(any_text, anything, max_size=3))
def test_keys_are_the_hash_of_the_text(run_id: str, step: int, tool: str, args: dict[str, Any]) -> None:
    for text in (json_text, loose_json_text):
        assert idempotency_key(run_id, step, tool, args, text=text) == slow_key(run_id, step, tool, args, text=text)


def framed(*parts: str) -> bytes:
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    return b"".join(len(part).to_bytes(4, "big") + part for part in encoded)


positions = st.integers(0, 2**64 - 1)
hashes = st.one_of(st.just(""), st.binary(min_size=32, max_size=32).map(bytes.hex))


@settings(max_examples=campaign.examples(300), deadline=None)
@given(hashes, any_text, positions, any_text, any_text, st.dictionaries(any_text, anything, max_size=3))
def test_record_hashes_are_the_hash_of_the_framed_fields(
    previous: str, run_id: str, seq: int, kind: str, key: str, body: dict[str, Any]
) -> None:
    for text in (json_text, loose_json_text):
        run = sha256(b"bobcat/journal/v2\0" + run_id.encode("utf-8", "surrogatepass")).digest()
        before = bytes.fromhex(previous) if previous else run
        fields = seq.to_bytes(8, "big") + framed(kind, key) + text(body).encode("utf-8", "surrogatepass")
        expected = sha256(before + fields).hexdigest()
        made = chain_hash(previous, body, run_id=run_id, seq=seq, kind=kind, key=key, text=text)
        assert made == expected


def test_a_plain_record_is_hashed_in_the_core() -> None:
    body = MappingProxyType({"step": 1, "args": FrozenDict({"x": (1, 2.5)})})
    made = chain_hash("", body, run_id="r", seq=0, kind="final", key="")
    assert chained_hash("", "r", 0, "final", "", body) == made
    assert action_key("r", 0, "t", body) == idempotency_key("r", 0, "t", body)


def test_no_two_records_share_a_framing() -> None:
    hashes = {
        chain_hash(previous, body, run_id=run_id, seq=1, kind=kind, key=key)
        for previous, run_id, kind, key, body in [
            ("", "b", "c", "d", {}),
            ("", "bc", "", "d", {}),
            ("", "b", "cd", "", {}),
            ("", "b", "", "cd", {}),
            ("", "b", "c", "d{}", {}),
            ("", "b", "c", "d", {"": {}}),
            ("0" * 64, "b", "c", "d", {}),
        ]
    }
    assert len(hashes) == 7


def test_the_hash_of_a_record_does_not_change() -> None:
    """Journals outlive releases: a change of this changes `RUN_DOMAIN` too, and readers accept both."""
    first = chain_hash("", {"a": [1, "x"]}, run_id="run", seq=0, kind="note", key="k")
    assert first == "8edff86907396f4c786b197ef454c1d1ba8ebc841bcd72a8c5837d67e989f109"
    second = chain_hash(first, {}, run_id="run", seq=1, kind="final", key="")
    assert second == "3938354f9492a09c3dbd1f4a17cd6db69fd33f0eb434882a8c8acb8238a2d2ea"


@pytest.mark.parametrize("previous", ["0", "0" * 63, "g" * 64, "A" * 64, " " + "0" * 63, "é" * 64, "0" * 65])
def test_an_invalid_hash_is_followed_by_nothing(previous: str) -> None:
    assert chained_hash(previous, "r", 1, "k", "", {}) is None
    with pytest.raises(ValueError, match="64 hex digits"):
        chain_hash(previous, {}, run_id="r", seq=1, kind="k", key="")


@pytest.mark.parametrize("seq", [-1, 2**64])
def test_a_position_has_eight_bytes(seq: int) -> None:
    assert chained_hash("", "r", seq, "k", "", {}) is None
    with pytest.raises(OverflowError):
        chain_hash("", {}, run_id="r", seq=seq, kind="k", key="")


def test_the_greatest_positions_are_hashed_alike() -> None:
    for seq in (2**63 - 1, 2**63, 2**64 - 1):
        plain = chain_hash("", {"a": 1}, run_id="r", seq=seq, kind="k", key="")
        odd = chain_hash("", {"a": 1}, run_id="r", seq=seq, kind="k", key="", text=lambda _: '{"a":1}')
        by_hand = chain_hash("", {"\ud800": 1}, run_id="r", seq=seq, kind="k", key="", text=lambda _: '{"a":1}')
        assert plain == odd == by_hand


@pytest.mark.parametrize("wrong", [None, True, 1.0, "1", Size.BIG], ids=repr)
def test_a_step_that_is_no_exact_number_is_left_to_python(wrong: Any) -> None:
    assert action_key("r", wrong, "t", {}) is None
    assert chained_hash("", "r", wrong, "k", "", {}) is None


@pytest.mark.parametrize("wrong", [None, b"r", 1, Colour.RED, "\ud800"], ids=ascii)
def test_a_name_that_is_no_exact_text_is_left_to_python(wrong: Any) -> None:
    assert action_key(wrong, 1, "t", {}) is None
    assert action_key("r", 1, wrong, {}) is None
    for position in range(4):
        names: list[Any] = ["0" * 64, "r", "k", "i"]
        names[position] = wrong
        assert chained_hash(names[0], names[1], 1, names[2], names[3], {}) is None
