"""The processes below this one, and their end. Called by supervisors and servers, which adopt orphans."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection
from contextlib import suppress

_PAUSE_SECONDS = 0.001


def descendants(spare: Collection[int] = ()) -> list[int]:
    """The processes below this one, parents before their children, without the children in `spare`."""
    found = [process for process in children_of(os.getpid()) if process not in spare]
    for process in found:
        found.extend(children_of(process))
    return found


def children_of(process: int) -> list[int]:
    """The children of a process; none if it has exited."""
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{process}/task"):
            with suppress(OSError), open(f"/proc/{process}/task/{thread}/children", "rb") as file:
                found.extend(map(int, file.read().split()))
    return found


def kill_all(seconds: float, spare: Collection[int] = ()) -> int:
    """Kill and reap all processes below this one but `spare`. Return the number that is left after so many seconds.

    Needs `adopt_orphans`: the children of a killed process become those of this one, and the next pass finds them.
    """
    deadline = time.monotonic() + seconds
    while True:
        found = descendants(spare)
        for process in reversed(found):
            _kill(process)
        if not _reap(found) and not descendants(spare) and (spare or _is_childless()):
            return 0
        if time.monotonic() > deadline:
            return max(len(found), 1)
        time.sleep(_PAUSE_SECONDS)


def reap_all_but(program: int) -> None:
    """Reap the children that have exited until `program` is one of them; that one stays."""
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if ended is None or ended.si_pid == program:
            return
        os.waitpid(ended.si_pid, os.WNOHANG)


def _kill(process: int) -> None:
    with suppress(OSError):
        descriptor = os.pidfd_open(process)
        try:
            # The number can belong to another process since the list was read; the descriptor stays with its process.
            if _is_below(process):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        finally:
            os.close(descriptor)


def _is_below(process: int) -> bool:
    this = os.getpid()
    while process > 1:
        process = _parent_of(process)
        if process == this:
            return True
    return False


def _parent_of(process: int) -> int:
    with open(f"/proc/{process}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[1])


def _reap(processes: list[int]) -> bool:
    """Reap those that have exited. Return true if another one is a child that runs."""
    running = False
    for process in processes:
        with suppress(ChildProcessError):  # the child of another process, or reaped
            running = os.waitpid(process, os.WNOHANG)[0] == 0 or running
    return running


def _is_childless() -> bool:
    """The kernel's own answer: the lists under `/proc` may miss a process while others exit."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return False
