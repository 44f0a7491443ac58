"""JSON objects with every key once. A key that is written twice has two meanings for two parsers."""

from __future__ import annotations

from typing import Any

from bobcat.text.display import safe_text


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:  # Any: JSON
    """Return the object, for `json.loads(object_pairs_hook=)`. Raises `ValueError` for a key that is written twice."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the key `{safe_text(name)}` is written twice")
        found[name] = value
    return found
