"""Ids of parametrized tests that are the same in every process, which running them in parallel needs."""

from __future__ import annotations

import re

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def stable_id(value: object) -> str:
    """`str(value)` without addresses; the members of a set in order."""
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(repr, value))) + "}"
    return _ADDRESS.sub("", str(value))
