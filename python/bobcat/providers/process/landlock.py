"""Landlock: a process restricts itself and its future children to files, TCP ports and signals. No privilege is needed.

The client makes a ruleset once, and every program enters it before `exec`. A restricted process also cannot trace one
that is not, which covers `/proc/PID/environ` and `/proc/PID/mem`. Landlock has no right for UDP, and none for `chmod`,
`chown`, `utime` and `setxattr`.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

from bobcat.providers.process.system import syscall

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1
NETWORK_ABI, SIGNALS_ABI = 4, 6
"""First versions that restrict TCP, and signals and abstract sockets."""

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 1 << 1, 1 << 2, 1 << 3
_REFER, _TRUNCATE, _IOCTL = 1 << 13, 1 << 14, 1 << 15
_ALL_OF_ABI_1 = (1 << 13) - 1
_MAKE_DEVICES = 1 << 6 | 1 << 11
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
_RUN = _EXECUTE | _READ_FILE | _READ_DIR


def version() -> int:
    """The version of Landlock's interface in this kernel; 0 without Landlock."""
    try:
        return syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    except OSError:
        return 0


def make_ruleset(readable: Iterable[str | int], writable: Iterable[str | int], *, network: bool) -> int:
    """Make a ruleset and return its descriptor. Files are paths or descriptors; a missing path is skipped.

    What is below `readable` can be read and executed, what is below `writable` read and written, and not executed: a
    program that a tool wrote does not run. Device files cannot be made. Raises `OSError`.
    """
    abi = version()
    handled = _ALL_OF_ABI_1 | (_REFER if abi >= 2 else 0) | (_TRUNCATE if abi >= 3 else 0) | (_IOCTL if abi >= 5 else 0)
    ports = 0 if network or abi < NETWORK_ABI else 0b11
    scopes = 0b11 if abi >= SIGNALS_ABI else 0
    attribute = struct.pack("=QQQ", handled, ports, scopes)
    size = 24 if abi >= SIGNALS_ABI else 16 if abi >= NETWORK_ABI else 8
    ruleset = syscall(_CREATE, attribute, ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        for access, files in ((_RUN, readable), (handled & ~(_EXECUTE | _MAKE_DEVICES | _IOCTL), writable)):
            for file in files:
                _allow(ruleset, file, access)
    except BaseException:
        os.close(ruleset)
        raise
    return ruleset


def enter(ruleset: int) -> None:
    """Restrict this process for good. Needs `system.gain_no_privileges`. Raises `OSError`."""
    syscall(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0))


def _allow(ruleset: int, file: str | int, access: int) -> None:
    try:
        opened = os.dup(file) if isinstance(file, int) else os.open(file, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(opened).st_mode):
            access &= _OF_FILES
        rule = struct.pack("=Qi", access, opened)
        syscall(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0))
    finally:
        os.close(opened)
