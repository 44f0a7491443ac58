"""The JSON Schema of resources and capabilities, for editors; part of that of the policy language."""

from __future__ import annotations

from typing import Any

from bobcat.frontend.strict.capability_actions import ACTIONS, RULE_KEYS
from bobcat.frontend.strict.resources import KINDS

# Any: JSON.
Schema = dict[str, Any]

_TEXT: Schema = {"type": "string", "minLength": 1}
_TEXTS: Schema = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]}
_LIMITS: dict[str, Schema] = {
    "resource": {**_TEXTS, "description": "`NAME:PATTERN`, a directory, or a URL: `ws:out/**`"},
    "max_bytes": {
        "anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]+( ?([kKMG]i?)?B)?$"}]
    },
    "program": _TEXTS,
    "argv": {
        "anyOf": [{"type": "object", "minProperties": 1}, {"type": "array"}],
        "description": "operators of the list of arguments: `first.in`; or all arguments",
    },
    "timeout_seconds": {"type": "number", "minimum": 0},
    "methods": {
        "anyOf": [{"type": "string", "pattern": "^[A-Z]+$"}, {"type": "array", "items": {"pattern": "^[A-Z]+$"}}]
    },
    "redirects": {"enum": ["none", "judged"], "default": "none"},
    "server": _TEXTS,
    "tools": _TEXTS,
    "database": _TEXTS,
    "statements": _TEXTS,
    "max_rows": {"type": "integer", "minimum": 0},
}


def resource_schema() -> Schema:
    """Return the schema of one resource."""
    kinds = [
        {
            "properties": {"kind": {"const": kind}, key: {"type": "string"}, "description": {"type": "string"}},
            "required": ["kind", key],
            "additionalProperties": False,
        }
        for kind, key in KINDS.items()
    ]
    return {"type": "object", "oneOf": kinds}


def capability_schema(of_rules: dict[str, Schema]) -> Schema:
    """Return the schema of one capability, from those of the keys of a rule."""
    passed = {key: of_rules[rule] for key, rule in RULE_KEYS.items() if rule in of_rules}
    limits = {key: _LIMITS[key] for action in ACTIONS.values() for key in action.keys}
    actions = {"enum": list(ACTIONS)}
    return {
        "type": "object",
        "properties": {
            "action": {"anyOf": [actions, {"type": "array", "items": actions, "minItems": 1}]},
            **passed,
            **limits,
        },
        "required": ["action"],
        "additionalProperties": False,
        "allOf": [
            {
                "if": {"properties": {"action": {"const": name}}},
                "then": {
                    "properties": dict.fromkeys(sorted(limits.keys() - set(action.keys)), False),
                    "required": list(action.required),
                },
            }
            for name, action in ACTIONS.items()
        ],
    }
