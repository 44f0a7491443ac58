"""A control group per job, where this user can make one: the kernel then refuses a fork beyond the limit.

The controller `pids`, of version 1, or of version 2 if it is delegated. Without it the supervisor counts processes.
"""

from __future__ import annotations

import os
from contextlib import suppress


def find_parent() -> str | None:
    """The directory of this process's own group with the controller `pids`, if it can make others there."""
    own: dict[str, str] = {}
    with suppress(OSError), open("/proc/self/cgroup", encoding="utf-8") as file:
        for line in file:
            number, controllers, path = line.rstrip("\n").split(":", 2)
            if number == "0":
                own["cgroup2"] = path
            elif controllers == "pids":
                own["cgroup"] = path
    with suppress(OSError), open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            mount, _, system = line.partition(" - ")
            root, point = mount.split()[3:5]
            kind, _, options = system.rstrip("\n").split(" ", 2)
            if kind not in own or (kind == "cgroup" and "pids" not in options.split(",")):
                continue
            directory = os.path.normpath(os.path.join(point, os.path.relpath(own[kind], root)))
            if os.access(directory, os.W_OK) and (kind == "cgroup" or _delegates_pids(directory)):
                return directory
    return None


def _delegates_pids(directory: str) -> bool:
    with suppress(OSError), open(f"{directory}/cgroup.subtree_control", encoding="ascii") as file:
        return "pids" in file.read().split()
    return False


def create(parent: str, name: str) -> str | None:
    """Make a group; None if that is refused."""
    directory = os.path.join(parent, name)
    try:
        os.mkdir(directory)
    except OSError:
        return None
    return directory


def remove_stale(parent: str) -> None:
    """Remove the empty groups of servers that were killed."""
    with suppress(OSError):
        for name in os.listdir(parent):
            prefix, _, rest = name.partition("-")
            server = rest.partition("-")[0]
            if prefix == "bobcat" and server.isdigit() and not os.path.exists(f"/proc/{server}"):
                remove(os.path.join(parent, name))


def enter(group: str) -> None:
    """Move this process into the group. PERF: 8 ms, in which the kernel holds forks and exits; once a supervisor."""
    with suppress(OSError):
        _write(f"{group}/cgroup.procs", "0")


def limit(group: str, processes: int | None) -> None:
    """Limit the processes in the group to this one and so many others."""
    with suppress(OSError):
        _write(f"{group}/pids.max", "max" if processes is None else str(processes + 1))


def remove(group: str) -> None:
    """Remove the group if it is empty."""
    with suppress(OSError):
        os.rmdir(group)


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
