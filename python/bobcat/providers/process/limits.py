"""Limits of one program run, and their checks."""

from __future__ import annotations

import math
from dataclasses import dataclass

MIB = 1024 * 1024
MAX_TIMEOUT_SECONDS = 24 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """Resource limits of a program. `None` leaves one to the system.

    `cpu_seconds`, `memory_bytes` (address space), `open_files` and `file_bytes` (the size of a file that is written)
    hold for each of its processes, `processes` for all of them together. Raises `TypeError` or `ValueError`.
    """

    cpu_seconds: int | None = 60
    memory_bytes: int | None = 4096 * MIB
    open_files: int | None = 256
    processes: int | None = 64
    file_bytes: int | None = 256 * MIB

    def __post_init__(self) -> None:
        for name in ("cpu_seconds", "memory_bytes", "open_files", "processes", "file_bytes"):
            value = getattr(self, name)
            if value is not None:
                check_count(f"ProcessLimits.{name}", value)


def check_count(name: str, value: object) -> int:
    """Return a limit. Raises unless it is an integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value!r}")
    return value


def check_seconds(name: str, value: object) -> float:
    """Return a timeout. Raises unless it is a positive number of at most a day."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if math.isnan(value) or not 0 < value <= MAX_TIMEOUT_SECONDS:
        raise ValueError(f"{name} must be above 0 and at most {MAX_TIMEOUT_SECONDS:.0f}, got {value!r}")
    return float(value)
