"""Identity of a Python rule: its name, its module, and a digest of everything executable in it.

The front end creates `HostRule` nodes with it, the loader verifies that a callable is the one a bundle was compiled
with. The digest covers bytecode, constants, names, nested code, defaults, closure values, the fields of callable
objects, the arguments of partials, and, of the globals a function reads, plain data and functions of its own module.
It never covers addresses, line numbers or file names, and does not depend on PYTHONHASHSEED. Bytecode belongs to one
Python version: the digest starts with its cache tag.

Any other value (a logger, a lock, a client) is represented by its type name, and listed in `opaque`.
"""

from __future__ import annotations

import dis
import enum
import functools
import re
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath
from typing import Any

import msgspec

from bobcat._core import sha256
from bobcat.model.rule_decorator import options_of

HostFunction = Callable[..., Any]  # Any: what it returns is checked where it is called

_DOMAIN = b"bobcat/host-code/v1\0"
_SCALARS = (datetime, date, time, timedelta, timezone, Decimal, Fraction, PurePath)
_MEMBERS = (types.FunctionType, staticmethod, classmethod, property)
# Docstrings, positions, and a tuple whose order is that of a set.
_NOT_BEHAVIOUR = frozenset({"__doc__", "__module__", "__qualname__", "__firstlineno__", "__static_attributes__"})
_FUNCTION_KINDS = (types.BuiltinFunctionType, types.WrapperDescriptorType, types.MethodDescriptorType)

_encode = msgspec.json.Encoder(order="deterministic").encode


@dataclass(frozen=True, slots=True)
class HostCode:
    """The identity of one callable. `opaque` lists the values that the digest covers by type only: `global log:
    logging.Logger`.
    """

    name: str
    module: str
    qualname: str
    digest: str
    opaque: tuple[str, ...]


def host_code(fn: HostFunction) -> HostCode:
    """Return the identity of a callable; the same in every process of one Python version."""
    named = _named(fn)
    describer = _Describer(str(getattr(named, "__module__", None)))
    description = describer.value(fn, "")
    digest = sha256(_DOMAIN, _encode(description)).hex()
    return HostCode(
        host_name(fn),
        describer.module,
        str(getattr(named, "__qualname__", "")),
        f"{sys.implementation.cache_tag}:{digest}",
        tuple(sorted(describer.opaque)),
    )


def host_name(fn: HostFunction) -> str:
    """Return the rule id of a callable: from `@rule`, its name, that of the function in a partial, or of its class."""
    options = options_of(fn)
    if options is not None and options.id is not None:
        return options.id
    return str(_named(fn).__name__)


