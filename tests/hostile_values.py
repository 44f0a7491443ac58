"""Python values of every kind, ordinary and hostile, for tests of the Rust module."""

from __future__ import annotations

import math
from collections import ChainMap, OrderedDict, UserDict, defaultdict, deque, namedtuple
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import IntEnum, StrEnum
from fractions import Fraction
from types import MappingProxyType, SimpleNamespace
from typing import Any

import hypothesis.strategies as st


class LoudStr(str):  # noqa: SLOT000 - an ordinary subclass is the point
    """A string that lies about itself, or raises, whatever it is asked."""

    def __eq__(self, other: object) -> bool:
        raise AssertionError("asked")

    __hash__ = str.__hash__
    __str__ = __len__ = __contains__ = __lt__ = __gt__ = lambda self, *args: 1 / 0  # type: ignore[assignment]


class LoudInt(int):
    __eq__ = __lt__ = __gt__ = __le__ = __ge__ = __bool__ = __index__ = lambda self, *args: 1 / 0  # type: ignore[assignment]
    bit_length = to_bytes = lambda self, *args, **kwargs: 1 / 0  # type: ignore[assignment]
    __hash__ = int.__hash__


class LoudFloat(float):
    __eq__ = __lt__ = __gt__ = __float__ = lambda self, *args: 1 / 0  # type: ignore[assignment]
    __hash__ = float.__hash__


class LoudDict(dict[Any, Any]):
    __getitem__ = get = __contains__ = keys = items = __iter__ = __len__ = lambda self, *args: 1 / 0  # type: ignore[assignment]


class LoudList(list[Any]):
    __getitem__ = __contains__ = __iter__ = __len__ = lambda self, *args: 1 / 0  # type: ignore[assignment]


class PlainMapping(Mapping[Any, Any]):
    """A mapping of its own kind."""

    def __init__(self, entries: dict[Any, Any]) -> None:
        self._entries = entries

    def __getitem__(self, key: Any) -> Any:
        return self._entries[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


class BrokenMapping(PlainMapping):
    """A mapping that cannot be read."""

    def __getitem__(self, key: Any) -> Any:
        raise RuntimeError("broken")

    def keys(self) -> Any:
        raise RuntimeError("broken")

    def __len__(self) -> int:
        raise RuntimeError("broken")


class BrokenZone(tzinfo):
    def utcoffset(self, when: datetime | None) -> timedelta:
        raise RuntimeError("broken")


class Colour(StrEnum):
    RED = "abc"


class Level(IntEnum):
    FIVE = 5


Point = namedtuple("Point", "x y")

TEXTS = ["", "a", "abc", "ABC", "é", "\U0001f600", "5", "a\n", "x" * 300]
NUMBERS = [0, 1, 5, -1, 2**62, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 10**30, -(10**30), 0.0, -0.0, 0.5, 5.0]
NUMBERS += [1e300, 2.0**63, 2.0**64, 2**53 + 1, float(2**53)]
SCALARS: list[Any] = [None, True, False, *NUMBERS, *TEXTS]
ODD: list[Any] = [
    float("nan"), math.inf, -math.inf, 2**4096 - 1, 2**4096, -(2**4096) + 1, -(2**4096), "\ud800", "a\udfff",
    LoudStr("abc"), LoudStr("\udc00"), LoudInt(5), LoudInt(2**70), LoudInt(2**5000), LoudFloat(0.5), LoudFloat("nan"),
    Colour.RED, Level.FIVE, Decimal(5), Fraction(1, 2), 5j, b"abc", bytearray(b"a"), {1, "a"}, frozenset("a"), object(),
    range(3), deque(["a"]), SimpleNamespace(a=1), int, date(2026, 1, 31), datetime(2026, 1, 31),
    datetime(2026, 1, 31, 12, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=timezone(timedelta(hours=-23, minutes=-59))),
    datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=timezone(timedelta(hours=1, microseconds=3))),
    datetime(2026, 1, 31, tzinfo=BrokenZone()),
]  # fmt: skip
KEYS: list[Any] = ["a", "k", "v", "eq", "", "é", "\ud800", LoudStr("zz"), Colour.RED, 1, None, 0.5, (1,)]

MAPPINGS: list[Any] = [
    dict, LoudDict, MappingProxyType, PlainMapping, BrokenMapping, OrderedDict, UserDict, ChainMap,
    lambda entries: MappingProxyType(MappingProxyType(entries)),
    lambda entries: MappingProxyType(PlainMapping(entries)),
    lambda entries: defaultdict(list, entries),
]  # fmt: skip
LISTS: list[Any] = [list, tuple, LoudList, lambda items: Point(items, len(items))]


def pick(items: list[Any]) -> st.SearchStrategy[Any]:
    """One of `items`, without their representations in that of the strategy."""
    return st.integers(0, len(items) - 1).map(lambda index: items[index])


def values_with(mappings: list[Any]) -> st.SearchStrategy[Any]:
    """Values of every kind, with mappings of these kinds."""

    def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        lists = st.builds(lambda make, items: make(items), pick(LISTS), st.lists(inner, max_size=4))
        entries = st.dictionaries(pick(KEYS), inner, max_size=4)
        return lists | st.builds(lambda make, items: make(items), pick(mappings), entries)

    return st.recursive(pick(SCALARS) | pick(ODD), containers, max_leaves=6)


values = values_with(MAPPINGS)
readable_values = values_with([kind for kind in MAPPINGS if kind is not BrokenMapping])
scalars = pick(SCALARS)
