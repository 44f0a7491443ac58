"""JSON Schema of a Python type: the JSON form of its values.

Called by `function_schema`. Pure: it reads annotations and calls nothing of the types that it inspects, except
pydantic's models, for their schema. An unknown type is `{}`, anything: a schema that forbids valid arguments is worse
than an open one.
"""

from __future__ import annotations

import collections
import dataclasses
import math
import re
import sys
import typing
from collections import abc
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from enum import Enum, StrEnum
from inspect import Parameter
from pathlib import Path, PurePath
from types import NoneType, SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    LiteralString,
    NewType,
    NotRequired,
    Required,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)
from uuid import UUID

# Any: JSON.
JsonSchema: TypeAlias = dict[str, Any]


class Style(StrEnum):
    """`STANDARD` is JSON Schema 2020-12. `LYNX` spells optional values and tuples as lynx-agent 2.5 does."""

    STANDARD = "standard"
    LYNX = "lynx"


_SCALARS: dict[object, JsonSchema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    None: {"type": "null"},
    NoneType: {"type": "null"},
    LiteralString: {"type": "string"},
    bytes: {"type": "string", "format": "byte"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    time: {"type": "string", "format": "time"},
    UUID: {"type": "string", "format": "uuid"},
    Path: {"type": "string"},
    PurePath: {"type": "string"},
}
_LISTS: frozenset[object] = frozenset(
    {list, abc.Sequence, abc.MutableSequence, abc.Collection, abc.Container, abc.Iterable, abc.Reversible,
     collections.deque}
)  # fmt: skip
_SETS: frozenset[object] = frozenset({set, frozenset, abc.Set, abc.MutableSet})
_MAPPINGS: frozenset[object] = frozenset(
    {dict, abc.Mapping, abc.MutableMapping, collections.OrderedDict, collections.defaultdict}
)
_READ_ONLY: object = getattr(typing, "ReadOnly", None)  # Python 3.13
_INNER: frozenset[object] = frozenset({Required, NotRequired, Final, ClassVar, _READ_ONLY} - {None})
# The constraints of `annotated_types`, which pydantic uses as well, by attribute.
_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum",
           "multiple_of": "multipleOf"}  # fmt: skip
_LENGTHS = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}


