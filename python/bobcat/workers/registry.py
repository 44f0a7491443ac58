"""`Workers`: the runs that an app supports, by name, and their limits. `bobcat worker app.py` loads it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any, Protocol, TypeVar

from bobcat.aio.cancel import CancelToken
from bobcat.errors import JobError
from bobcat.model.run import RunResult
from bobcat.runtime.lease import LeaseKeeper
from bobcat.stores.protocol import DurableStore
from bobcat.workers.app_versions import ON_VERSION, OnVersion
from bobcat.workers.cron import parse_cron
from bobcat.workers.job import Job, kind_of
from bobcat.workers.jobs import Jobs
from bobcat.workers.kind_options import KindOptions, kind_options
from bobcat.workers.retention import Retention, check_retention
from bobcat.workers.retry import Retry
from bobcat.workers.schedules import Schedule

# Any: the keyword arguments of `run_agent`
Maker = Callable[[Job], Awaitable[Mapping[str, Any]] | Mapping[str, Any]]
M = TypeVar("M", bound=Maker)
OnDead = Callable[[Job, str], Awaitable[object] | object]

SUPPLIED = frozenset(("store", "run_id", "owner", "lease_seconds", "durable"))
"""Arguments of `run_agent` that the worker supplies."""


FIRING = "trigger:"
"""Prefix of the run ids that a trigger's firings have."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a job: the `arguments` of `run_agent` that the app made for it, and what the worker supplies.

    The `lease` is that of the job's run; the worker ends it after the attempt.
    """

    store: DurableStore
    job: Job
    arguments: Mapping[str, Any]
    lease: LeaseKeeper
    cancel: CancelToken


class TriggerEngine(Protocol):
    """Queues the firings of triggers, checks the consent to each of them, and executes those that are turns."""

    async def queue_due(self, store: DurableStore, jobs: Jobs) -> None:
        """Queue the firings of due triggers. A failing trigger does not block the others."""

    async def check(self, attempt: Attempt) -> None:
        """Check a firing against its consent. Raises `JobError` for one that must not run."""

    async def run_turn(self, attempt: Attempt) -> RunResult:
        """Send the job's task to its thread, once, and execute the turn. Raises `JobError` for one that failed."""


