"""Read-only containers: the tool runs with exactly the arguments of the decision.

The run loop freezes the arguments of a call once, before they are journaled, decided on and executed. The core returns
transformed arguments in the same form. `FrozenDict` and `FrozenList` are subclasses of `dict` and `list`, so every
reader (`isinstance`, `json`, `==`, `**`) treats them as dicts and lists, and every write is refused with a `TypeError`.

    >>> args = deep_freeze({"cmd": ["rm", "-r"]})
    >>> args["cmd"].append("/")
    Traceback (most recent call last):
    TypeError: a frozen list cannot be changed; `bobcat.model.frozen.thaw` makes a copy that can

This guards against accidents, not against code that calls `dict.__setitem__` on the object: that code runs in the
agent's own process and is not restricted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import is_
from typing import Any, Never, TypeVar

from bobcat._core import frozen_if_flat
from bobcat.text.shortening import shortened

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

MAX_DEPTH = 128
"""Maximum nesting of arguments, the arguments themselves being the first level. Deeper ones are refused.

Requests as JSON have the same limit, and audit lines and records show as many levels: `bobcat.model.request_json` and
`bobcat.text.json_text` derive theirs from it. The core has it as `MAX_REQUEST_DEPTH`.
"""

_NAME_SHOWN = 200
_LEAVES = frozenset({str, int, float, bool, type(None), bytes})
_CONTAINERS = (Mapping, list, tuple, set, frozenset, bytearray)


class FrozenDict(dict[K, V]):
    """A `dict` that refuses every change.

    `copy.deepcopy` and `thaw` give plain, mutable copies; pickling gives another `FrozenDict`. The constructor freezes
    one level: use `deep_freeze` for values with containers inside.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> FrozenDict[K, V]:
        self = super().__new__(cls)
        dict.update(self, *args, **kwargs)
        return self

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Filled by `__new__`: a second call of `__init__` must not change it.
        pass

    def _refuse(self, *_args: Any, **_kwargs: Any) -> Never:
        raise TypeError("a frozen mapping cannot be changed; `bobcat.model.frozen.thaw` makes a copy that can")

    __setitem__ = _refuse
    __delitem__ = _refuse
    __ior__ = _refuse
    clear = _refuse
    pop = _refuse
    popitem = _refuse
    setdefault = _refuse
    update = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[K, V]:
        from copy import deepcopy

        plain: dict[K, V] = {}
        memo[id(self)] = plain
        plain.update({deepcopy(key, memo): deepcopy(value, memo) for key, value in self.items()})
        return plain

    def __reduce__(self) -> tuple[type[FrozenDict[K, V]], tuple[dict[K, V]]]:
        return type(self), (dict(self),)


class FrozenList(list[T]):
    """A `list` that refuses every change; otherwise like `FrozenDict`."""

    __slots__ = ()

    def __new__(cls, values: Iterable[T] = ()) -> FrozenList[T]:
        self = super().__new__(cls)
        list.extend(self, values)
        return self

    def __init__(self, values: Iterable[T] = ()) -> None:
        # Filled by `__new__`: a second call of `__init__` must not change it.
        pass

    def _refuse(self, *_args: Any, **_kwargs: Any) -> Never:
        raise TypeError("a frozen list cannot be changed; `bobcat.model.frozen.thaw` makes a copy that can")

    __setitem__ = _refuse
    __delitem__ = _refuse
    __iadd__ = _refuse
    __imul__ = _refuse
    append = _refuse
    clear = _refuse
    extend = _refuse
    insert = _refuse
    pop = _refuse
    remove = _refuse
    reverse = _refuse
    sort = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> list[T]:
        from copy import deepcopy

        plain: list[T] = []
        memo[id(self)] = plain
        plain.extend(deepcopy(value, memo) for value in self)
        return plain

    def __reduce__(self) -> tuple[type[FrozenList[T]], tuple[list[T]]]:
        return type(self), (list(self),)


