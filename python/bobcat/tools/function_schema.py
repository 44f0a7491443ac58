"""JSON Schema of a function's parameters, from its signature: for models and for the check of calls.

Called by `bobcat.tools.schema`, which shows it to models, and by `bobcat.tools.signature`, which checks calls by it.
Parts that a signature leaves open, and annotations that cannot be resolved, become `{}`: nothing is guessed.
"""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Collection, Mapping
from functools import partial
from inspect import Parameter
from typing import Any, Generic, TypeVar, Unpack, get_args, get_origin

from bobcat.model.run import INPUT_SCHEMA
from bobcat.tools.schema_check import Compiler, SchemaError, Work
from bobcat.tools.type_schema import JsonSchema, Style, TypeSchemas, hint_of, json_value

_NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)

# Any: arguments and results of tools have any type.
Fn = TypeVar("Fn", bound=Callable[..., Any])


def with_input_schema(fn: Fn, schema: Mapping[str, Any]) -> Fn:
    """Declare the schema of a function that takes `**kwargs`: models see it, and calls are checked by it.

    Returns `fn`.
    """
    setattr(fn, INPUT_SCHEMA, {"type": "object", **schema})
    return fn


def function_schema(
    fn: Callable[..., Any],
    *,
    given: Collection[str] = (),
    opaque: Collection[str] = (),
    style: Style = Style.STANDARD,
    python: bool = False,
) -> JsonSchema:
    """The JSON Schema (draft 2020-12) of a call's arguments: an object with one property per parameter.

    Every parameter that can be given by name is a property, with its default when JSON can represent it; those without
    a default are required. A default is allowed even if its annotation excludes it: `text: str = None` is a string or
    null. `**kwargs` makes the object open; `*args` cannot be given and is left out, and so are the names in `given`,
    which the run supplies. Those in `opaque` may be anything. With `python` it is the schema for the check of exact
    values, which names `bytes` too.
    """
    declared = getattr(fn, INPUT_SCHEMA, None)
    if isinstance(declared, Mapping):
        return _without(declared, given, opaque) if given or opaque else dict(declared)
    types = TypeSchemas(style, python=python)
    properties: JsonSchema = {}
    required: list[str] = []
    defaults: dict[str, Any] = {}
    extra: bool | JsonSchema = False
    parameters, hints = _parameters(fn)
    for parameter in parameters:
        name = parameter.name
        annotation = hints.get(name, Parameter.empty)
        if parameter.kind is Parameter.VAR_KEYWORD and get_origin(annotation) is Unpack:
            members = _members(types, annotation)
            extra = not members
            properties |= members.get("properties", {})
            required += members.get("required", [])
        elif parameter.kind is Parameter.VAR_KEYWORD:
            extra = types.of(annotation) or True
        if parameter.kind not in _NAMED or name in given:
            continue
        if style is Style.LYNX and (name in ("self", "cls") or name.startswith("_")):
            continue
        properties[name] = {} if name in opaque else types.of(annotation)
        if parameter.default is Parameter.empty:
            required.append(name)
        elif style is Style.STANDARD and name not in opaque:
            known, value = json_value(parameter.default)
            if known:
                defaults[name] = value
    schema: JsonSchema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if style is Style.STANDARD:
        schema["additionalProperties"] = extra
    if types.definitions:
        schema["$defs"] = dict(types.definitions)
    _add_defaults(schema, defaults)
    return schema


def _members(types: TypeSchemas, annotation: Any) -> JsonSchema:
    """The schema of the `TypedDict` in `**kwargs: Unpack[...]`; empty for any other annotation."""
    schema = types.of(get_args(annotation)[0])
    if "$ref" in schema:
        schema = types.definitions[schema["$ref"].rpartition("/")[2]]
    return schema if "properties" in schema else {}


def _add_defaults(schema: JsonSchema, defaults: Mapping[str, Any]) -> None:
    properties = schema["properties"]
    compiler = Compiler(schema, python=True) if defaults else None
    for name, value in defaults.items():
        allowed = properties[name]
        try:
            fits = compiler is None or compiler.compile(allowed).test(value, Work(value)) is None
        except SchemaError:  # the check of a call reports it
            fits = True
        if not fits:
            allowed = {"anyOf": [allowed, {"type": "null"} if value is None else {"enum": [value]}]}
        properties[name] = {**allowed, "default": value}


def _without(schema: Mapping[str, Any], names: Collection[str], opaque: Collection[str]) -> JsonSchema:
    """A declared schema without the parameters that the run supplies, and open for opaque ones. Any: JSON."""
    found = dict(schema)
    properties, required = found.get("properties"), found.get("required")
    if isinstance(properties, Mapping):
        kept = {name: kind for name, kind in properties.items() if name not in names}
        found["properties"] = {**kept, **{name: {} for name in opaque}}
    if isinstance(required, (list, tuple)):
        found["required"] = [name for name in required if name not in names]
    return found


# Any: annotations are values of any kind.
def _parameters(fn: Callable[..., Any]) -> tuple[list[Parameter], dict[str, Any]]:
    """The parameters of a call, and their types.

    A wrapper that passes `**kwargs` on takes the parameters of the wrapped function, and its own.
    """
    try:
        actual = inspect.signature(fn, follow_wrapped=False)
        is_open = any(p.kind is Parameter.VAR_KEYWORD for p in actual.parameters.values())
        wrapped = inspect.unwrap(fn) if is_open else fn
        found = inspect.signature(wrapped) if wrapped is not fn else actual
    except (TypeError, ValueError):  # no readable signature: it accepts any arguments
        return [Parameter("kwargs", Parameter.VAR_KEYWORD)], {}
    parameters = list(found.parameters.values())
    hints = _hints(wrapped, parameters)
    if wrapped is not fn:
        parameters += [p for name, p in actual.parameters.items() if p.kind in _NAMED and name not in found.parameters]
    return parameters, hints


def _hints(fn: Callable[..., Any], parameters: list[Parameter]) -> dict[str, Any]:
    """The annotations as types. An unresolvable one is left out without affecting the others."""
    while isinstance(fn, partial):
        fn = fn.func
    plain = inspect.isfunction(fn) or inspect.ismethod(fn)
    function: Any = getattr(fn, "__func__", fn) if plain else vars(type(fn)).get("__call__", fn)
    names: dict[str, Any] = dict(getattr(function, "__globals__", {}))
    code, closure = getattr(function, "__code__", None), getattr(function, "__closure__", None) or ()
    for name, cell in zip(getattr(code, "co_freevars", ()), closure, strict=False):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # the variable is not assigned yet
            continue
    hints: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.annotation is Parameter.empty:
            continue
        plain_class = _named_class(parameter.annotation, names)
        if plain_class is not None:
            hints[parameter.name] = plain_class
        else:
            hints |= hint_of(parameter.name, parameter.annotation, names)
    return hints


def _named_class(annotation: object, names: Mapping[str, Any]) -> type | None:
    """The class that an annotation is or names. PERF: the result of `get_type_hints`, 8 µs faster."""
    if isinstance(annotation, str):
        annotation = names.get(annotation, vars(builtins).get(annotation))
    return annotation if type(annotation) is type and annotation is not Generic else None