def is_async(fn: HostFunction) -> bool:
    """Return true if calling `fn` returns a coroutine or an asynchronous generator instead of a decision."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    for candidate in (fn, _call_method(type(fn)), getattr(fn, "__wrapped__", None)):
        code = getattr(getattr(candidate, "__func__", candidate), "__code__", None)
        if code is not None and code.co_flags & (0x80 | 0x100 | 0x200):
            return True
    return False


def _call_method(kind: type) -> object:
    return next((vars(cls)["__call__"] for cls in kind.__mro__ if "__call__" in vars(cls)), None)


def _named(fn: HostFunction) -> Any:  # Any: a function, or the class of a callable object
    while isinstance(fn, functools.partial):
        fn = fn.func
    return fn if isinstance(getattr(fn, "__name__", None), str) else type(fn)


class _Describer:
    """Conversion of a value to nested lists of strings and integers, which have one encoding."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.opaque: set[str] = set()
        # By identity, for values in cycles; the object is kept so that its id is not reused.
        self._seen: dict[int, tuple[int, object]] = {}

    def value(self, value: Any, where: str) -> Any:  # Any: every value, to JSON
        """Return the description of one value; `where` names its owner."""
        plain = self._plain(value)
        if plain is not None:
            return plain
        if isinstance(value, list | dict | type | types.FunctionType) or hasattr(value, "__dict__"):
            if id(value) in self._seen:
                return ["seen", self._seen[id(value)][0]]
            self._seen[id(value)] = (len(self._seen), value)
        return self._compound(value, where)

    def _plain(self, value: Any) -> list[Any] | None:  # Any: see value
        kind = type(value)
        if value is None or value is Ellipsis or value is NotImplemented:
            return ["constant", repr(value)]
        if kind is bool or kind is int:
            return [kind.__name__, format(value, "x")]
        if kind is float:
            return ["float", value.hex()]
        if kind is complex:
            return ["complex", value.real.hex(), value.imag.hex()]
        if kind is str:
            return ["str", value.encode("utf-8", "surrogatepass").hex()]
        if kind is bytes or kind is bytearray:
            return [kind.__name__, value.hex()]
        if isinstance(value, enum.Enum):
            return ["enum", _type_name(kind), value.name]
        if kind in _SCALARS or isinstance(value, PurePath):
            return ["scalar", _type_name(kind), str(value)]
        for base in (int, float, str, bytes):
            if isinstance(value, base):
                return ["subclass", _type_name(kind), *(self._plain(_base_value(base, value)) or ())]
        if kind is re.Pattern:
            return ["pattern", self._plain(value.pattern), value.flags]
        if kind is types.ModuleType:
            return ["module", value.__name__]
        if isinstance(value, _FUNCTION_KINDS):
            return ["builtin", str(getattr(value, "__module__", None)), value.__qualname__]
        return None

    def _compound(self, value: Any, where: str) -> list[Any]:  # Any: see value
        if isinstance(value, list | tuple):
            return ["sequence", _type_name(type(value)), *(self.value(item, where) for item in value)]
        if isinstance(value, set | frozenset):
            return ["set", *sorted((self._element(item, where) for item in value), key=_encode)]
        if isinstance(value, dict | types.MappingProxyType):
            return ["mapping", *([self.value(key, where), self.value(item, where)] for key, item in value.items())]
        if isinstance(value, types.CodeType):
            return self._code(value, where)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.MethodType):
            return ["method", self.value(value.__func__, where), self.value(value.__self__, where)]
        if isinstance(value, functools.partial):
            return ["partial", *(self.value(part, where) for part in (value.func, value.args, value.keywords))]
        if isinstance(value, staticmethod | classmethod):
            return [type(value).__name__, self.value(value.__func__, where)]
        if isinstance(value, property):
            return ["property", *(self.value(part, where) for part in (value.fget, value.fset, value.fdel))]
        if isinstance(value, type):
            return self._class(value)
        if callable(inner := getattr(value, "__wrapped__", None)):
            return ["wrapper", _type_name(type(value)), self.value(inner, where)]
        return self._instance(value, where)

    def _element(self, item: Any, where: str) -> Any:  # Any: see value
        # Separately: a set has no order, and the description must not depend on earlier values.
        alone = _Describer(self.module)
        description = alone.value(item, where)
        self.opaque |= alone.opaque
        return description

    def _code(self, code: types.CodeType, where: str) -> list[Any]:
        return [
            "code",
            code.co_code.hex(),
            code.co_exceptiontable.hex(),
            [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags],
            [list(names) for names in (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)],
            [self.value(constant, where) for constant in code.co_consts],
        ]

    def _function(self, fn: types.FunctionType) -> list[Any]:
        own = fn.__module__ == self.module
        if not own and "<" not in fn.__qualname__:
            return ["function", str(fn.__module__), fn.__qualname__]
        name = fn.__name__
        cells = zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
        return [
            "function",
            self._code(fn.__code__, name),
            self.value(fn.__defaults__, f"default of `{name}`"),
            self.value(fn.__kwdefaults__, f"default of `{name}`"),
            [self._cell(cell, f"closure `{free}` of `{name}`") for free, cell in cells],
            [[read, self._global(fn, read)] for read in sorted(set(_globals_read(fn.__code__)))] if own else [],
        ]

    def _cell(self, cell: types.CellType, where: str) -> list[Any]:
        try:
            content = cell.cell_contents
        except ValueError:
            return ["empty"]
        return ["cell", self.value(content, where)]

    def _global(self, fn: types.FunctionType, name: str) -> list[Any]:
        if name not in fn.__globals__:
            return ["builtin name"]
        return ["global", self.value(fn.__globals__[name], f"global `{name}`")]

    def _class(self, cls: type) -> list[Any]:
        described: list[Any] = ["class", _type_name(cls)]
        if cls.__module__ == self.module:
            members = {name: item for name, item in vars(cls).items() if _is_behaviour(name, item)}
            described.append([[name, self.value(members[name], f"class `{cls.__name__}`")] for name in sorted(members)])
            described.append([self.value(base, f"class `{cls.__name__}`") for base in cls.__bases__])
        return described

    def _instance(self, value: Any, where: str) -> list[Any]:  # Any: see value
        kind = type(value)
        if kind.__module__ == self.module:
            state = [[name, self.value(item, f"field `{name}`")] for name, item in sorted(_state(value).items())]
            return ["instance", self._class(kind), state]
        self.opaque.add(f"{where}: {_type_name(kind)}" if where else _type_name(kind))
        return ["opaque", _type_name(kind)]


def _globals_read(code: types.CodeType) -> Iterable[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in {"LOAD_GLOBAL", "LOAD_NAME"}:
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _globals_read(constant)


def _is_behaviour(name: str, member: Any) -> bool:  # Any: whatever a class holds
    if name in _NOT_BEHAVIOUR:
        return False
    return isinstance(member, _MEMBERS) or type(member) in {str, int, float, bool, bytes, tuple, frozenset}


def _state(value: Any) -> Mapping[str, Any]:  # Any: the fields of any object
    fields = dict(getattr(value, "__dict__", {}))
    for cls in type(value).__mro__:
        for name, member in vars(cls).items():
            if isinstance(member, types.MemberDescriptorType) and hasattr(value, name):
                fields[name] = member.__get__(value)
    return fields


def _base_value(base: type, value: Any) -> Any:  # Any: an instance of a subclass, as its base sees it
    if base is str:
        return "".join(str.__iter__(value))
    if base is bytes:
        return bytes(memoryview(value))
    return int.__pos__(value) if base is int else float.__pos__(value)


def _type_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
