"""The last steps before a program: session, descriptors, directory, containment, limits, `exec`."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any, NoReturn

from bobcat.providers.process import landlock, system

if sys.platform != "win32":  # the module is imported there, too, and `containment` refuses before anything starts
    import fcntl
    import resource

    _RESOURCES = {
        "cpu_seconds": resource.RLIMIT_CPU,
        "memory_bytes": resource.RLIMIT_AS,
        "open_files": resource.RLIMIT_NOFILE,
        "file_bytes": resource.RLIMIT_FSIZE,
    }
FIRST_FILE = 3
"""The descriptor of a job's first executable file; the others follow."""
_PARKED = 100


# Any: JSON
def start(job: dict[str, Any], files: list[int], cwd: int, ruleset: int | None, report: int) -> NoReturn:
    """Become the program. A failure is written to `report` as JSON; the end of `report` without text is a success.

    `files` are standard input, output and error, and the executable files.
    """
    step = "prepare"
    try:
        os.setsid()
        system.die_with_parent(signal.SIGKILL)
        _reset_signals()
        own = [cwd, report] if ruleset is None else [cwd, report, ruleset]
        cwd, report, *rest = _arrange(files, own, job["inherited"])
        step = "change to its directory"
        os.fchdir(cwd)
        step = "contain itself"
        system.gain_no_privileges()
        for ruleset in rest:
            landlock.enter(ruleset)
        step = "set its limits"
        _limit(job["limits"])
        step = "be executed"
        os.execve(FIRST_FILE, job["argv"], job["env"])
    except BaseException as error:
        os.write(report, json.dumps({"step": step, "error": str(error)}).encode())
    os._exit(127)


def _arrange(files: list[int], own: list[int], inherited: list[int]) -> range:
    """Number the descriptors from 0 on, and close every other one. Return the numbers of `own`.

    Only 0, 1, 2 and `inherited` outlive `exec`.
    """
    wanted = [*files, *own]
    parked = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _PARKED) for descriptor in wanted]
    for number, descriptor in enumerate(parked):
        os.dup2(descriptor, number, inheritable=number < FIRST_FILE or number in inherited)
    os.closerange(len(wanted), os.sysconf("SC_OPEN_MAX"))
    return range(len(files), len(wanted))


def _reset_signals() -> None:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        try:
            signal.signal(number, signal.SIG_DFL)
        except (OSError, ValueError):  # a number that the C library keeps
            continue
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _limit(limits: dict[str, int]) -> None:
    _lower(resource.RLIMIT_CORE, 0, 0)
    for name, kind in _RESOURCES.items():
        if name in limits:
            # At the soft limit of CPU time the signal SIGXCPU names the cause; a second later comes SIGKILL.
            _lower(kind, limits[name], limits[name] + (kind == resource.RLIMIT_CPU))


def _lower(kind: int, soft: int, hard: int) -> None:
    ceiling = resource.getrlimit(kind)[1]
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(kind, (soft, hard))
