"""The process that works on an entry: its identity, and proof that it ended.

Recovery must not decide about an effect that is still going on. An entry names its process; recovery takes it only
when that process ended.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from socket import gethostname

_PROC = Path("/proc")


def this_process() -> str:
    """Return the identity of this process: boot, namespace of process ids, id and start time."""
    return "/".join((*_system(), str(os.getpid()), _started(os.getpid()) or ""))


def has_ended(owner: str) -> bool | None:
    """Return true if the process of an entry ended, false if it runs; None for one of another machine."""
    boot, namespace, pid, started = (*owner.split("/"), "", "", "", "")[:4]
    if (boot, namespace) != _system() or not pid.isdecimal():
        return None
    now = _started(int(pid))
    if now is not None:
        return now != started
    if os.name == "nt":  # the call would send Ctrl-C
        return None
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False if not started else None


def _system() -> tuple[str, str]:
    boot = namespace = ""
    with suppress(OSError):
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    with suppress(OSError):
        namespace = os.readlink(_PROC / "self/ns/pid")
    return boot or gethostname().replace("/", "_"), namespace


def _started(pid: int) -> str | None:
    """The start time of a process in clock ticks, and nothing for one that only waits to be reaped; None if unknown."""
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return "ended" if fields[0] in "ZX" else fields[19]
