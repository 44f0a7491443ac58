"""`bobcat.model.light_dataclass`: the same classes as those of `dataclasses`, which is the oracle here."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
import typing
from collections.abc import Callable
from typing import Any

import pytest

from bobcat.bundle.parts import BundleParts
from bobcat.model.decision import (
    ActionRequest,
    Decision,
    ExecutionContext,
    Obligation,
    Principal,
    ToolMetadata,
    Verdict,
)
from bobcat.model.light_dataclass import Factory
from bobcat.model.light_dataclass import dataclass as light

CLASSES: list[Any] = [Principal, ExecutionContext, ToolMetadata, ActionRequest, Obligation, Decision, BundleParts]
EXAMPLES: list[Any] = [
    Principal("user", "ann"),
    ToolMetadata("low", True, ("files",)),
    Obligation("log", {"level": 1}, "after"),
    Decision(Verdict.DENY, "no", ("r",)),
]


class Written:
    """A pair."""

    left: int
    right: str = "r"
    more: list[int] = []  # noqa: RUF012  # replaced below, in each of the two ways


def made(dataclass: Callable[..., Any], factory: Any) -> Any:
    body = {name: value for name, value in vars(Written).items() if name not in ("__dict__", "__weakref__")}
    return dataclass(frozen=True, slots=True)(type("Written", (), {**body, "more": factory}))


Light = made(light, Factory(default_factory=list))
Standard = made(dataclasses.dataclass, dataclasses.field(default_factory=list))
PAIR = (Light, Standard)


def both(ask: Callable[[Any], Any]) -> Any:
    """The answer about the class, which is that about the class of the standard library."""
    ours, theirs = ask(Light), ask(Standard)
    assert ours == theirs
    return ours


def test_the_constructor_is_the_same() -> None:
    assert (
        both(lambda cls: str(inspect.signature(cls)))
        == "(left: 'int', right: 'str' = 'r', more: 'list[int]' = <factory>) -> None"
    )
    assert both(lambda cls: cls.__init__.__annotations__)
    assert both(lambda cls: repr(cls(1))) == "Written(left=1, right='r', more=[])"
    assert Light(1).more is not Light(1).more
    for arguments in ((), (1, 2, 3, 4)):
        with pytest.raises(TypeError, match="positional argument"):
            Light(*arguments)


def test_the_class_is_described_in_the_same_way() -> None:
    for name in ("__slots__", "__match_args__", "__doc__", "__qualname__", "__module__", "__annotations__"):
        both(lambda cls, name=name: getattr(cls, name))
    both(lambda cls: sorted(set(vars(cls)) - {"__replace__"}))
    both(lambda cls: repr(cls.__dataclass_params__))
    both(lambda cls: [(each.name, each.type, each.default) for each in dataclasses.fields(cls)])
    assert all(map(dataclasses.is_dataclass, [*CLASSES, Light, Light(1)]))


def test_instances_compare_and_hash_alike() -> None:
    both(lambda cls: cls(1) == cls(1))
    both(lambda cls: cls(1) == cls(2))
    both(lambda cls: cls(1) == (1, "r", []))
    both(lambda cls: hash(cls(1, more=())))
    with pytest.raises(TypeError, match="unhashable type: 'list'"):
        hash(Light(1))
    assert Light(1) != Standard(1)


def test_instances_are_frozen_with_the_same_error() -> None:
    for cls in PAIR:
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'left'"):
            cls(1).left = 2
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'left'"):
            del cls(1).left
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'other'"):
        Light(1).other = 2


def test_a_value_that_holds_itself_has_a_text() -> None:
    for cls in PAIR:
        value = cls(1)
        value.more.append(value)
        assert repr(value) == "Written(left=1, right='r', more=[...])"


@pytest.mark.parametrize("value", EXAMPLES)
def test_values_are_copied_and_replaced(value: Any) -> None:
    name = dataclasses.fields(value)[1].name
    changed = dataclasses.replace(value, **{name: "new"})
    assert getattr(changed, name) == "new" != getattr(value, name)
    assert value.__replace__(**{name: "new"}) == changed
    for again in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert again == value
        assert type(again) is type(value)
    assert dataclasses.astuple(value) == tuple(getattr(value, each) for each in value.__slots__)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_earlier_releases_are_read(protocol: int) -> None:
    # Those of the standard library's dataclasses have the state in a list, too.
    assert Standard(1).__getstate__() == Light(1).__getstate__() == [1, "r", []]
    assert pickle.loads(pickle.dumps(Principal("user", "ann"), protocol)).id == "ann"


def test_a_dataclass_can_extend_one() -> None:
    @dataclasses.dataclass(frozen=True)
    class Marked(Principal):
        mark: int = 0

    assert [each.name for each in dataclasses.fields(Marked)] == ["kind", "id", "name", "mark"]
    assert Marked("user", "ann", mark=3).mark == 3
    with pytest.raises(TypeError, match="cannot inherit non-frozen"):
        dataclasses.dataclass(type("Thawed", (Principal,), {"__annotations__": {}}))


def test_a_class_may_define_a_method_itself() -> None:
    assert repr(Decision(Verdict.DENY)).count("obligations") == 0


def test_other_dataclasses_are_refused() -> None:
    with pytest.raises(TypeError, match="only frozen classes with slots"):
        light(frozen=True, slots=False)
    with pytest.raises(TypeError, match="`Child` has a base class"):
        light(frozen=True, slots=True)(type("Child", (Written,), {"__annotations__": {}}))


@pytest.mark.parametrize("cls", CLASSES[:-1])
def test_the_types_of_the_fields_can_be_resolved(cls: type) -> None:
    assert set(typing.get_type_hints(cls)) == {each.name for each in dataclasses.fields(cls)}


def test_making_and_comparing_values_imports_no_dataclasses() -> None:
    code = (
        "import sys\nbefore = set(sys.modules)\nfrom bobcat.model.decision import Obligation\n"
        "assert Obligation('a') == Obligation('a') and hash(Obligation('a')) and repr(Obligation('a'))\n"
        "assert not {'dataclasses', 'inspect'} & (set(sys.modules) - before)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
