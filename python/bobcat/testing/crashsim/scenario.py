"""What a user gives to a simulation: how a run of theirs is made, on the stage that a simulated run has."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bobcat.agent import Agent
from bobcat.approvals import ApprovalHandler
from bobcat.bundle import PolicyBundle
from bobcat.journal import RunStore
from bobcat.kernel.tenure import DEFAULT_LEASE_SECONDS
from bobcat.model import RunResult
from bobcat.testing.crashsim.clock import Clock
from bobcat.testing.crashsim.outside import Outside
from bobcat.testing.crashsim.process import alone
from bobcat.testing.crashsim.stores import SimStore, simulated
from bobcat.testing.crashsim.world import World
from bobcat.tools import ToolSet

IN_MEMORY = "/dev/shm"


class Stage:
    """What outlives the workers of one simulated run: its clock, its world, its storage. A scenario is built on it."""

    def __init__(self, outside: Outside) -> None:
        self.clock = Clock()
        """The time. Give it to the store: `MemoryStore(clock=stage.clock)`."""
        self.world = World()
        """Where tools act, and reconcilers look."""
        self._outside = outside
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self._stores: list[SimStore] = []

    @property
    def directory(self) -> Path:
        """A directory of this run's own, made when it is first asked for: in memory where the system has such a place.

        Workers die here and machines do not, so nothing has to reach a disk.
        """
        if self._directory is None:
            place = IN_MEMORY if os.access(IN_MEMORY, os.W_OK | os.X_OK) else None
            self._directory = tempfile.TemporaryDirectory(prefix="bobcat-crashsim-", dir=place)
        return Path(self._directory.name)

    # Any: the proxy offers what the store offers, and is used in its place.
    def store(self, inner: RunStore, *, in_place: bool | None = None) -> Any:
        """`inner`, as workers see it; needed only where more than the run itself uses it, such as `durable_approvals`.

        `in_place` is for a store in memory that awaits nothing outside: its own awaits are points then. The default is
        True for a `MemoryStore`, and False for every other store, whose calls are points and whose insides are not.
        """
        if isinstance(inner, SimStore):
            return inner
        proxy = simulated(inner, self._outside, in_place=in_place)
        self._stores.append(proxy)
        return proxy

    def close(self) -> None:
        """Close the stores and delete the directory."""
        for store in self._stores:
            if not hasattr(store.inner, "aclose"):
                continue
            if store.in_place:
                alone(self.clock, store.inner.aclose)
            else:
                self._outside.run(store.inner.aclose)
        if self._directory is not None:
            self._directory.cleanup()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One run: the arguments of `run_agent`, of which the agent and the tools may be made for every worker anew.

    `agent` is called for every worker: what it made dies with it. `tools` is a `ToolSet`, or is called likewise.
    `answer` is awaited by a worker whose run was suspended, to grant or deny what it waits for; then the run goes on.
    `options` is passed on to `run_agent`: a budget, a principal, an `owner`, which is every worker's name then and lets
    a new one take the run of a dead one at once. `run_id` is for storage that simulated runs share. `effects` names
    what really happened, each as often as it did, where that is not told to the stage's world: rows of a database.
    """

    task: str
    agent: Callable[[], Agent]
    tools: ToolSet | Callable[[], ToolSet]
    policy: PolicyBundle
    store: RunStore
    on_approval: ApprovalHandler | None = None
    answer: Callable[[RunResult], Awaitable[object]] | None = None
    lease_seconds: float = DEFAULT_LEASE_SECONDS
    run_id: str = "simulated"
    options: Mapping[str, Any] = field(default_factory=dict)  # Any: arguments of `run_agent`
    effects: Callable[[], Iterable[str]] | None = None


ScenarioFactory = Callable[[Stage], Scenario]
