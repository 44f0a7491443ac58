"""Between the case table and a framework: the interface of `DOOR/door.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from bobcat import Guard


@dataclass(frozen=True)
class Proposal:
    """A call that the fake model proposes, under the name that the framework gives the tool."""

    id: str
    tool: str
    args: Mapping[str, Any]


@dataclass(frozen=True)
class Setup:
    """An agent to make: its guard, its tools, the turns of its model, and the approvers' answers by tool."""

    guard: Guard
    functions: Sequence[Callable[..., Any]]
    turns: Sequence[Sequence[Proposal]]
    answers: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Observed:
    """A finished run: texts that the model got as (call id, text), questions to an approver, the end of the run."""

    replies: list[tuple[str, str]] = field(default_factory=list)
    questions: list[Mapping[str, Any]] = field(default_factory=list)
    pending: bool = False
    """True when the framework waits for an answer that the setup does not have."""
    final: str | None = None
    error: BaseException | None = None


class Adapter(Protocol):
    """The module `doors.DOOR.door`. The fake model says `done` after its turns."""

    PREFIX: str
    """Text that the framework puts before the names of tools."""
    INTERRUPTS: bool
    """True when the framework interrupts for an approval, false when the guard's `on_approval` is asked."""
    MODES: Sequence[tuple[str, str]]
    """Pairs of the framework's entry point (`async` or `sync`) and the kind of tools (`async` or `plain`)."""

    SKIPS: Mapping[str, str]
    """Reasons by case, for cases that the framework cannot have; may be left out."""

    async def run(self, setup: Setup) -> Observed:
        """Run an agent of the framework to its end."""

    def run_sync(self, setup: Setup) -> Observed:
        """Run it through the synchronous entry point, where there is one."""

    def model(self, turns: Sequence[Sequence[Proposal]]) -> Any:
        """The fake model, for the example of the page; only where the tests of the documentation cannot run that."""
