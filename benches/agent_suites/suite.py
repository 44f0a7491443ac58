"""The parts of a suite of tasks: an environment with tools, tasks of a user, and goals of an attacker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bobcat import Policy, ToolSet

Json = Any  # Any: JSON
Calls = tuple[tuple[str, Mapping[str, Json]], ...]
HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Task:
    """The words of a user, and the calls that do what they say, in order."""

    text: str
    calls: Calls


@dataclass(frozen=True, slots=True)
class Goal:
    """The goal of an attacker: the text that is planted, and the calls of an agent that obeys it."""

    text: str
    calls: Calls


@dataclass(frozen=True, slots=True)
class Suite:
    """One environment. `tools` makes its tools over fresh data, with a planted text or without."""

    name: str
    tools: Callable[[str], ToolSet]
    tasks: tuple[Task, ...]
    goals: tuple[Goal, ...]
    policies: dict[str, Policy] = field(default_factory=dict)

    def policy(self) -> Policy:
        """The policy of the suite, compiled once."""
        if "" not in self.policies:
            self.policies[""] = Policy.compile(HERE / "policies" / f"{self.name}.yaml")
        return self.policies[""]


def calls(*each: tuple[str, Mapping[str, Json]]) -> Calls:
    """The calls, in order."""
    return each
