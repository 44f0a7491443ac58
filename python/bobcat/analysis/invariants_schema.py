"""The JSON Schema (2020-12) of files of invariants, for editors. The reader checks more, and does not use it."""

from __future__ import annotations

from typing import Any

from bobcat.analysis import invariant_keys as keys
from bobcat.analysis.model import ORDER
from bobcat.frontend.strict.json_schema import policy_schema

Schema = dict[str, Any]  # Any: JSON

_TEXT: Schema = {"type": "string"}
_MATCH: Schema = {"$ref": "#/$defs/match"}
_VERDICT: Schema = {"enum": list(ORDER)}
_VERDICTS: Schema = {"anyOf": [_VERDICT, {"type": "array", "items": _VERDICT, "minItems": 1}]}


def invariants_schema() -> Schema:
    """Return the schema as a new dict."""
    policy = policy_schema()
    properties: Schema = {
        "id": _TEXT,
        "reason": {**_TEXT, "description": "shown where the invariant does not hold"},
        "never": {**_MATCH, "description": "no call that matches gets one of the verdicts"},
        "only_if": {
            **_closed({"match": _MATCH, "when": _MATCH}, "when"),
            "description": "a call that matches gets one of the verdicts only if `when` is true",
        },
        "always": {
            **_closed({"match": _MATCH, "verdict": _VERDICTS}, "match", "verdict"),
            "description": "every call that matches gets the verdict",
        },
        "within": {**_TEXT, "description": "the path of a policy; no call is permitted more than it permits"},
        "verdicts": {**_VERDICTS, "description": "of `never` and `only_if`; `allow` and `transform` by default"},
    }
    invariant = _closed({key: properties[key] for key in keys.INVARIANT}, "id")
    document: Schema = {
        "predicates": {"type": "object", "additionalProperties": _MATCH, "description": "names for matches"},
        "invariants": {"type": "array", "items": {"$ref": "#/$defs/invariant"}},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Bobcat invariants",
        **_closed({key: document[key] for key in keys.DOCUMENT}, "invariants"),
        "$defs": {
            **policy["$defs"],
            "invariant": {
                **invariant,
                "oneOf": [{"required": [claim]} for claim in keys.CLAIMS],
                "not": {"required": ["verdicts"], "anyOf": [{"required": ["always"]}, {"required": ["within"]}]},
            },
        },
    }


def _closed(properties: Schema, *required: str) -> Schema:
    found: Schema = {"type": "object", "additionalProperties": False, "properties": properties}
    return found | ({"required": list(required)} if required else {})
