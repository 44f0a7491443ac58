"""Constants: Python values to their form in the IR and back."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from bobcat.ir.canonical import EncodingError, encode_value
from bobcat.ir.constants import from_const, to_const

PLAIN = [
    None,
    True,
    0,
    -(10**40),
    1.5,
    "",
    "é",
    [],
    [1, [2, "x"]],
    {},
    {"a": {"b": [None]}},
    {"map": 1},
    {"timestamp": 5},
]


@pytest.mark.parametrize("value", PLAIN)
def test_json_values_come_back_equal(value: object) -> None:
    for profile in ("strict", "lynx"):
        const = to_const(value, profile)  # type: ignore[arg-type]
        encode_value(const)
        assert from_const(const) == value


@pytest.mark.parametrize(
    "value",
    [
        math.inf,
        -math.inf,
        (1, 2),
        {1: "a", None: [2]},
        {1, 2, 3},
        frozenset({"a"}),
        b"\x00\xff",
        date(2026, 1, 31),
        datetime(2026, 1, 31, 12, 0, 0, 5),
        datetime(2026, 1, 31, 12, tzinfo=timezone(timedelta(hours=2))),
    ],
)
def test_what_yaml_1_1_constructs_belongs_to_the_lynx_profile_only(value: object) -> None:
    const = to_const(value, "lynx")
    encode_value(const)
    assert from_const(const) == value
    with pytest.raises(EncodingError):
        to_const(value)


def test_nan_comes_back_as_nan() -> None:
    assert math.isnan(from_const(to_const(math.nan, "lynx")))


@pytest.mark.parametrize("value", [Decimal(1), object(), 1j, [object()], {"a": object()}, range(3)])
def test_other_types_have_no_form(value: object) -> None:
    for profile in ("strict", "lynx"):
        with pytest.raises(EncodingError):
            to_const(value, profile)  # type: ignore[arg-type]


def test_a_constant_is_a_copy() -> None:
    inner: list[object] = [1]
    source = {"a": inner}
    const = to_const(source)
    inner.append(2)
    assert from_const(const) == {"a": [1]}


def test_sets_have_one_order() -> None:
    assert encode_value(to_const({"b", "a", "c"}, "lynx")) == encode_value(to_const(frozenset({"c", "b", "a"}), "lynx"))


def test_timestamps_are_exact_microseconds() -> None:
    moment = datetime(2026, 1, 31, 14, 0, 0, 123456, timezone(timedelta(hours=2)))
    assert from_const({"timestamp": 1769860800123456}) == moment
    assert from_const({"timestamp": -62135596800000000}) == datetime(1, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("const", [{"map": {}, "float": "nan"}, {"unknown": 1}, {}])
def test_an_unknown_tag_is_refused(const: object) -> None:
    with pytest.raises(EncodingError):
        from_const(const)
