"""Arguments for display: the values of secrets are hidden."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

Json = Any  # Any: JSON

HIDDEN = "[redacted]"
_SECRET = re.compile(
    r"passw(or)?d|passphrase|secret|token|api[_-]?key|private[_-]?key|access[_-]?key|authorization|cookie|credential",
    re.IGNORECASE,
)
"""Names whose values are always hidden."""


def is_secret(name: str) -> bool:
    """Return true for the name of a value that is never shown."""
    return _SECRET.search(name) is not None


def hidden(value: Json, names: Collection[str] = ()) -> Json:
    """Return JSON without the values under these names and under names of secrets, at any depth."""
    if isinstance(value, dict):
        return {
            name: HIDDEN if name in names or is_secret(name) else hidden(item, names) for name, item in value.items()
        }
    return [hidden(item, names) for item in value] if isinstance(value, list) else value
