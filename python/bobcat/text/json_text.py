"""JSON text of any Python value: for audit lines, journal records and keys. Total, and always valid JSON.

Called by sinks, stores and the journal. A value that JSON cannot represent is described, not refused: it must never
cause a missing audit line. Nothing here enters a policy digest; `bobcat.ir.canonical` encodes those.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from bobcat._core import canonical_text

_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
"""A surrogate pair: two characters in Python that are one after parsing."""
MAX_DEPTH = 144
"""Maximum nesting: deeper containers become `"<too deep>"`. Arguments never reach it: no record adds 16 levels."""


def json_text(value: Any) -> str:
    """Canonical JSON: sorted keys, no white space, ASCII. NaN and infinities become strings, sets sorted lists.

    Any: the function is total by design.
    """
    text = canonical_text(value)
    return any_json_text(value) if text is None else text


def any_json_text(value: Any) -> str:
    """`json_text` without the core, which handles plain values only; the oracle of its tests. Any: as above."""
    try:
        return _encode(value)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a subclass can make anything fail
        return _encode(_plain(value, 0, ()))


def json_digest(value: Any) -> str:
    """SHA-256 of `json_text(value)`, in hexadecimal. Any: as above."""
    from hashlib import sha256  # PERF: 2.7 ms, which a service that only evaluates policies avoids

    return sha256(json_text(value).encode("utf-8", "surrogatepass")).hexdigest()


def is_exact(value: Any) -> bool:
    """Return true if parsing `json_text(value)` gives an equal value, with tuples as lists. Any: as above."""
    if value is None or type(value) is bool:
        return True
    if type(value) is str:
        return _HALVES.search(value) is None
    if type(value) is float:
        return math.isfinite(value)
    if type(value) is int:
        return isinstance(_integer(value), int)
    if isinstance(value, Mapping):
        return all(type(key) is str and is_exact(key) and is_exact(item) for key, item in value.items())
    return isinstance(value, (list, tuple)) and all(map(is_exact, value))


def loose_json_text(value: Any) -> str:
    """The canonical JSON of lynx-agent 2.5, for its keys and its records.

    As `json_text`, but NaN and infinities are bare words, and sets are lists in their own order. Any: as above.
    """
    text = canonical_text(value)
    return any_loose_json_text(value) if text is None else text


def any_loose_json_text(value: Any) -> str:
    """`loose_json_text` without the core, as `any_json_text`. Any: as above."""
    try:
        return _encode_loosely(value)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a subclass can make anything fail
        return any_json_text(value)


def _loosely(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return repr(value)


_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode
_encode_loosely = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=_loosely).encode


def safe_str(value: object) -> str:
    """`str(value)`, or a note that it raised."""
    try:
        return str(value)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # an exception of `__str__`, even `SystemExit`, must not end the run
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"


def format_exception(error: BaseException) -> str:
    """`Type: message` of an exception, even if its message raises."""
    return f"{type(error).__name__}: {safe_str(error)}"


def _plain(value: Any, depth: int, above: tuple[int, ...]) -> Any:
    try:
        return _plain_scalar(value) if _is_scalar(value) else _plain_container(value, depth, above)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float, datetime))


def _plain_scalar(value: Any) -> Any:
    """The stored value of a scalar, ignoring overrides of a subclass."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return float.__pos__(value) if math.isfinite(value) else _float_name(value)
    return _integer(value) if isinstance(value, int) else value.isoformat()


def _plain_container(value: Any, depth: int, above: tuple[int, ...]) -> Any:
    if id(value) in above:
        return "<cycle>"
    if depth >= MAX_DEPTH:
        return "<too deep>"
    depth, above = depth + 1, (*above, id(value))
    if isinstance(value, Mapping):
        return {_key(key): _plain(item, depth, above) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, depth, above) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_plain(item, depth, above) for item in value), key=json_text)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: _plain(getattr(value, field.name), depth, above) for field in fields}
    return repr(value)


def _key(key: object) -> str:
    return str.__str__(key) if isinstance(key, str) else json_text(key)


def _float_name(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if float.__pos__(value) > 0 else "-Infinity"


def _integer(value: int) -> int | str:
    try:
        json.dumps(value)
    except ValueError:  # more digits than the interpreter converts to text
        return hex(int.__pos__(value))
    return int.__pos__(value)
