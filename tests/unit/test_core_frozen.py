"""Frozen arguments: every write is refused, every read works, and copies can be changed."""

from __future__ import annotations

import copy
import json
import pickle
from collections import OrderedDict, namedtuple
from collections.abc import Callable
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import pytest

from bobcat.model.frozen import MAX_DEPTH, FrozenDict, FrozenList, deep_freeze, thaw

MAPPING_WRITES: list[Callable[[Any], object]] = [
    lambda d: d.__setitem__("a", 2),
    lambda d: d.__delitem__("a"),
    lambda d: d.clear(),
    lambda d: d.pop("a"),
    lambda d: d.popitem(),
    lambda d: d.setdefault("b", 1),
    lambda d: d.update(a=2),
    lambda d: d.__ior__({"a": 2}),
]
LIST_WRITES: list[Callable[[Any], object]] = [
    lambda x: x.__setitem__(0, 9),
    lambda x: x.__setitem__(slice(0, 1), [9]),
    lambda x: x.__delitem__(0),
    lambda x: x.__iadd__([9]),
    lambda x: x.__imul__(2),
    lambda x: x.append(9),
    lambda x: x.clear(),
    lambda x: x.extend([9]),
    lambda x: x.insert(0, 9),
    lambda x: x.pop(),
    lambda x: x.remove(2),
    lambda x: x.reverse(),
    lambda x: x.sort(),
]


@pytest.mark.parametrize("write", MAPPING_WRITES)
def test_every_write_to_a_frozen_mapping_is_refused(write: Callable[[Any], object]) -> None:
    frozen = deep_freeze({"a": 1})
    with pytest.raises(TypeError, match="frozen mapping cannot be changed"):
        write(frozen)
    assert frozen == {"a": 1}


@pytest.mark.parametrize("write", LIST_WRITES)
def test_every_write_to_a_frozen_list_is_refused(write: Callable[[Any], object]) -> None:
    frozen = deep_freeze([2, 1])
    with pytest.raises(TypeError, match="frozen list cannot be changed"):
        write(frozen)
    assert frozen == [2, 1]


def test_a_bytearray_is_copied_in_both_directions() -> None:
    given = bytearray(b"ls")
    frozen = deep_freeze({"cmd": given, "more": (given,)})
    given[:] = b"rm"
    assert frozen == {"cmd": b"ls", "more": (b"ls",)}
    thawed = thaw(frozen)
    thawed["cmd"][:] = b"rm"
    assert frozen["cmd"] == b"ls"
    assert type(thawed["cmd"]) is bytearray


