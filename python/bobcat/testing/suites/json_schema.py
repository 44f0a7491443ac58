"""The JSON Schema (2020-12) of suites, for editors. The reader checks more than a schema can, and does not use it."""

from __future__ import annotations

from typing import Any, get_args

from bobcat.frontend.strict.rules import VERDICTS
from bobcat.ir.schema import Profile
from bobcat.model.request_json import CONTEXT_KEYS, DECLARED_KEYS
from bobcat.testing.suites import keys

Schema = dict[str, Any]  # Any: JSON

_TEXT: Schema = {"type": "string"}
_NULLABLE: Schema = {"type": ["string", "null"]}
_OBJECT: Schema = {"type": "object"}
_PLACE: Schema = {"type": "string", "pattern": r"\$[A-Za-z_{]", "description": "a parameter of the table"}
_FLAG: Schema = {"type": "boolean"}
_DURATION: Schema = {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {**_TEXT, "pattern": "^[0-9]{1,12}[smhd]$"}]}

_DECLARED: Schema = {
    "cost": _TEXT, "reversible": _FLAG, "scope": {"type": "array", "items": _TEXT},
    "blast_radius_hint": {"type": ["integer", "null"]}, "has_shadow": _FLAG, "isolation": _NULLABLE, "effect": _TEXT,
}  # fmt: skip
_PRINCIPAL: Schema = {"kind": _TEXT, "id": _TEXT, "name": _NULLABLE}
_CONTEXT: Schema = {
    "environment": _TEXT, "workspace": _TEXT, "correlation_id": _TEXT, "step_seq": {"type": "integer"},
    "timestamp": {**_TEXT, "description": "RFC 3339 with an offset"}, "extra": _OBJECT, "task": _NULLABLE,
}  # fmt: skip


def suite_schema() -> Schema:
    """Return the schema as a new dict."""
    properties = {
        "policy": {
            **_TEXT,
            "description": "a source, a bundle or a module of rules, relative to this file",
        },
        "profile": {"enum": list(get_args(Profile)), "description": "the semantics of the policy"},
        "tools": {
            "anyOf": [
                {**_TEXT, "description": "`FILE.py`, `FILE.py:NAME` or `MODULE:NAME`: the tools of the calls"},
                {"type": "object", "additionalProperties": {"$ref": "#/$defs/declared"}},
            ]
        },
        "context": {"$ref": "#/$defs/context", "description": "the context of every request, below its own"},
        "cases": {"type": "array", "items": {"$ref": "#/$defs/case"}},
    }
    request = {key: _REQUEST[key] for key in keys.REQUEST}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Bobcat policy tests",
        **_closed({key: properties[key] for key in keys.SUITE}, "policy", "cases"),
        "$defs": {
            "case": _case(),
            "step": _step(),
            "expect": {**_closed({key: _EXPECT[key] for key in keys.EXPECT}), "minProperties": 1},
            "request": _closed({key: _or_place(schema) for key, schema in request.items()}, "tool"),
            "declared": _closed({key: _or_place(_DECLARED[key]) for key in DECLARED_KEYS}),
            "context": _closed({key: _or_place(_context()[key]) for key in CONTEXT_KEYS}),
        },
    }


def _closed(properties: Schema, *required: str) -> Schema:
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "properties": properties, "additionalProperties": False, **needed}


def _or_place(schema: Schema) -> Schema:
    """Return a schema that a parameter of a table satisfies, too."""
    return schema if schema.get("type") == "string" else {"anyOf": [schema, _PLACE]}


def _context() -> Schema:
    return {"principal": _closed({key: _or_place(item) for key, item in _PRINCIPAL.items()}), **_CONTEXT}


_REQUEST: Schema = {
    "tool": _TEXT,
    "args": _OBJECT,
    "declared": {"$ref": "#/$defs/declared"},
    "context": {"$ref": "#/$defs/context"},
}
_EXPECT: Schema = {
    "verdict": {"anyOf": [{"enum": list(VERDICTS)}, _PLACE]},
    "rule": {**_TEXT, "description": "the deciding rule, or `<default:on_no_match>`"},
    "reason_matches": {**_TEXT, "description": "an RE2 pattern, searched anywhere in the reason"},
    "args": {**_or_place(_OBJECT), "description": "the arguments with which the call runs"},
    "error": {**_NULLABLE, "description": "the code of an error of a rule; null: no error"},
    "approvers": {
        "anyOf": [{"type": "array", "items": _TEXT}, _PLACE],
        "description": "who may permit the call, in any order",
    },
}


def _case() -> Schema:
    row: Schema = {"anyOf": [{"type": "array"}, {"type": "object"}]}
    properties: Schema = {
        "name": {**_TEXT, "minLength": 1},
        "tags": {"type": "array", "items": _TEXT},
        "context": {"$ref": "#/$defs/context"},
        "parameters": {"type": "array", "items": {**_TEXT, "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}, "minItems": 1},
        "table": {"type": "array", "items": row, "minItems": 1, "description": "one test for each row"},
        "request": {"anyOf": [{"$ref": "#/$defs/request"}, _PLACE]},
        "expect": {"anyOf": [{"$ref": "#/$defs/expect"}, _PLACE]},
        "sequence": {"type": "array", "items": {"$ref": "#/$defs/step"}, "minItems": 1},
    }
    return {
        **_closed({key: properties[key] for key in keys.CASE}, "name"),
        "oneOf": [{"required": ["request"]}, {"required": ["sequence"]}],
        "dependentRequired": {"parameters": ["table"], "expect": ["request"]},
    }


def _step() -> Schema:
    properties: Schema = {
        "call": {"anyOf": [{"$ref": "#/$defs/request"}, _PLACE]},
        "expect": {"anyOf": [{"$ref": "#/$defs/expect"}, _PLACE]},
        "after": {**_or_place(_DURATION), "description": "the time since the step before"},
        "same_reply": {**_or_place(_FLAG), "description": "proposed in one reply with the step before"},
        "approved": {**_or_place(_FLAG), "description": "an approver permits the call"},
        "result": {"description": "what the tool returned"},
        "failed": {**_or_place(_FLAG), "description": "the tool failed"},
    }
    return {
        **_closed({key: properties[key] for key in keys.STEP}, "call"),
        "not": {"required": ["result", "failed"]},
    }