@dataclass(slots=True)
class Workers:
    """The runs of an app.

    `max_attempts` is the number of attempts at a run that fails for a transient reason (the agent raised or timed out,
    the store was unavailable), or whose worker dies; `backoff_seconds` the delay after the first failure, doubled after
    each further one; `retry` has more precise rules (`Retry`). A run that has used up its attempts is `dead`, and
    `on_dead` is called with its job and the reason.

    `tenant_limit` is the number of runs of one tenant that may execute at once, on all workers together;
    `tenant_limits` overrides it by tenant. Jobs without a tenant are not limited. `retention` is the time after which
    workers remove runs of a status, such as `{"succeeded": timedelta(days=30)}`.

    `version` is that of the app: a run remembers the version that began it, and `on_version` decides which workers may
    continue it, and begin new ones: `move` (also newer versions), `pin` (only the same), `drain` (only the same, and
    new runs go to the newest).
    """

    max_attempts: int = 5
    backoff_seconds: float = 2.0
    max_backoff_seconds: float = 3600.0
    tenant_limit: int | None = None
    tenant_limits: Mapping[str, int] = field(default_factory=dict)
    makers: dict[str, Maker] = field(default_factory=dict)
    schedules: list[Schedule] = field(default_factory=list)
    triggers: TriggerEngine | None = None
    retention: Retention = field(default_factory=dict)
    retry: Retry | None = None
    version: str = ""
    on_version: OnVersion = "move"
    on_dead: OnDead | None = None
    kind_options: dict[str, KindOptions] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the options. Raises `ValueError`."""
        check_retention(self.retention)
        if self.on_version not in ON_VERSION:
            raise ValueError(f"on_version must be one of {', '.join(map(repr, ON_VERSION))}, got `{self.on_version!r}`")
        if not isinstance(self.version, str):
            raise ValueError(f"the version of an app must be a string, got `{self.version!r}`")

    def retry_of(self, kind: str) -> Retry:
        """The rules for the attempts at runs of a kind."""
        own = self.kind_options[kind].retry if kind in self.kind_options else None
        given = self.retry if own is None else own
        if given is not None:
            return given
        return Retry(self.max_attempts, self.backoff_seconds, max_backoff_seconds=self.max_backoff_seconds)

    async def check(self, attempt: Attempt) -> None:
        """Check the consent to a trigger's firing. Raises `JobError`; other runs need none."""
        if not attempt.job.run_id.startswith(FIRING):
            return
        if self.triggers is None:
            raise JobError("no_consent", "this app has no triggers: it cannot check the consent to a firing")
        await self.triggers.check(attempt)

    async def run_turn(self, attempt: Attempt) -> RunResult:
        """Execute a job that is a turn of a thread. Raises `JobError`."""
        if self.triggers is None:
            raise JobError("not_a_run", "a run in a thread needs `WorkerTriggers(workers)` in the app")
        return await self.triggers.run_turn(attempt)

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
        retry: Retry | None = None,
        concurrency: int | None = None,
        rate: str | None = None,
    ) -> Callable[[M], M]:
        """Register a factory of the runs called `name`: a function from a `Job` to arguments of `run_agent`.

        It is called for every attempt; `agent`, `task`, `tools` and `policy` are required, `store`, `run_id` and the
        lease are supplied by the worker, `on_approval` defaults to `durable_approvals(store)`, and `tenant` to that of
        the job. With `cron` the run is also queued on that schedule, once for each time whatever the number of workers.

        A worker takes only runs that its app supports. With `version`, these are the jobs that were queued for this
        version; one function may be registered for several, and without a version too.

        Over all workers of a store, at most `concurrency` of these runs execute at once, and they begin at most at the
        `rate`, evenly spaced: `100/m`, or per `s`, `h`, `d`. `retry` replaces that of the app.
        """
        if not isinstance(name, str) or not name:
            raise ValueError("the name of a run must be a non-empty string")
        if version is not None and (not isinstance(version, str) or not version):
            raise ValueError(f"a version must be a non-empty string, got `{version!r}`")
        kind = kind_of(name, version)
        if kind in self.makers:
            raise ValueError(f"two runs are named `{kind}`")
        options = kind_options(retry, concurrency, rate)
        if cron is not None:
            parse_cron(cron, timezone)
            self.schedules.append(Schedule(name, cron, payload or {}, timezone, tenant, priority, version))

        def register(maker: M) -> M:
            self.makers[kind] = maker
            self.kind_options[kind] = options
            return maker

        return register

    async def make(self, job: Job) -> dict[str, Any]:  # Any: arguments of `run_agent`
        """The arguments of `run_agent` for a job.

        Raises the factory's exceptions, and `JobError` for invalid arguments.
        """
        maker = self.makers.get(job.kind)
        if maker is None:
            raise JobError("unknown", self.missing_kind(job.kind))
        options: object = maker(job)
        if isawaitable(options):
            options = await options
        if not isinstance(options, Mapping):
            raise JobError(
                "not_a_run", f"the run `{job.name}` returned {type(options).__name__}, not arguments of run_agent"
            )
        reserved = sorted(SUPPLIED & set(options))
        if reserved:
            raise JobError("not_a_run", f"the run `{job.name}` returned `{reserved[0]}`, which the worker supplies")
        return dict(options)

    def missing_kind(self, kind: str) -> str:
        """The message for a run that this app does not have."""
        known = ", ".join(f"`{name}`" for name in sorted(self.makers)) or "none"
        return f"this app has no run named `{kind}`; it has {known}"

    def limit(self, tenant: str) -> int | None:
        """Maximum number of runs of a tenant at once; None: unlimited."""
        return self.tenant_limits.get(tenant, self.tenant_limit) if tenant else None
