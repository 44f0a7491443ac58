"""Slot constructors: the same instances as the class makes, whatever the class looks like."""

from __future__ import annotations

import dataclasses
import gc
import pickle
import sys
import weakref
from typing import Any

import pytest

from bobcat._core import SlotConstructor, frozen_if_flat
from bobcat.journal import index, records, views
from bobcat.model import decision, run
from bobcat.model.fast_init import fast_init, positional_factory
from bobcat.model.frozen import FrozenDict, deep_freeze

VALUE_TYPES: list[Any] = [
    kind
    for module in (decision, run, index, records, views)
    for kind in vars(module).values()
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind.__module__ == module.__name__
]


@fast_init
@dataclasses.dataclass(frozen=True, slots=True)
class Pair:
    a: object
    b: object


@pytest.mark.parametrize("kind", VALUE_TYPES, ids=lambda kind: kind.__name__)
def test_a_maker_makes_what_the_class_makes(kind: Any) -> None:
    values = [f"value {number}" for number in range(len(dataclasses.fields(kind)))]
    made, constructed = positional_factory(kind)(*values), kind(*values)
    assert made == constructed
    assert type(made) is kind
    assert repr(made) == repr(constructed)
    assert pickle.loads(pickle.dumps(made)) == constructed
    assert dataclasses.asdict(made) == dataclasses.asdict(constructed)


@pytest.mark.parametrize("kind", [decision.ActionRequest, decision.ExecutionContext, records.StepRecord])
def test_the_values_of_a_step_are_made_without_their_constructors(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    make = positional_factory(kind)

    def forbidden(*_: object) -> None:
        raise AssertionError("constructed")

    monkeypatch.setattr(kind, "__init__", forbidden)
    make(*[None] * len(dataclasses.fields(kind)))


@pytest.mark.parametrize("count", [0, 1, 3, 9])
def test_a_wrong_number_of_values_is_refused(count: int) -> None:
    with pytest.raises(TypeError, match=f"a maker of 2 values was given {count}"):
        positional_factory(Pair)(*range(count))


def test_a_maker_keeps_one_reference_to_each_value_and_lets_go_of_it() -> None:
    value = object()
    make = positional_factory(Pair)
    before = sys.getrefcount(value)
    made = [make(value, "id") for _ in range(10)]
    assert sys.getrefcount(value) == before + 10
    del made
    assert sys.getrefcount(value) == before


def test_what_a_maker_makes_is_collected_when_it_is_part_of_a_cycle() -> None:
    class Alive:
        pass

    alive, body = Alive(), dict[str, Any]()
    seen = weakref.ref(alive)
    body["self"] = positional_factory(Pair)(body, alive)
    del alive, body
    gc.collect()
    assert seen() is None


@dataclasses.dataclass(frozen=True)
class WithDict:
    a: object
    b: object


@dataclasses.dataclass(frozen=True, slots=True)
class WithMore(decision.Principal):
    extra: object = None


@dataclasses.dataclass(frozen=True, slots=True, weakref_slot=True)
class WithWeakrefs:
    a: object


@fast_init
@dataclasses.dataclass(frozen=True, slots=True)
class Small:
    a: object


@pytest.mark.parametrize("kind", [WithDict, WithMore, WithWeakrefs, Small])
def test_a_class_of_another_layout_is_made_all_the_same(kind: Any) -> None:
    values = list(range(len(dataclasses.fields(kind))))
    assert positional_factory(kind)(*values) == kind(*values)


def test_a_maker_of_some_of_the_fields_calls_the_class() -> None:
    assert SlotConstructor(decision.Decision, ["verdict", "reason"])("deny", "x") == decision.Decision("deny", "x")  # type: ignore[arg-type]


def test_a_constructor_of_unknown_fields_calls_the_class() -> None:
    with pytest.raises(TypeError):
        SlotConstructor(Small, ["nothing", "more"])(1, 2)


def test_flat_arguments_are_frozen_in_one_step() -> None:
    args = {"text": "x", "count": 1, "rate": 0.5, "on": True, "none": None, "raw": b"x"}
    frozen = frozen_if_flat(args)
    assert type(frozen) is FrozenDict
    assert frozen == args == deep_freeze(args)
    assert list(frozen) == list(args)
    args["text"] = "changed"
    assert frozen["text"] == "x"


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "value", [[], {}, (), set(), Text("x"), object(), FrozenDict()], ids=lambda v: type(v).__name__
)
def test_other_arguments_are_not_flat(value: object) -> None:
    assert frozen_if_flat({"a": 1, "b": value}) is None


@pytest.mark.parametrize("key", [7, Text("x"), None, True], ids=lambda v: type(v).__name__)
def test_arguments_under_other_keys_than_plain_strings_are_not_flat(key: object) -> None:
    assert frozen_if_flat({"a": 1, key: 2}) is None


@pytest.mark.parametrize("value", [FrozenDict(a=1), [], None, "x", Text("x")], ids=lambda v: type(v).__name__)
def test_a_non_dict_is_not_flat(value: object) -> None:
    assert frozen_if_flat(value) is None
