"""Containment of programs on this machine: found, tried, chosen. `containment()` reports what is present and absent."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Literal

from bobcat.providers.process import bwrap, cgroup, landlock
from bobcat.providers.process.program import Program

Isolation = Literal["auto", "none", "bwrap", "landlock"]
SYSTEM_FILES = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/proc", "/sys/devices/system/cpu",
    "/etc/alternatives", "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/gitconfig", "/etc/group",
    "/etc/hosts",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/locale.alias", "/etc/localtime", "/etc/magic",
    "/etc/mime.types", "/etc/nsswitch.conf", "/etc/os-release", "/etc/passwd", "/etc/pki/tls/certs", "/etc/protocols",
    "/etc/resolv.conf", "/etc/services", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/terminfo", "/etc/timezone",
)  # fmt: skip
"""Files that a contained program can read and execute. `/etc/shadow` and private keys are not among them."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
_ALWAYS = "own session, environment, limits, no new privileges, and the end of all its processes"


@dataclass(frozen=True, slots=True)
class Containment:
    """A form of isolation: what it adds to a run, and what it lacks here."""

    isolation: str
    enforces: tuple[str, ...]
    absent: tuple[str, ...]
    bwrap: Program | None = None

    def describe(self) -> str:
        """One line for people."""
        lacks = f"; absent: {', '.join(self.absent)}" if self.absent else ""
        return f"{self.isolation}: {', '.join(self.enforces)}{lacks}"


_NONE_ABSENT = (
    "a limit to the files that the user can reach", "a limit to the network",
    "protection of other processes of the user from signals and from reading their environment",
)  # fmt: skip


def containment(isolation: Isolation = "auto") -> Containment:
    """The containment that `processes(isolation=...)` has on this machine.

    `auto` is Landlock where it covers files, TCP and signals, else bwrap if it works, else what Landlock covers, else
    none. Raises `ValueError` if a named one does not work here.
    """
    if isolation not in ("auto", "none", "bwrap", "landlock"):
        raise ValueError(f"isolation must be 'auto', 'none', 'bwrap' or 'landlock', got {isolation!r}")
    if sys.platform != "linux":
        raise ValueError("the provider of processes needs Linux")
    found = _isolated(isolation)
    if cgroup.find_parent() is not None:
        return found
    return replace(found, absent=(*found.absent, "a control group (the supervisor counts processes)"))


def _isolated(isolation: Isolation) -> Containment:
    if isolation == "auto" and landlock.version() >= landlock.SIGNALS_ABI:
        isolation = "landlock"
    missing: list[str] = []
    for name, find in (("bwrap", _bwrap), ("landlock", _landlock)):
        if isolation in ("auto", name):
            found, reason = find()
            if found is not None:
                return Containment(found.isolation, found.enforces, (*missing, *found.absent), found.bwrap)
            missing.append(reason)
    if isolation in ("auto", "none"):
        return Containment("none", (_ALWAYS,), (*missing, *_NONE_ABSENT))
    raise ValueError(f"isolation={isolation!r} does not work here: {'; '.join(missing)}; 'auto' takes what works")


def _bwrap() -> tuple[Containment | None, str]:
    program = bwrap.find()
    if program is None:
        return None, "bwrap (not installed)"
    reason = bwrap.failure(program)
    if reason is not None:
        return None, f"bwrap ({reason})"
    enforces = (_ALWAYS, "own file tree", "own processes", "own network")
    return Containment("bwrap", enforces, (), program), ""


def _landlock() -> tuple[Containment | None, str]:
    version = landlock.version()
    if not version:
        return None, "Landlock (not in this kernel)"
    enforces = [_ALWAYS, "files", "tracing"]
    absent: list[str] = []
    (enforces if version >= landlock.NETWORK_ABI else absent).append("TCP")
    (enforces if version >= landlock.SIGNALS_ABI else absent).append("signals")
    absent += ["UDP", "modes, owners and times of files outside"]
    return Containment("landlock", tuple(enforces), tuple(absent)), ""
