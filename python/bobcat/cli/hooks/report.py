"""Reports of `bobcat doctor hooks`: the state of a host's gate, and the findings about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from bobcat.cli.hooks.call import Host

Gate: TypeAlias = Literal["on", "off", "refuses"]
"""`refuses`: the host refuses every call, because the hook has no answer."""

Level: TypeAlias = Literal["error", "warning", "note"]
"""`error`: the gate does not decide. `warning`: it decides, with a gap that settings close. `note`: one stays."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding about a host."""

    level: Level
    code: str
    message: str
    help: str | None = None


@dataclass(frozen=True, slots=True)
class HookReport:
    """One hook in the settings of a host."""

    file: str
    command: str
    gate: Gate
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class HostReport:
    """One host."""

    host: Host
    title: str
    version: str | None
    gate: Gate
    hooks: tuple[HookReport, ...]
    findings: tuple[Finding, ...]
    """Those of the host, without those of its hooks."""

    @property
    def clean(self) -> bool:
        """True if the gate is on, without a gap that settings close."""
        every = [*self.findings, *(finding for hook in self.hooks for finding in hook.findings)]
        return self.gate == "on" and all(finding.level == "note" for finding in every)


def overall(hooks: Sequence[Gate]) -> Gate:
    """Return the state of a host with these hooks: each of them can refuse a call."""
    if "refuses" in hooks:
        return "refuses"
    return "on" if "on" in hooks else "off"
