"""An identity for a file that no copy of it has: its inode and its birth time.

Inodes are reused: a file that was removed and restored can get the same inode. The birth time distinguishes them where
the file system keeps one; it cannot be set, while hard links and changes of mode leave it unchanged.
"""

from __future__ import annotations

import ctypes
import os
import struct
from functools import cache
from hashlib import sha256
from typing import Any

_AT_FDCWD, _STATX_BTIME = -100, 0x800
_LENGTH, _BTIME = 256, 80
"""The length of `struct statx`, and the offset of the birth time in it: seconds in 8 bytes, nanoseconds in 4."""


def file_identity(path: str | os.PathLike[str]) -> int:
    """The identity of the file at a path, below 2**56. Raises `OSError`."""
    status = os.stat(path)
    birth_time = getattr(status, "st_birthtime", None)
    identity = f"{status.st_ino}:{_birth_time(os.fspath(path)) if birth_time is None else birth_time}"
    return int.from_bytes(sha256(identity.encode()).digest()[:7], "big")


def _birth_time(path: str) -> tuple[int, int] | None:
    """The birth time of the file; None where the system has none."""
    statx = _statx()
    if statx is None:
        return None
    buffer = ctypes.create_string_buffer(_LENGTH)
    if statx(_AT_FDCWD, os.fsencode(path), 0, _STATX_BTIME, buffer):
        return None
    (mask,) = struct.unpack_from("=I", buffer, 0)
    if not mask & _STATX_BTIME:
        return None
    seconds, nanoseconds = struct.unpack_from("=qI", buffer, _BTIME)
    return seconds, nanoseconds


@cache
def _statx() -> Any:  # Any: a function of the C library, or None
    """The C function `statx`, which Python does not expose on Linux."""
    try:
        return ctypes.CDLL(None).statx
    except (OSError, AttributeError, TypeError):
        return None
