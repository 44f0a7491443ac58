"""The JSON Schemas of `include` and `vars`, and of references to variables; part of that of the policy language."""

from __future__ import annotations

from typing import Any

from bobcat.frontend.strict.includes import PREFIX
from bobcat.frontend.strict.variables import NAME

# Any: JSON.
Schema = dict[str, Any]

VARIABLE: Schema = {"type": "string", "pattern": r"^\$\{[^{}]+\}$", "description": "the value of a variable"}
_REFERENCE: Schema = {"$ref": "#/$defs/variable"}
_NESTED = ("properties", "patternProperties")


def include_schema() -> Schema:
    """Return the schema of `include`."""
    file = {"type": "string", "minLength": 1, "description": "a path from the directory of this file"}
    properties = {
        "file": file,
        "prefix": {"type": "string", "pattern": f"^{PREFIX.pattern}$", "description": "begins the names of the file"},
    }
    named = {"type": "object", "properties": properties, "required": ["file"], "additionalProperties": False}
    return {
        "type": "array",
        "items": {"anyOf": [file, named]},
        "description": "files whose definitions and rules come before those of this one",
    }


def variables_schema() -> Schema:
    """Return the schema of `vars`."""
    scalar: Schema = {"type": ["string", "number", "boolean"]}
    return {
        "type": "object",
        "propertyNames": {"pattern": f"^{NAME.pattern}$"},
        "additionalProperties": {"anyOf": [scalar, {"type": "array", "items": scalar}]},
        "description": "names for values; `${name}` stands for the value",
    }


def with_references(schema: Any) -> Any:  # Any: a schema, which may be a bool
    """Return a schema that also takes a reference to a variable in place of each scalar and each list."""
    if not isinstance(schema, dict) or not schema or "$ref" in schema:
        return schema
    made = dict(schema)
    for key in _NESTED:
        if key in made:
            made[key] = {name: with_references(item) for name, item in made[key].items()}
    for key in ("items", "additionalProperties"):
        if key in made:
            made[key] = with_references(made[key])
    if "anyOf" in made:
        made["anyOf"] = [with_references(item) for item in made["anyOf"]]
    return made if _takes_references(made) else {"anyOf": [made, _REFERENCE]}


def _takes_references(schema: Schema) -> bool:
    """Return true if a reference is valid already, or the value is a mapping, which no variable is."""
    if "anyOf" in schema:
        return any(item == {} or (isinstance(item, dict) and _takes_text(item)) for item in schema["anyOf"])
    return _takes_text(schema) or schema.get("type") == "object" or not schema.keys() & {"type", "enum", "const"}


def _takes_text(schema: Schema) -> bool:
    if "anyOf" in schema:
        return any(_takes_text(item) for item in schema["anyOf"] if isinstance(item, dict))
    types = schema.get("type")
    text = types == "string" or (isinstance(types, list) and "string" in types)
    return schema == _REFERENCE or (text and not schema.keys() & {"pattern", "enum", "const"})
