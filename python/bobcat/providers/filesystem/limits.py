"""Limits of the files provider."""

from __future__ import annotations

from dataclasses import dataclass, fields

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLimits:
    """Maxima of one call, in bytes, entries and directories below a root.

    `default_read_bytes` is what `fs.read` reads when the call does not say how much. `file_bytes` is the size to which
    `fs.append` may let a file grow.
    """

    default_read_bytes: int = MIB
    read_bytes: int = 16 * MIB
    write_bytes: int = 16 * MIB
    file_bytes: int = 256 * MIB
    entries: int = 1_000
    depth: int = 64

    def __post_init__(self) -> None:
        for field in fields(self):
            value: object = getattr(self, field.name)
            if type(value) is not int or value < 1:
                raise ValueError(f"{field.name} must be an integer of at least 1, got {value!r}")
        if self.default_read_bytes > self.read_bytes:
            object.__setattr__(self, "default_read_bytes", self.read_bytes)
