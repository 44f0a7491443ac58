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

from bobcat._core import Maker

C = TypeVar("C", bound=type)
V = TypeVar("V")


def quick(cls: C) -> C:
    """Give a frozen dataclass with slots, and without `__post_init__`, the shorter constructor."""
    written = vars(cls)["__init__"]
    defaults = {name: parameter.default for name, parameter in inspect.signature(written).parameters.items()}
    names: dict[str, Any] = {}  # Any: what the generated code refers to
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
    made = names["__init__"]
    made.__annotations__ = written.__annotations__
    made.__qualname__ = written.__qualname__
    made.__module__ = cls.__module__
    cls.__init__ = made  # type: ignore[misc]
    return cls


def maker(cls: type[V]) -> Maker[V]:
    """What makes instances of such a class from the values of all fields, in order: the same ones, in a third of the
    time. For the places that make one at every step.
    """
    return Maker(cls, [field.name for field in dataclasses.fields(cls)])  # type: ignore[arg-type]