class TypeSchemas:
    """Makes schemas that share their `definitions`: of recursive types, by name.

    With `python`, the schemas check exact values, and an `enum` holds `bytes` too, which have no JSON form.
    """

    def __init__(self, style: Style = Style.STANDARD, *, python: bool = False) -> None:
        self._style = style
        self._python = python
        self._inside: list[object] = []
        self._names: dict[object, str] = {}
        self.definitions: dict[str, JsonSchema] = {}

    # Any: annotations are values of any kind.
    def of(self, annotation: Any) -> JsonSchema:
        """The schema of an annotation."""
        try:
            scalar = _SCALARS.get(annotation)
        except TypeError:  # no scalar: `Annotated` with a note that cannot be hashed
            scalar = None
        if scalar is not None:
            return dict(scalar)
        if annotation is Parameter.empty or annotation is Any or annotation is object:
            return {}
        origin = get_origin(annotation)
        if origin is not None:
            return self._generic(annotation, origin, get_args(annotation))
        if isinstance(annotation, NewType):
            return self.of(annotation.__supertype__)
        if isinstance(annotation, TypeVar):
            return self._variable(annotation)
        if hasattr(annotation, "__value__") and type(annotation).__name__ == "TypeAliasType":  # Python 3.12
            return self._named(annotation, lambda alias: self.of(alias.__value__))
        return self._class(annotation) if isinstance(annotation, type) else {}

    def _generic(self, annotation: Any, origin: Any, args: tuple[Any, ...]) -> JsonSchema:
        if origin is Annotated:
            return _described(self.of(args[0]), args[1:])
        if origin is Literal:
            return self._choice(args)
        if origin is Union or origin is UnionType:
            return self._union(args)
        if origin in _INNER:
            return self.of(args[0])
        if origin is tuple:
            return self._tuple(args)
        if origin in _LISTS or origin in _SETS:
            items = self.of(args[0])
            schema: JsonSchema = {"type": "array", "items": items} if items else {"type": "array"}
            return {**schema, "uniqueItems": True} if origin in _SETS else schema
        if origin in _MAPPINGS:
            values = self.of(args[1]) if self._style is Style.STANDARD else {}
            return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
        return self._class(origin) if isinstance(origin, type) else {}

    def _class(self, cls: type) -> JsonSchema:
        if cls in _LISTS or cls is tuple:
            return {"type": "array"}
        if cls in _SETS:
            return {"type": "array", "uniqueItems": True}
        if cls in _MAPPINGS:
            return {"type": "object"}
        if issubclass(cls, Enum):
            return self._choice(tuple(cls))
        if is_typeddict(cls):
            return self._named(cls, self._typed_dict)
        if dataclasses.is_dataclass(cls):
            return self._named(cls, self._dataclass)
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            return self._named(cls, self._named_tuple)
        if self._style is Style.STANDARD and _is_pydantic(cls):
            return self._pydantic(cls)
        return {}

    def _choice(self, values: tuple[Any, ...]) -> JsonSchema:
        plain = tuple(value.value if isinstance(value, Enum) else value for value in values)
        found = [(True, value) if type(value) is bytes else json_value(value) for value in plain]
        if not all(known for known, _ in found):
            return {}
        kept = [value for _, value in found if self._python or type(value) is not bytes]
        return {"enum": kept} if kept else {}

    def _pydantic(self, cls: Any) -> JsonSchema:
        """The schema of a pydantic model, with its definitions merged into this document's."""
        if cls not in self._names:
            place = re.sub(r"\W", "_", self._name(cls))
            try:
                schema = cls.model_json_schema(ref_template=f"#/$defs/{place}.{{model}}")
            except Exception:  # a model that has no JSON Schema, or is not finished
                self._names.pop(cls)
                return {}
            for name, definition in schema.pop("$defs", {}).items():
                self.definitions[f"{place}.{name}"] = definition
            self.definitions[place] = schema
            self._names[cls] = place
        return {"$ref": f"#/$defs/{self._names[cls]}"}

    def _union(self, members: tuple[Any, ...]) -> JsonSchema:
        others = [member for member in members if member is not NoneType]
        if self._style is Style.LYNX and len(others) == 1 < len(members):
            return {**self.of(others[0]), "nullable": True}
        found: list[JsonSchema] = []
        for member in members:
            schema = self.of(member)
            if not schema:  # one open alternative makes the union open
                return {}
            if schema not in found:
                found.append(schema)
        return found[0] if len(found) == 1 else {"anyOf": found}

    def _tuple(self, args: tuple[Any, ...]) -> JsonSchema:
        if len(args) == 2 and args[1] is Ellipsis:
            items = self.of(args[0])
            return {"type": "array", "items": items} if items else {"type": "array"}
        parts = [self.of(arg) for arg in args]
        if self._style is Style.LYNX:
            return {"type": "array", "items": parts}
        fixed: JsonSchema = {"type": "array", "minItems": len(parts), "maxItems": len(parts)}
        return {**fixed, "prefixItems": parts} if parts else fixed

    def _variable(self, variable: TypeVar) -> JsonSchema:
        if variable.__constraints__:
            return self._union(variable.__constraints__)
        return self.of(variable.__bound__) if variable.__bound__ is not None else {}

    def _named(self, cls: Any, make: Callable[[Any], JsonSchema]) -> JsonSchema:
        """The schema of a named type: in place, or a reference when the type contains itself."""
        if cls in self._inside:
            return {"$ref": f"#/$defs/{self._name(cls)}"}
        if cls in self._names and self._names[cls] in self.definitions:
            return {"$ref": f"#/$defs/{self._names[cls]}"}
        self._inside.append(cls)
        schema = make(cls)
        self._inside.pop()
        if cls not in self._names:
            return schema
        self.definitions[self._names[cls]] = schema
        return {"$ref": f"#/$defs/{self._names[cls]}"}

    def _name(self, cls: Any) -> str:
        taken = set(self._names.values())
        if cls not in self._names:
            name, number = cls.__name__, 2
            while name in taken:
                name, number = f"{cls.__name__}{number}", number + 1
            self._names[cls] = name
        return self._names[cls]

    def _dataclass(self, cls: Any) -> JsonSchema:
        hints = _hints(cls)
        properties: JsonSchema = {}
        required: list[str] = []
        for field in dataclasses.fields(cls):
            if not field.init:
                continue
            properties[field.name] = self.of(hints.get(field.name, Parameter.empty))
            if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
                required.append(field.name)
        return _object(properties, required)

    def _typed_dict(self, cls: Any) -> JsonSchema:
        hints = _hints(cls)
        required: list[str] = []
        for name, annotation in hints.items():
            # `__required_keys__` ignores string annotations; the resolved ones come first.
            marks = _marks(annotation)
            if Required in marks or (NotRequired not in marks and name in cls.__required_keys__):
                required.append(name)
        return _object({name: self.of(annotation) for name, annotation in hints.items()}, required)

    def _named_tuple(self, cls: Any) -> JsonSchema:
        hints = _hints(cls)
        least = len(cls._fields) - len(cls._field_defaults)
        parts = [self.of(hints.get(name, Parameter.empty)) for name in cls._fields]
        return {"type": "array", "prefixItems": parts, "minItems": least, "maxItems": len(parts)}


