"""A shorter constructor for frozen dataclasses with slots: half the time of the generated one, the same meaning.

`bobcat.model` and `bobcat.journal` decorate with it the values that a run makes at every step. The constructor that
`dataclasses` writes for a frozen class calls `object.__setattr__` with a name for every field; this one calls the
field's slot. Signature, defaults, replacing, pickling and comparing are those of the dataclass.

PERF: `ExecutionContext(...)` 1.9 µs -> 1.0 µs.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any, TypeVar

from bobcat._core import SlotConstructor

C = TypeVar("C", bound=type)
V = TypeVar("V")


def fast_init(cls: C) -> C:
    """Give a frozen dataclass with slots, and without `__post_init__`, the shorter constructor."""
    written = vars(cls)["__init__"]
    defaults = {name: parameter.default for name, parameter in inspect.signature(written).parameters.items()}
    names: dict[str, Any] = {}  # Any: the names in the generated code
    parameters, lines = [], []
    for field in dataclasses.fields(cls):
        name, value = field.name, field.name
        names[f"_set_{name}"] = getattr(cls, name).__set__
        if defaults[name] is inspect.Parameter.empty:
            parameters.append(name)
        else:
            names[f"_default_{name}"] = defaults[name]
            parameters.append(f"{name}=_default_{name}")
        if field.default_factory is not dataclasses.MISSING:
            names[f"_make_{name}"] = field.default_factory
            value = f"_make_{name}() if {name} is _default_{name} else {name}"
        lines.append(f"    _set_{name}(self, {value})")
    exec(f"def __init__(self, {', '.join(parameters)}):\n" + "\n".join(lines), names)
    constructor = names["__init__"]
    constructor.__annotations__ = written.__annotations__
    constructor.__qualname__ = written.__qualname__
    constructor.__module__ = cls.__module__
    cls.__init__ = constructor  # type: ignore[misc]
    return cls


def positional_factory(cls: type[V]) -> SlotConstructor[V]:
    """A factory of instances of such a class from all fields in order, in a third of the time.

    For the places that build one at every step.
    """
    return SlotConstructor(cls, [field.name for field in dataclasses.fields(cls)])  # type: ignore[arg-type]
