"""Conversion of constants between Python values and the `Const` form of the schema.

The front ends call `to_const` on the author's values; `from_const` returns the Python value of a constant.
JSON values represent themselves; other values are one-key mappings (see `bobcat.ir.schema`).
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, assert_never

from bobcat.ir.canonical import EncodingError, encode_value
from bobcat.ir.schema import Const, Profile

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PLAIN = frozenset({str, int, bool, type(None)})
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def to_const(value: Any, profile: Profile = "strict") -> Const:  # Any: whatever an author wrote
    """Return `value` as a constant; a copy, never an alias of the caller's lists and mappings.

    The strict profile accepts JSON values only. `lynx` also accepts YAML 1.1 values. Raises `EncodingError`.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is float and math.isfinite(value):
        return value
    if kind is list:
        return [to_const(item, profile) for item in value]
    if isinstance(value, Mapping) and all(type(key) is str for key in value):
        return {"map": {key: to_const(item, profile) for key, item in value.items()}}
    if profile == "lynx":
        return _exotic(value)
    if profile == "strict":
        raise EncodingError(f"{_described(value)} has no JSON form")
    assert_never(profile)


def from_const(value: Const) -> Any:  # Any: the union of everything a constant can be
    """Return the Python value of a constant."""
    if type(value) is list:
        return [from_const(item) for item in value]
    if type(value) is not dict:
        return value
    if len(value) != 1:
        raise EncodingError("a tagged constant has exactly one key")
    ((tag, body),) = value.items()
    match tag:
        case "ref" | "tests" | "places":
            raise EncodingError(f"`{tag}` is an operand, not a constant")
        case "map":
            return {key: from_const(item) for key, item in body.items()}
        case "float":
            return _FLOATS[body]
        case "timestamp":
            return _EPOCH + timedelta(microseconds=body)
        case "date":
            return date.fromisoformat(body)
        case "datetime":
            return datetime.fromisoformat(body)
        case "bytes":
            return base64.b64decode(body, validate=True)
        case "set":
            return {from_const(item) for item in body}
        case "tuple":
            return tuple(from_const(item) for item in body)
        case "pairs":
            return {from_const(key): from_const(item) for key, item in body}
        case _:
            raise EncodingError(f"`{tag}` is not a tag of a constant")


def _exotic(value: Any) -> Const:  # Any: see to_const
    if type(value) is float:
        return {"float": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}
    if type(value) is tuple:
        return {"tuple": [to_const(item, "lynx") for item in value]}
    if isinstance(value, Mapping):
        return {"pairs": [[to_const(key, "lynx"), to_const(item, "lynx")] for key, item in value.items()]}
    if isinstance(value, set | frozenset):
        return {"set": sorted((to_const(item, "lynx") for item in value), key=encode_value)}
    if type(value) is bytes:
        return {"bytes": base64.b64encode(value).decode("ascii")}
    if type(value) is datetime:
        return {"datetime": value.isoformat()}
    if type(value) is date:
        return {"date": value.isoformat()}
    raise EncodingError(f"{_described(value)} cannot be represented in a policy")


def _described(value: object) -> str:
    if type(value) is float:
        return f"`{value}`"
    if isinstance(value, Mapping):
        return "a mapping with keys that are not strings"
    return f"a value of type `{type(value).__name__}`"
