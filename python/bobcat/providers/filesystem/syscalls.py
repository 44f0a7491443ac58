"""The system calls of Linux that Python lacks: `openat2`, `renameat2` and the mount of a descriptor by `statx`.

Called by `root` and `moving`. Each has a fallback there for kernels, sandboxes and systems without the call.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
from contextlib import suppress
from functools import cache

RESOLVE_NO_XDEV = 0x01
RESOLVE_NO_MAGICLINKS = 0x02
RESOLVE_NO_SYMLINKS = 0x04
RESOLVE_BENEATH = 0x08
RENAME_NOREPLACE = 1

_OPENAT2 = {"alpha": 547}.get(platform.machine(), 437)
"""The number of the call: one for all machines whose numbering begins at 0."""
_OTHER_NUMBERING = ("mips", "ia64")
_AT_EMPTY_PATH = 0x1000
_STATX_MNT_ID = 0x1000
_STATX_BYTES, _MASK_AT, _MNT_ID_AT = 256, 0, 144
_ABSENT = (errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.E2BIG)


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def openat2(directory: int, path: str, flags: int, resolve: int) -> int:
    """Open `path` from a directory under the rules `resolve`. Raises `OSError` without a file name."""
    how = _OpenHow(flags | os.O_CLOEXEC, 0, resolve)
    opened: int = _libc().syscall(
        ctypes.c_long(_OPENAT2), ctypes.c_int(directory), ctypes.c_char_p(os.fsencode(path)), ctypes.byref(how),
        ctypes.c_size_t(ctypes.sizeof(how)),
    )  # fmt: skip
    if opened < 0:
        raise _error()
    return opened


@cache
def has_openat2() -> bool:
    """Return true if the kernel has `openat2` and no filter of system calls refuses it."""
    if sys.platform != "linux" or platform.machine().startswith(_OTHER_NUMBERING):
        return False
    directory = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(openat2(directory, ".", os.O_PATH, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS))
    except OSError:
        return False
    finally:
        os.close(directory)
    return True


def rename_noreplace(source: tuple[int, str], target: tuple[int, str]) -> None:
    """Rename a name of a directory to one that must not exist.

    Raises `FileExistsError`, other `OSError` of the call, and `NotImplementedError` where the system cannot do it.
    """
    call = getattr(_libc(), "renameat2", None)
    if call is None:
        raise NotImplementedError
    names = os.fsencode(source[1]), os.fsencode(target[1])
    if call(source[0], names[0], target[0], names[1], ctypes.c_uint(RENAME_NOREPLACE)) < 0:
        error = _error()
        raise NotImplementedError if error.errno in _ABSENT else error


def mount_of(fd: int) -> tuple[int, int]:
    """The identity of the mount that a descriptor is on: its number, or the device where the kernel gives none.

    On overlay file systems the files of one mount have several devices.
    """
    call = getattr(_libc(), "statx", None) if sys.platform == "linux" else None
    if call is not None:
        buffer = ctypes.create_string_buffer(_STATX_BYTES)
        done = call(fd, b"", ctypes.c_int(_AT_EMPTY_PATH), ctypes.c_uint(_STATX_MNT_ID), buffer)
        mask = int.from_bytes(buffer.raw[_MASK_AT : _MASK_AT + 4], sys.byteorder)
        if done == 0 and mask & _STATX_MNT_ID:
            return 0, int.from_bytes(buffer.raw[_MNT_ID_AT : _MNT_ID_AT + 8], sys.byteorder)
    with suppress(OSError), open(f"/proc/self/fdinfo/{fd}") as lines:
        for line in lines:
            name, _, value = line.partition(":")
            if name == "mnt_id":
                return 0, int(value)
    return os.fstat(fd).st_dev, 0


def _error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
