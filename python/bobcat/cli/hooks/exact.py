"""The values that the native hook can write: those that their JSON text gives back."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

MAX_INT_BITS = 4096
"""Bits of the largest integer in an answer or a record: the cap of the core on a value."""


def is_exact(value: Any) -> bool:  # Any: frozen JSON
    """Return true for a value without an infinity, a lone surrogate or an integer above the cap."""
    if isinstance(value, Mapping):
        return all(is_exact(key) and is_exact(item) for key, item in value.items())
    if isinstance(value, tuple | list):
        return all(map(is_exact, value))
    if isinstance(value, str):
        return not any("\ud800" <= char <= "\udfff" for char in value)
    if isinstance(value, float):
        return isfinite(value)
    return type(value) is not int or value.bit_length() <= MAX_INT_BITS
