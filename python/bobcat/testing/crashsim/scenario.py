"""Input of a simulation: a factory of runs, and the stage that a simulated run uses."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from bobcat.approvals import ApprovalHandler
from bobcat.bundle import Policy
from bobcat.decision_log import open_log
from bobcat.journal.records import RunStore
from bobcat.model.agent import Agent
from bobcat.model.run import Message, RunResult
from bobcat.runtime.lease import DEFAULT_LEASE_SECONDS
from bobcat.testing.crashsim.clock import Clock
from bobcat.testing.crashsim.errors import SimulationError
from bobcat.testing.crashsim.logs import SimLog
from bobcat.testing.crashsim.outside import Outside
from bobcat.testing.crashsim.process import alone
from bobcat.testing.crashsim.stores import SimStore, simulated
from bobcat.testing.crashsim.world import World
from bobcat.tools.toolset import ToolSet

IN_MEMORY = "/dev/shm"


class Stage:
    """State that outlives the workers of one simulated run: its clock, its world, its storage. A scenario is built on
    it.
    """

    def __init__(self, outside: Outside) -> None:
        self.clock = Clock()
        """The time. Pass it to the store: `MemoryStore(clock=stage.clock)`."""
        self.world = World()
        """The world that tools change and reconcilers read."""
        self._outside = outside
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self._stores: list[SimStore] = []
        self._logs: list[SimLog] = []

    @property
    def directory(self) -> Path:
        """Return a directory of this run, created on first use: in memory if the system has such a directory.

        Only workers die, not machines, so nothing has to reach a disk.
        """
        if self._directory is None:
            place = IN_MEMORY if os.access(IN_MEMORY, os.W_OK | os.X_OK) else None
            self._directory = tempfile.TemporaryDirectory(prefix="bobcat-crashsim-", dir=place)
        return Path(self._directory.name)

    # Any: the proxy offers what the store offers, and is used in its place.
    def store(self, inner: RunStore, *, in_place: bool | None = None) -> Any:
        """Return the workers' view of `inner`; needed only if other objects use it as well, such as
        `durable_approvals`.

        `in_place` is for an in-memory store without outside awaits: its own awaits are then points. The default is
        True for a `MemoryStore`, and False for every other store: its calls are points, its inner awaits are not.
        """
        if isinstance(inner, SimStore):
            return inner
        proxy = simulated(inner, self._outside, in_place=in_place)
        self._stores.append(proxy)
        return proxy

    def log(self, target: str | os.PathLike[str]) -> SimLog:
        """Return the workers' view of the decision log at a path: an append is one step, and no dead worker appends."""
        log = SimLog(open_log(target).medium)
        self._logs.append(log)
        return log

    def close(self) -> None:
        """Close the logs and the stores, and delete the directory."""
        for log in self._logs:
            log.close()
        for store in self._stores:
            if not hasattr(store.inner, "aclose"):
                continue
            if store.in_place:
                alone(self.clock, store.inner.aclose)
            else:
                self._outside.run(store.inner.aclose)
        if self._directory is not None:
            self._directory.cleanup()


class Worker(NamedTuple):
    """One worker process: its name, and its view of the store and the tools of the scenario."""

    name: str
    store: Any  # Any: the proxy offers what the scenario's store offers
    tools: ToolSet


class _NoAgent:
    """The agent of a scenario with `drive`, which needs none."""

    async def step(self, conversation: Sequence[Message], /) -> NoReturn:
        """Raise."""
        raise SimulationError("the scenario has no agent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One run: the arguments of `run_agent`; the agent and the tools may be created for each worker.

    `agent` is called for each worker: its result dies with the worker. `tools` is a `ToolSet`, or is called likewise.
    `answer` is awaited by a worker whose run was suspended, to grant or deny the approval; then the run resumes.
    `options` is passed to `run_agent`: a budget, a principal, or an `owner`, which is then every worker's name and lets
    a new worker take the run of a dead one at once. `run_id` is for storage that simulated runs share. `effects` lists
    the effects that really happened, with repetitions, if the stage's world does not record them: rows of a database.
    `drive` is awaited by each worker in place of `run_agent`; its result is the run's, as far as it got. `submission`
    makes a scenario of a `Guard` in this way.
    """

    task: str = ""
    agent: Callable[[], Agent] = _NoAgent
    tools: ToolSet | Callable[[], ToolSet]
    policy: Policy
    store: RunStore
    on_approval: ApprovalHandler | None = None
    answer: Callable[[RunResult], Awaitable[object]] | None = None
    lease_seconds: float = DEFAULT_LEASE_SECONDS
    run_id: str = "simulated"
    options: Mapping[str, Any] = field(default_factory=dict)  # Any: arguments of `run_agent`
    effects: Callable[[], Iterable[str]] | None = None
    drive: Callable[[Worker], Awaitable[RunResult]] | None = None


ScenarioFactory = Callable[[Stage], Scenario]
