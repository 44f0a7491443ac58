"""Caps of one call to a database, and of one result."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SqlLimits:
    """Caps: seconds of a statement; rows, and characters of JSON, of a result."""

    seconds: float
    rows: int
    characters: int

    def __post_init__(self) -> None:
        for name, value in (("timeout_seconds", self.seconds), ("max_rows", self.rows), ("max_bytes", self.characters)):
            if not value > 0:
                raise ValueError(f"{name} must be greater than 0, got {value!r}")