# Any below: arguments of a tool have any type; the functions inspect containers only.
def deep_freeze(value: Any) -> Any:
    """`value` with every container in it read-only.

    Mappings become `FrozenDict`, lists `FrozenList`, sets `frozenset`; a `bytearray` is copied; a tuple stays itself
    when nothing in it changes; everything else is kept as it is. Frozen values keep their identity, and shared values
    stay shared.

    Raises `ValueError` for a container that contains itself, past `MAX_DEPTH` levels, and for a `str` subclass key with
    its own comparison: a policy and a tool could see different arguments under it.
    """
    flat = frozen_if_flat(value)  # PERF: most calls have flat arguments (4.6 µs -> 0.1 µs)
    return _Walker(freezes=True).walk(value, 0) if flat is None else flat


def thaw(value: Any) -> Any:
    """A mutable copy of `value`: plain dicts, lists and sets all the way down, leaves shared.

    Raises `ValueError` like `deep_freeze`.
    """
    if type(value) is FrozenDict and _LEAVES.issuperset(map(type, value.values())):
        return dict(value)
    return _Walker(freezes=False).walk(value, 0)


class _Walker:
    """One traversal of a value: the containers around it, and those seen, with the originals to keep ids valid."""

    def __init__(self, *, freezes: bool) -> None:
        self._freezes = freezes
        self._done: dict[int, tuple[Any, Any]] = {}
        self._inside: set[int] = set()

    def walk(self, value: Any, depth: int) -> Any:
        """The frozen or thawed form of `value`, `depth` levels below the top."""
        if type(value) in _LEAVES or not isinstance(value, _CONTAINERS):
            return value
        key = id(value)
        if key in self._done:
            return self._done[key][1]
        if key in self._inside:
            raise ValueError("a container that contains itself cannot be an argument")
        if depth >= MAX_DEPTH:
            raise ValueError(f"an argument is nested deeper than {MAX_DEPTH} levels")
        self._inside.add(key)
        result = self.container(value, depth + 1)
        self._inside.discard(key)
        self._done[key] = (value, result)
        return result

    def container(self, value: Any, depth: int) -> Any:
        """The frozen or thawed form of a container whose elements are at `depth`."""
        if isinstance(value, Mapping):
            pairs = dict.items(value) if isinstance(value, dict) else [(key, value[key]) for key in value]
            if not self._freezes:
                return {key: self.walk(item, depth) for key, item in pairs}
            frozen = {exact_key(key): self.walk(item, depth) for key, item in pairs}
            same = type(value) is FrozenDict and all(map(is_, frozen.values(), dict.values(value)))
            return value if same else FrozenDict(frozen)
        if isinstance(value, list):
            items = [self.walk(item, depth) for item in list.__iter__(value)]
            if not self._freezes:
                return items
            same = type(value) is FrozenList and all(map(is_, items, list.__iter__(value)))
            return value if same else FrozenList(items)
        if isinstance(value, tuple):
            items = [self.walk(item, depth) for item in tuple.__iter__(value)]
            same = all(map(is_, items, tuple.__iter__(value)))
            return value if same else getattr(value, "_make", tuple)(items)
        if isinstance(value, bytearray):
            return bytearray(value)
        return frozenset(value) if self._freezes else set(value)


def exact_key(key: Any) -> Any:  # Any: mappings have keys of any kind
    """A key of a mapping. Raises `ValueError` for a `str` subclass with its own comparison or hash."""
    kind = type(key)
    if kind is str or not issubclass(kind, str):
        return key
    if any(_defined(kind, name) is not str.__dict__[name] for name in ("__eq__", "__hash__")):
        raise ValueError(f"a key of type {type_name(key)} does not compare like the text it is")
    return key


def type_name(value: object) -> str:
    """The name of a value's type, regardless of its metaclass."""
    name: str = type.__dict__["__name__"].__get__(type(value))
    return shortened(name, _NAME_SHOWN)


def _defined(kind: type, name: str) -> object:
    """The definition of a type's method, as the interpreter resolves it, without its metaclass."""
    for base in type.__dict__["__mro__"].__get__(kind):
        methods = type.__dict__["__dict__"].__get__(base)
        if name in methods:
            return methods[name]
    return None