class Other(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = str.__hash__


class Colour(StrEnum):
    RED = "red"


@pytest.mark.parametrize("make", [dict, OrderedDict, MappingProxyType, FrozenDict])
def test_a_key_that_does_not_compare_like_its_text_is_refused(make: Callable[[Any], Any]) -> None:
    with pytest.raises(ValueError, match="a key of type Other does not compare like the text it is"):
        deep_freeze(make({Other("cmd"): "rm", "cmd": "ls"}))
    with pytest.raises(ValueError, match="does not compare"):
        deep_freeze({"deeper": [make({Other("cmd"): "rm"})]})
    assert deep_freeze(make({Colour.RED: 1}))["red"] == 1


def test_calling_init_again_changes_nothing() -> None:
    frozen, items = deep_freeze({"a": 1}), deep_freeze([1])
    frozen.__init__({"a": 2})
    items.__init__([2])
    assert (frozen, items) == ({"a": 1}, [1])


def test_no_attribute_can_be_set_on_a_frozen_value() -> None:
    for value in (deep_freeze({"a": 1}), deep_freeze([1])):
        with pytest.raises(AttributeError):
            value.extra = 1


def test_containers_are_frozen_all_the_way_down() -> None:
    frozen = deep_freeze({"a": [{"b": {1, 2}}], "t": ([1],), "m": MappingProxyType({"k": []}), "o": OrderedDict(z=1)})
    assert type(frozen["a"]) is FrozenList
    assert type(frozen["a"][0]) is FrozenDict
    assert type(frozen["a"][0]["b"]) is frozenset
    assert type(frozen["t"]) is tuple
    assert type(frozen["t"][0]) is FrozenList
    assert type(frozen["m"]) is FrozenDict
    assert type(frozen["m"]["k"]) is FrozenList
    assert type(frozen["o"]) is FrozenDict


def test_the_original_can_change_without_changing_the_frozen_value() -> None:
    inner = [1]
    original = {"a": inner}
    frozen = deep_freeze(original)
    inner.append(2)
    original["b"] = []
    assert frozen == {"a": [1]}


def test_leaves_and_unchanged_tuples_keep_their_identity() -> None:
    leaf, pair = object(), (1, "x")
    frozen = deep_freeze({"leaf": leaf, "pair": pair})
    assert frozen["leaf"] is leaf
    assert frozen["pair"] is pair


def test_a_named_tuple_stays_one() -> None:
    Point = namedtuple("Point", "x y")
    frozen = deep_freeze(Point([1], 2))
    assert frozen == Point([1], 2)
    assert type(frozen) is Point
    assert type(frozen.x) is FrozenList


def test_freezing_twice_gives_the_same_object() -> None:
    frozen = deep_freeze({"a": [{"b": 1}], "t": ([1],)})
    assert deep_freeze(frozen) is frozen


def test_a_shallow_frozen_mapping_is_frozen_deeply_when_asked() -> None:
    shallow: FrozenDict[str, list[int]] = FrozenDict({"a": [1]})
    assert type(deep_freeze(shallow)["a"]) is FrozenList


def test_what_is_shared_stays_shared_and_costs_no_more() -> None:
    value: Any = [1]
    for _ in range(60):
        value = [value, value]
    frozen = deep_freeze(value)
    assert frozen[0] is frozen[1]
    assert thaw(frozen)[0] is not frozen[0]


@pytest.mark.parametrize("walk", [deep_freeze, thaw])
def test_a_value_that_contains_itself_is_refused(walk: Callable[[Any], Any]) -> None:
    cyclic: dict[str, Any] = {}
    cyclic["self"] = [cyclic]
    with pytest.raises(ValueError, match="contains itself"):
        walk(cyclic)


@pytest.mark.parametrize("walk", [deep_freeze, thaw])
def test_depth_is_capped(walk: Callable[[Any], Any]) -> None:
    value: Any = 1
    for _ in range(MAX_DEPTH):
        value = [value]
    walk(value)
    with pytest.raises(ValueError, match=f"deeper than {MAX_DEPTH}"):
        walk([value])


def test_thaw_gives_plain_mutable_copies() -> None:
    thawed = thaw(deep_freeze({"a": [{"b": {1}}], "t": ([1],)}))
    assert thawed == {"a": [{"b": {1}}], "t": ([1],)}
    assert type(thawed) is dict
    assert type(thawed["a"]) is list
    assert type(thawed["a"][0]) is dict
    thawed["a"][0]["b"].add(2)
    thawed["t"][0].append(2)


def test_deepcopy_gives_plain_mutable_copies() -> None:
    frozen = deep_freeze({"a": [1], "t": ([2],)})
    copied = copy.deepcopy(frozen)
    assert copied == frozen
    assert type(copied) is dict
    assert type(copied["a"]) is list
    copied["a"].append(2)
    assert frozen["a"] == [1]


def test_pickling_keeps_values_frozen() -> None:
    frozen = deep_freeze({"a": [{"b": 1}]})
    again = pickle.loads(pickle.dumps(frozen))
    assert again == frozen
    assert type(again) is FrozenDict
    assert type(again["a"]) is FrozenList
    assert type(again["a"][0]) is FrozenDict


def test_readers_see_ordinary_containers() -> None:
    frozen = deep_freeze({"a": [1, {"b": None}]})
    assert json.dumps(frozen) == '{"a": [1, {"b": null}]}'
    assert dict(**frozen) == frozen
    assert repr(frozen) == "{'a': [1, {'b': None}]}"
    assert [*frozen["a"]] == [1, {"b": None}]
    assert frozen | {"c": 1} == {"a": [1, {"b": None}], "c": 1}