def json_value(value: object) -> tuple[bool, Any]:
    """Return true and the JSON form of a default if JSON can represent it exactly."""
    if isinstance(value, Enum):
        return json_value(value.value)
    if value is None or type(value) in (bool, int, str):
        return True, value
    if type(value) is float:
        return math.isfinite(value), value
    if isinstance(value, (list, tuple)):
        items = [json_value(item) for item in value]
        return all(known for known, _ in items), [item for _, item in items]
    if isinstance(value, Mapping):
        pairs = {key: json_value(item) for key, item in value.items()}
        known = all(isinstance(key, str) and ok for key, (ok, _) in pairs.items())
        return known, {key: item for key, (_, item) in pairs.items()}
    return False, None


def _object(properties: JsonSchema, required: list[str]) -> JsonSchema:
    schema: JsonSchema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


def _is_pydantic(cls: type) -> bool:
    """Return true for a pydantic model. The package is never imported: its models have imported it."""
    base = getattr(sys.modules.get("pydantic"), "BaseModel", None)
    return isinstance(base, type) and issubclass(cls, base) and cls is not base


def _described(schema: JsonSchema, notes: tuple[Any, ...]) -> JsonSchema:
    """A schema with the metadata of `Annotated`: a text is a description, a bound is a bound."""
    result = dict(schema)
    for note in notes:
        text = note if isinstance(note, str) else getattr(note, "description", None)
        if isinstance(text, str) and text:
            result.setdefault("description", text)
        for part in (note, *(getattr(note, "metadata", None) or ())):
            result = _bounded(result, part)
    return result


def _bounded(schema: JsonSchema, note: Any) -> JsonSchema:
    """A schema with the bounds of a note added to its own: all of them apply."""
    result = dict(schema)
    for keyword, bound in _bounds(note, schema.get("type")).items():
        if keyword not in result:
            result[keyword] = bound
        elif result[keyword] != bound:
            result["allOf"] = [*result.get("allOf", ()), {keyword: bound}]
    if "anyOf" in result:  # `str | None` has the bounds of `str`
        result["anyOf"] = [_bounded(member, note) for member in result["anyOf"]]
    return result


def _bounds(note: Any, kind: object) -> JsonSchema:
    found: JsonSchema = {}
    if kind in ("integer", "number"):
        for attribute, keyword in _BOUNDS.items():
            bound = getattr(note, attribute, None)
            if type(bound) in (int, float):
                found[keyword] = bound
    for attribute, keyword in zip(("min_length", "max_length"), _LENGTHS.get(str(kind), ()), strict=False):
        length = getattr(note, attribute, None)
        if type(length) is int:
            found[keyword] = length
    pattern = getattr(note, "pattern", None)
    if kind == "string" and type(pattern) is str and pattern:
        found["pattern"] = pattern
    return found


def _hints(cls: type) -> dict[str, Any]:
    try:
        return get_type_hints(cls, include_extras=True)
    except Exception:  # a name that cannot be resolved: the other fields keep their types
        return _hints_one_by_one(cls)


def _hints_one_by_one(cls: type) -> dict[str, Any]:
    hints: dict[str, Any] = {}
    for base in reversed(getattr(cls, "__mro__", (cls,))):
        names = vars(sys.modules.get(base.__module__, sys))
        for name, annotation in vars(base).get("__annotations__", {}).items():
            hints |= {name: Parameter.empty} | hint_of(name, annotation, names, dict(vars(base)))
    return hints


def hint_of(name: str, annotation: Any, names: dict[str, Any], local: dict[str, Any] | None = None) -> dict[str, Any]:
    """One annotation as a type; empty for an unresolvable one, as an annotation can be any expression."""
    alone = SimpleNamespace(__annotations__={name: annotation})
    try:
        return get_type_hints(alone, globalns=names, localns=local, include_extras=True)
    except Exception:
        return {}


def _marks(annotation: Any) -> set[object]:
    """The `Required`, `NotRequired` and similar markers around a type."""
    found: set[object] = set()
    while (origin := get_origin(annotation)) in _INNER or origin is Annotated:
        found.add(origin)
        annotation = get_args(annotation)[0]
    return found
