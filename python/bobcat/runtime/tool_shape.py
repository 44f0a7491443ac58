"""The shape of a tool in a run's binding: its effect and its parameters, so that a compatible change is recognised.

A run that is resumed under a later release of its app keeps the calls that it has made. A tool is compatible when each
of them means the same to it: no effect, no known parameter and no default differs. Parameters that a call may leave out
can be added, and a required one may become optional.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, TypeGuard

from bobcat.model.run import ToolDef
from bobcat.text.json_text import json_text
from bobcat.tools.schema import tooldef_to_json_schema

_BOUND = "__bobcat_bound__"
_DIGITS = 32
_SHORT = 16
REQUIRED = "!"
"""Suffix of the digest of a required parameter."""

Shape = Sequence[Any]  # Any: JSON: the effect, the digest of everything but the parameters, a digest by parameter


class BoundTool(NamedTuple):
    """A tool in a binding: the digest of all of it, and its shape; None where its schema cannot be built."""

    digest: str
    shape: Shape | None


def digest_of(value: object, digits: int = _DIGITS) -> str:
    """The digest of a JSON value."""
    return sha256(json_text(value).encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def bound_tool(tool: ToolDef) -> BoundTool:
    """Digest the name, the arguments, the effect, and the definition of an externally defined tool.

    PERF: building a schema takes 50 µs, so the result is cached on the function.
    """
    effect, defined = tool.metadata.effect, tool.definition
    key = (tool.fn, tool.name, effect, defined)
    cached = getattr(tool.fn, "__dict__", {}).get(_BOUND)
    if isinstance(cached, tuple) and cached[0] == key:
        bound: BoundTool = cached[1]
        return bound
    schema: Mapping[str, Any] | None
    try:
        schema = tooldef_to_json_schema(tool)
    except Exception:  # an annotation can be any object
        schema = None
    digest = digest_of([tool.name, effect, schema, *([defined] if defined else [])])
    bound = BoundTool(digest, None if schema is None else _shape(effect, defined, schema))
    try:
        setattr(tool.fn, _BOUND, (key, bound))
    except (AttributeError, TypeError):  # some callables take no attributes
        return bound
    return bound


def is_compatible(known: object, current: object) -> bool:
    """Return true if every call that fits the `known` shape means the same to a tool of the `current` one."""
    if not (_is_shape(known) and _is_shape(current)):
        return False
    if list(known[:2]) != list(current[:2]):  # the effect, and all but the parameters
        return False
    parameters, parameters_now = known[2], current[2]
    for name in {*parameters, *parameters_now}:
        before, now = parameters.get(name), parameters_now.get(name)
        if before is None:
            if now.endswith(REQUIRED):
                return False
        elif now not in (before, before.removesuffix(REQUIRED)):
            return False
    return True


def _is_shape(value: object) -> TypeGuard[Shape]:
    return (
        isinstance(value, list | tuple)
        and len(value) == 3
        and isinstance(value[2], Mapping)
        and all(isinstance(digest, str) for digest in value[2].values())
    )


def _shape(effect: str, defined: str, schema: Mapping[str, Any]) -> Shape:
    """The shape of a tool with this schema. A parameter's digest covers the definitions that it refers to."""
    properties: Mapping[str, object] = schema.get("properties", {})
    required, shared = schema.get("required", ()), schema.get("$defs")
    rest = {name: value for name, value in schema.items() if name not in ("properties", "required", "$defs")}
    parameters = {}
    for name, value in properties.items():
        refers = shared is not None and '"$ref"' in json_text(value)
        digest = digest_of([value, shared] if refers else [value], _SHORT)
        parameters[name] = digest + (REQUIRED if name in required else "")
    return [effect, digest_of([rest, defined], _SHORT), parameters]
