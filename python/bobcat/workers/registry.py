"""`Workers`: the runs an app can make, by name, and how many of them at once. What `bobcat worker app.py` looks for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any, TypeVar

from bobcat.errors import JobError
from bobcat.workers.job import Job
from bobcat.workers.kinds import kind_of

# Any: the keyword arguments of `run_agent`
Maker = Callable[[Job], Awaitable[Mapping[str, Any]] | Mapping[str, Any]]
M = TypeVar("M", bound=Maker)

GIVEN = frozenset(("store", "run_id", "owner", "lease_seconds"))
"""Arguments of `run_agent` that the worker gives."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A run to be made whenever the clock says so. `cron` has the five usual fields."""

    name: str
    cron: str
    payload: Mapping[str, Any]
    timezone: str
    tenant: str
    priority: int
    version: str | None = None


@dataclass(slots=True)
class Workers:
    """The runs of an app.

    `max_attempts` is how often a run is tried that fails for a passing reason (the agent raised or took too long, the
    store could not be reached), or whose worker dies; `backoff_seconds` how long after the first failure, twice as long
    after each further one. `tenant_limit` is how many runs of one tenant may be made at once, on all workers together;
    `tenant_limits` names tenants with another limit. Jobs without a tenant are not limited.
    """

    max_attempts: int = 5
    backoff_seconds: float = 2.0
    max_backoff_seconds: float = 3600.0
    tenant_limit: int | None = None
    tenant_limits: Mapping[str, int] = field(default_factory=dict)
    makers: dict[str, Maker] = field(default_factory=dict)
    schedules: list[Schedule] = field(default_factory=list)

    def run(
        self,
        name: str,
        *,
        cron: str | None = None,
        payload: Mapping[str, Any] | None = None,
        timezone: str = "UTC",
        tenant: str = "",
        priority: int = 0,
        version: str | None = None,
    ) -> Callable[[M], M]:
        """Make a function the maker of the runs called `name`: it takes a `Job` and returns arguments of `run_agent`.

        They are made anew for every attempt; `agent`, `task`, `tools` and `policy` are needed, `store`, `run_id` and
        the lease are given by the worker, and `on_approval` is `durable_approvals(store)` unless said otherwise. With
        `cron` the run is also queued by the clock, once for each time whatever the number of workers.

        A worker takes only runs that its app can make. With `version`, these are the jobs that were queued for this
        version; one function may be registered for several, and without a version too.
        """
        if not isinstance(name, str) or not name:
            raise ValueError("a run needs a name that is not empty")
        if version is not None and (not isinstance(version, str) or not version):
            raise ValueError(f"a version is a string that is not empty, got `{version!r}`")
        kind = kind_of(name, version)
        if kind in self.makers:
            raise ValueError(f"there are two runs named `{kind}`")
        if cron is not None:
            from bobcat.workers.schedules import check_cron

            check_cron(cron, timezone)
            self.schedules.append(Schedule(name, cron, payload or {}, timezone, tenant, priority, version))

        def register(maker: M) -> M:
            self.makers[kind] = maker
            return maker

        return register

    async def make(self, job: Job) -> dict[str, Any]:  # Any: arguments of `run_agent`
        """The arguments of `run_agent` for a job. Raises what the maker raises, and `JobError` for what is no run."""
        maker = self.makers.get(job.kind)
        if maker is None:
            raise JobError("unknown", self.lacks(job.kind))
        made: object = maker(job)
        if isawaitable(made):
            made = await made
        if not isinstance(made, Mapping):
            raise JobError("not_a_run", f"the run `{job.name}` gave {type(made).__name__}, not arguments of run_agent")
        given = sorted(GIVEN & set(made))
        if given:
            raise JobError("not_a_run", f"the run `{job.name}` gave `{given[0]}`, which the worker gives")
        return dict(made)

    def lacks(self, kind: str) -> str:
        """The text about a run that this app cannot make."""
        known = ", ".join(f"`{name}`" for name in sorted(self.makers)) or "none"
        return f"this app has no run named `{kind}`; it has {known}"

    def limit(self, tenant: str) -> int | None:
        """How many runs of a tenant may be made at once; None: any number."""
        return self.tenant_limits.get(tenant, self.tenant_limit) if tenant else None
