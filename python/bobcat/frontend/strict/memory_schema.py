"""The JSON Schema of sources and of conditions that read the run, for editors; part of that of the policy language."""

from __future__ import annotations

from typing import Any

from bobcat.frontend.strict.formulas import KEYS, TEMPORAL
from bobcat.frontend.strict.memory import BY
from bobcat.frontend.strict.run_keys import WITH_THIS
from bobcat.frontend.strict.sources import NAME, RESERVED

# Any: JSON.
Schema = dict[str, Any]

_TEXTS: Schema = {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1}
NAMES_OF_SOURCES: Schema = {
    "anyOf": [{"type": "string", "minLength": 1}, _TEXTS],
    "description": "names of sources; `task` is the user's own text",
}
_DURATION: Schema = {
    "anyOf": [{"type": "string", "pattern": "^[0-9]+[smhd]$"}, {"type": "number", "exclusiveMinimum": 0}],
    "description": "`90s`, `15m`, `1h`, `2d`, or a number of seconds",
}
_FORMULA: Schema = {"$ref": "#/$defs/formula"}
_FORMULAS: Schema = {"type": "array", "items": _FORMULA, "minItems": 1}


def sources_schema(match: Schema) -> Schema:
    """Return the schema of `sources`; `match` is that of the entries of a match."""
    options: Schema = {
        "fields": {**_TEXTS, "description": "the fields of a record whose values count"},
        "links_in": {**_TEXTS, "description": "the fields of a record in whose texts links count"},
        "where": {"type": ["object", "string"], "description": "a test of each record: `{filename.eq: a.txt}`"},
        "asked_with": NAMES_OF_SOURCES,
        "description": {"type": "string"},
    }
    source = {
        "type": "object",
        "properties": {**match["properties"], **options},
        "patternProperties": match["patternProperties"],
        "additionalProperties": False,
        "oneOf": [{"required": ["fields"]}, {"required": ["links_in"]}],
    }
    names = {"pattern": f"^(?!(?:{'|'.join(RESERVED)})$){NAME.pattern}$"}
    return {"type": "object", "propertyNames": names, "additionalProperties": source}


def run_schemas(match: Schema, tests: Schema, steps: str, name: str) -> tuple[Schema, Schema]:
    """Return the properties and pattern properties of keys that read the run.

    `tests` has the schema of each operator of a measure; `steps` and `name` are patterns of a step of a key, and of one
    that is no operator.
    """
    measured = _measured(tests, {})
    options: dict[str, Schema] = {"of": match, "field": {"type": "string", "minLength": 1}}
    properties: Schema = {
        "run.count": {**_measured(tests, {"of": match}), "required": ["of"]},
        "run.sum": {**_measured(tests, options), "required": list(options)},
        "run.after": match,
        "run.last": match,
        "run.formerly": {"$ref": "#/$defs/formula_within"},
        "run.previous": {"$ref": "#/$defs/formula_within"},
        "run.since": _since("holds", "start", {"within": _DURATION}),
        "run.never": _since("event", "since", {}),
    }
    patterns: Schema = {}
    for key in (rf"run\.count(?:{name})", rf"run\.sum(?:{steps})+(?:{name})"):
        patterns |= {rf"^{key}(?:\.{WITH_THIS})?\.{op}$": schema for op, schema in tests.items()}
        patterns[rf"^{key}(?:\.{WITH_THIS})?$"] = {"anyOf": [{"type": "number"}, measured]}
    return properties, patterns


def formula_schemas(match: Schema) -> dict[str, Schema]:
    """Return the definitions of formulas, by name."""
    operands: Schema = {
        "call": match,
        "result": {"type": ["object", "string"], "description": "a match; `result` is the result of the call"},
        "not": _FORMULA,
        "all_of": _FORMULAS,
        "any_of": _FORMULAS,
        "previous": {"$ref": "#/$defs/formula_within"},
        "formerly": {"$ref": "#/$defs/formula_within"},
        "since": _since("holds", "start", {"within": _DURATION}),
        "never": _since("event", "since", {}),
    }
    one = [{"required": [key]} for key in KEYS]
    windowed = {"anyOf": [{"required": [key]} for key in TEMPORAL if key != "never"]}
    formula = {
        "type": "object",
        "properties": {**operands, "within": _DURATION},
        "additionalProperties": False,
        "oneOf": one,
    }
    return {
        "formula": {**formula, "if": {"required": ["within"]}, "then": windowed},
        "formula_within": formula,
    }


def _measured(tests: Schema, options: Schema) -> Schema:
    inner = {"type": "object", "properties": tests, "additionalProperties": False, "minProperties": 1}
    return {
        "type": "object",
        "properties": {**tests, WITH_THIS: inner, "within": _DURATION, "by": {"enum": list(BY)}, **options},
        "additionalProperties": False,
        "anyOf": [{"required": [name]} for name in (*tests, WITH_THIS)],
    }


def _since(first: str, second: str, more: Schema) -> Schema:
    return {
        "type": "object",
        "properties": {first: _FORMULA, second: _FORMULA, **more},
        "required": [first, second],
        "additionalProperties": False,
    }
