"""JSON Schema of a tool's arguments, read off its signature: what a model is told it may pass.

Called by the adapters. A schema is a hint to a model and never a check: what runs is bound by `bobcat.tools.Signature`
and judged by the policy. What a signature does not say is left open (`{}`), not guessed.
"""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from inspect import Parameter
from types import SimpleNamespace
from typing import Any, Generic, TypeVar, get_type_hints

from bobcat.model import ToolDef
from bobcat.tools import ToolSet, given_parameters
from bobcat.type_schema import JsonSchema, Style, TypeSchemas, json_value

INPUT_SCHEMA = "__bobcat_input_schema__"
"""The attribute under which a function carries the schema of its arguments, when its signature does not tell."""

# Any: tools take and return what they like.
Fn = TypeVar("Fn", bound=Callable[..., Any])


def with_input_schema(fn: Fn, schema: Mapping[str, Any]) -> Fn:
    """Give a function that takes `**kwargs` for a remote tool the schema which that tool declares. Returns `fn`."""
    setattr(fn, INPUT_SCHEMA, {"type": "object", **schema})
    return fn


def tooldef_to_json_schema(td: ToolDef, *, style: Style = Style.STANDARD) -> JsonSchema:
    """The JSON Schema (draft 2020-12) of a tool's arguments: an object with one property per parameter.

    Every parameter that can be given by name is a property, with its default when JSON can hold it; those without a
    default are required. `**kwargs` makes the object open; `*args` cannot be given and is left out.
    """
    declared = getattr(td.fn, INPUT_SCHEMA, None)
    given = given_parameters(td)
    if isinstance(declared, Mapping):
        return _without(declared, given) if given else dict(declared)
    types = TypeSchemas(style)
    properties: JsonSchema = {}
    required: list[str] = []
    extra: bool | JsonSchema = False
    parameters, hints = _parameters(td.fn)
    for parameter in parameters:
        name = parameter.name
        annotation = hints.get(name, Parameter.empty)
        if parameter.kind is Parameter.VAR_KEYWORD:
            extra = types.of(annotation) or True
        if parameter.kind not in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY) or name in given:
            continue
        if style is Style.LYNX and (name in ("self", "cls") or name.startswith("_")):
            continue
        properties[name] = types.of(annotation)
        if parameter.default is Parameter.empty:
            required.append(name)
        elif style is Style.STANDARD:
            known, value = json_value(parameter.default)
            if known:
                properties[name] = {**properties[name], "default": value}
    schema: JsonSchema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if style is Style.STANDARD:
        schema["additionalProperties"] = extra
    if types.definitions:
        schema["$defs"] = dict(types.definitions)
    return schema


def _without(schema: Mapping[str, Any], names: frozenset[str]) -> JsonSchema:
    """A declared schema without the parameters that the run gives. Any: JSON."""
    found = dict(schema)
    properties, required = found.get("properties"), found.get("required")
    if isinstance(properties, Mapping):
        found["properties"] = {name: kind for name, kind in properties.items() if name not in names}
    if isinstance(required, (list, tuple)):
        found["required"] = [name for name in required if name not in names]
    return found


def toolset_to_anthropic_tools(tools: ToolSet, *, style: Style = Style.STANDARD) -> list[JsonSchema]:
    """The tools in the shape of Anthropic's Messages API, in the set's order."""
    return [
        {"name": td.name, "description": _description(td), "input_schema": tooldef_to_json_schema(td, style=style)}
        for td in tools.tools.values()
    ]


def toolset_to_openai_tools(tools: ToolSet, *, style: Style = Style.STANDARD) -> list[JsonSchema]:
    """The tools in the shape of OpenAI's Chat Completions API, in the set's order."""
    return [
        {
            "type": "function",
            "function": {
                "name": td.name,
                "description": _description(td),
                "parameters": tooldef_to_json_schema(td, style=style),
            },
        }
        for td in tools.tools.values()
    ]


def _description(td: ToolDef) -> str:
    return td.description or f"Tool {td.name}"


# Any: annotations are values of any kind.
def _parameters(fn: Callable[..., Any]) -> tuple[list[Parameter], dict[str, Any]]:
    """What `fn` really takes, and the types of it. A wrapper that passes `**kwargs` on takes what the wrapped takes."""
    try:
        actual = inspect.signature(fn, follow_wrapped=False)
        is_open = any(p.kind is Parameter.VAR_KEYWORD for p in actual.parameters.values())
        wrapped = inspect.unwrap(fn) if is_open else fn
        found = inspect.signature(wrapped) if wrapped is not fn else actual
    except (TypeError, ValueError):  # no readable signature: it takes whatever it is given
        return [Parameter("kwargs", Parameter.VAR_KEYWORD)], {}
    parameters = list(found.parameters.values())
    return parameters, _hints(wrapped, parameters)


def _hints(fn: Callable[..., Any], parameters: list[Parameter]) -> dict[str, Any]:
    """The annotations as types; one whose names cannot be resolved is left out, and costs no other its type."""
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
            continue
        alone = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
        try:
            hints.update(get_type_hints(alone, globalns=names, include_extras=True))
        except Exception:  # an annotation can be any expression
            continue
    return hints


def _named_class(annotation: object, names: Mapping[str, Any]) -> type | None:
    """The class that an annotation is, or is the name of. PERF: what `get_type_hints` would say 8 µs later."""
    if isinstance(annotation, str):
        annotation = names.get(annotation, vars(builtins).get(annotation))
    return annotation if type(annotation) is type and annotation is not Generic else None


__all__ = [
    "INPUT_SCHEMA",
    "Style",
    "tooldef_to_json_schema",
    "toolset_to_anthropic_tools",
    "toolset_to_openai_tools",
    "with_input_schema",
]
