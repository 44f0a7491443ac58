"""JSON Schema of the `obligations` of a rule."""

from __future__ import annotations

from typing import Any

from bobcat.frontend.strict.memory import BY
from bobcat.frontend.strict.obligations import HOLDING as HOLDING
from bobcat.frontend.strict.obligations import MAX_OBLIGATIONS, MAX_RATE, NAME, PHASES

Schema = dict[str, Any]  # Any: JSON
_REDACTED: Schema = {"type": "string", "pattern": "^(args|result)"}


def obligations_schema() -> Schema:
    """Return the schema of the list."""
    limit: Schema = {
        "type": "object",
        "additionalProperties": False,
        "required": ["max"],
        "properties": {
            "max": {"type": "integer", "minimum": 0, "maximum": MAX_RATE},
            "within": {"type": ["string", "number"], "description": "a window such as `1h`"},
            "by": {"enum": list(BY)},
        },
    }
    item: Schema = {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 2,
        "propertyNames": {"pattern": f"^{NAME}$"},
        "properties": {
            "phase": {"enum": list(PHASES)},
            "redact": {"anyOf": [_REDACTED, {"type": "array", "items": _REDACTED, "minItems": 1}]},
            "tag": {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": {"type": ["string", "integer", "boolean"]},
            },
            "notify": {"type": "string", "minLength": 1},
            "require_reason": {"anyOf": [{"const": True}, {"type": "string", "pattern": "^(args|context[.]extra)"}]},
            "rate_limit": limit,
        },
    }
    return {"type": "array", "minItems": 1, "maxItems": MAX_OBLIGATIONS, "items": item}
