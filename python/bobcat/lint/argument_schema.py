"""Queries on the JSON Schema of a tool's arguments: the possible values at a path.

An unconstrained part of a schema is `OPEN`: no conclusion is drawn from it. Undeclared arguments are not accepted,
unless the schema allows additional properties.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from bobcat.ir.schema import Const
from bobcat.ir.visit import refs
from bobcat.language.facets import IR_OPERATORS
from bobcat.language.kinds import OperandForm
from bobcat.language.operators import OperatorSpec
from bobcat.lint.evaluate import holds

Schema: TypeAlias = Mapping[str, Any]  # Any: JSON Schema
OPEN: Schema = {}


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """A tool: the JSON Schema of its arguments, and its metadata, by the names of `declared`."""

    name: str
    schema: Schema
    declared: Mapping[str, Any]  # Any: JSON

    def takes(self, args: Mapping[str, Any]) -> bool:  # Any: JSON
        """Return true if the tool accepts each of some arguments with its type."""
        return all(can_hold(at_path(self.schema, (name,)), "eq", value) for name, value in args.items())


Tools: TypeAlias = Mapping[str, ToolFacts]

_MAX_DEPTH = 20
_KINDS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "a bool",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}
_TEXT = ("string",)
_NUMBER = ("integer", "number")


def at_path(root: Schema, path: Sequence[str]) -> tuple[Schema, ...]:
    """Return the schemas of which one holds for the value at a path; empty if no call has a value there."""
    found = tuple(_alternatives(root, root, 0))
    for depth, step in enumerate(path):
        found = tuple(
            below
            for schema in found
            for inner in _below(schema, step, depth)
            for below in _alternatives(inner, root, 0)
        )
    return found


def names(root: Schema) -> list[str]:
    """Return the arguments that a schema declares."""
    return sorted({name for schema in _alternatives(root, root, 0) for name in schema.get("properties", ())})


def kinds(schemas: Sequence[Schema]) -> set[str] | None:
    """Return the JSON types that some schemas allow; None if a schema allows any type."""
    found: set[str] = set()
    for schema in schemas:
        allowed = _types(schema)
        if allowed is None:
            return None
        found |= allowed
    return found


def described(schemas: Sequence[Schema]) -> str:
    """Describe the values that some schemas allow, for a diagnostic."""
    values = [value for schema in schemas for value in _values(schema) or ()]
    if values and all(_values(schema) is not None for schema in schemas):
        return "one of " + ", ".join(f"`{value}`" for value in values[:12])
    return " or ".join(_KINDS.get(kind, kind) for kind in sorted(kinds(schemas) or {"object"}))


def can_hold(schemas: Sequence[Schema], op: str, operand: Const) -> bool:
    """Return true if a test can be true for a value that one of some schemas allows."""
    return any(_can_hold(schema, op, operand) for schema in schemas)


def _can_hold(schema: Schema, op: str, operand: Const) -> bool:
    row = IR_OPERATORS[op]
    if row.path_only or any(refs(operand)) or any(_reads_sources(operand)):
        return True
    values = _values(schema)
    if values is not None:
        return any(holds(op, operand, value) for value in values)
    types = _types(schema)
    if types is None:
        return True
    if row.anchors == "both":
        wanted = operand if row.operand is OperandForm.SCALARS else [operand]
        return any(_type_of(item) in types | ({"integer"} if "number" in types else set()) for item in wanted)
    if row.operand in (OperandForm.BOUND, OperandForm.BOUNDS):
        bounds = operand if isinstance(operand, list) else [operand]
        return not types.isdisjoint(_TEXT if isinstance(bounds[0], str) else _NUMBER) and _within(schema, row, operand)
    return row.types is None or not types.isdisjoint(row.types)


def _reads_sources(operand: Const) -> Iterator[bool]:
    """Yield true for each operand of `from`: the state of a run decides."""
    if isinstance(operand, dict):
        yield from [True] if "sources" in operand else []
        for item in operand.get("tests", ()):
            yield from _reads_sources(item["operand"])


def _within(schema: Schema, row: OperatorSpec, operand: Const) -> bool:
    least, most = schema.get("minimum"), schema.get("maximum")
    bounds = operand if isinstance(operand, list) else [operand]
    if row.interval is None or any(isinstance(bound, str | bool | dict) for bound in (*bounds, least, most)):
        return True
    low, high = row.interval(operand)
    return (low is None or most is None or (most, 0) >= low) and (high is None or least is None or (least, 0) <= high)


def _alternatives(schema: Any, root: Schema, depth: int) -> Iterator[Schema]:  # Any: JSON Schema
    """Expand `$ref`, `anyOf`, `oneOf` and `allOf` of a schema into plain alternatives."""
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        yield OPEN
        return
    reference = schema.get("$ref")
    if isinstance(reference, str):
        yield from _alternatives(_resolved(root, reference), root, depth + 1)
        return
    for word in ("anyOf", "oneOf"):
        if isinstance(schema.get(word), list):
            for item in schema[word]:
                yield from _alternatives(item, root, depth + 1)
            return
    if isinstance(schema.get("allOf"), list):
        merged: dict[str, Any] = {name: value for name, value in schema.items() if name != "allOf"}
        for item in schema["allOf"]:
            for part in _alternatives(item, root, depth + 1):
                properties = {**merged.get("properties", {}), **part.get("properties", {})}
                merged = {**merged, **part, **({"properties": properties} if properties else {})}
        yield merged
        return
    yield schema


def _resolved(root: Schema, reference: str) -> Any:  # Any: JSON Schema
    here: Any = root
    for step in reference.removeprefix("#").split("/")[1:]:
        here = here.get(step) if isinstance(here, Mapping) else None
    return here if reference.startswith("#") else None


def _below(schema: Schema, step: str, depth: int) -> Iterator[Any]:  # Any: JSON Schema
    types = _types(schema)
    if types is not None and "object" not in types:
        return
    properties = schema.get("properties", {})
    more = schema.get("additionalProperties", not (depth == 0 and properties))
    if step in properties:
        yield properties[step]
    elif isinstance(more, Mapping):
        yield more
    elif more or "patternProperties" in schema:
        yield OPEN


def _values(schema: Schema) -> list[Any] | None:  # Any: JSON
    if "const" in schema:
        return [schema["const"]]
    found = schema.get("enum")
    return found if isinstance(found, list) else None


def _types(schema: Schema) -> set[str] | None:
    values = _values(schema)
    if values is not None:
        return {_type_of(value) for value in values}
    found = schema.get("type")
    if isinstance(found, str):
        return {found}
    if isinstance(found, list):
        return set(found)
    return {"object"} if "properties" in schema else None


def _type_of(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
