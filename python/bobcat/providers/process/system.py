"""System calls that Python has no function for: `prctl` and Landlock's three. Linux only."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(signal_number: int) -> None:
    """Receive this signal when the parent exits. Kept over `exec`."""
    _prctl(_PR_SET_PDEATHSIG, signal_number)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose parent exits."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def gain_no_privileges() -> None:
    """Ignore set-user-ID bits and file capabilities from now on."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


@contextmanager
def ahead_of_programs() -> Iterator[None]:
    """Run before every process of ordinary priority, where this user may; new children get the ordinary one.

    On a busy machine, processes that double would otherwise get all the time, and be more after every pass that kills.
    """
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    try:
        yield
    finally:
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def _prctl(option: int, value: int) -> None:
    numbers = [ctypes.c_ulong(number) for number in (value, 0, 0, 0)]
    if _libc.prctl(ctypes.c_int(option), *numbers) != 0:
        raise _error("prctl")


def syscall(number: int, *arguments: object) -> int:
    """Make a system call with arguments that ctypes converts. Raises `OSError`."""
    result = int(_libc.syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        raise _error(f"system call {number}")
    return result


def _error(name: str) -> OSError:
    code = ctypes.get_errno()
    return OSError(code, f"{name}: {os.strerror(code)}")
