"""One job: start its program, wait, and end every process that came from it. Runs in a process of its own.

The client ends a job by closing its side of the status socket, also when it dies.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from bobcat.providers.process import system, tree
from bobcat.providers.process.start import start

GRACE_SECONDS = 0.25
"""Time between SIGTERM and SIGKILL when a program has to end."""
KILL_SECONDS = 3.0
_CHECK_SECONDS = (0.002, 0.05)
"""First and longest pause between two counts of processes."""


# Any: JSON
def supervise(job: dict[str, Any], status: int, cwd: int, files: list[int], ended: Callable[[], None]) -> None:
    """Run `job`. Write the number of this process to `status`, and the outcome as JSON, each in a line.

    `ended` is called before the outcome is written: a client that has it finds this supervisor free.
    """
    system.adopt_orphans()
    began = time.monotonic()
    with suppress(OSError):
        os.write(status, b"%d\n" % os.getpid())
    ruleset = files.pop() if job["landlock"] else None
    report, child_report = os.pipe()
    program = os.fork()
    if program == 0:
        os.close(report)
        os.close(status)
        start(job, files, cwd, ruleset, child_report)
    for descriptor in (child_report, cwd, *files, *([] if ruleset is None else [ruleset])):
        os.close(descriptor)
    failure = _read_all(report)
    outcome: dict[str, Any] = {"failure": json.loads(failure) if failure else None, "ended_by": None}
    with system.ahead_of_programs():
        if not failure:
            outcome["ended_by"] = _wait(program, status, began + job["timeout_seconds"], job["limits"].get("processes"))
        gently = outcome["ended_by"] in ("timeout", "cancelled")
        outcome["wait_status"], outcome["stragglers"] = _end(program, gently=gently)
        outcome["left"] = tree.kill_all(KILL_SECONDS)
    outcome["duration_ms"] = int((time.monotonic() - began) * 1000)
    ended()
    with suppress(OSError):  # the client has gone
        os.write(status, json.dumps(outcome).encode() + b"\n")


def _wait(program: int, status: int, deadline: float, processes: int | None) -> str | None:
    """Wait for the end of the program. Return the reason why it has to end before."""
    events = select.poll()
    exited = os.pidfd_open(program)
    events.register(exited, select.POLLIN)
    events.register(status, select.POLLIN)
    pause, longest = _CHECK_SECONDS
    try:
        while True:
            now = time.monotonic()
            if now >= deadline:
                return "timeout"
            for descriptor, _ in events.poll(max(1, min(pause, deadline - now) * 1000)):
                if descriptor == exited:
                    return None
                return _request(status)
            tree.reap_all_but(program)
            if processes is not None and len(tree.descendants()) > processes:
                return "processes"
            pause = min(pause * 2, longest)
    finally:
        os.close(exited)


def _request(status: int) -> str:
    """The reason that the client sends; its end of the socket without one is a cancellation."""
    try:
        return os.read(status, 64).decode() or "cancelled"
    except OSError:
        return "cancelled"


def _end(program: int, *, gently: bool) -> tuple[int, int]:
    """End the program, and reap it. Return its wait status, and the number of other processes at that time."""
    if gently:
        with suppress(OSError):
            os.killpg(program, signal.SIGTERM)
        deadline = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < deadline:
            if os.waitid(os.P_PID, program, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                break
            time.sleep(0.002)
    # INVARIANT: the program is not reaped before its group is killed; its number cannot be reused before.
    if os.waitid(os.P_PID, program, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        os.kill(program, signal.SIGKILL)
    stragglers = len(tree.descendants()) - 1
    with suppress(OSError):
        os.killpg(program, signal.SIGKILL)
    return os.waitpid(program, 0)[1], max(stragglers, 0)


def _read_all(descriptor: int) -> bytes:
    parts = []
    while part := os.read(descriptor, 65536):
        parts.append(part)
    os.close(descriptor)
    return b"".join(parts)
