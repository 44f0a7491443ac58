"""The result of one execution of a run by a worker, and the queue that a job goes into."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bobcat.workers.job import Job


@dataclass(frozen=True, slots=True)
class Delivery:
    """Result of one call of `Runner.execute`.

    `outcome` is the status of the run, or the reason why nothing was done: `busy` (another worker holds it), `early`
    (its time has not come), `full` (its tenant is at its limit), `not_mine` (this app has no such run), `damaged` (the
    job cannot be read), `unknown` (there is no such job). With `again`, the engine must call once more at that time.
    `begun` is false for an attempt that found the run leased to another worker.
    """

    outcome: str
    again: datetime | None = None
    error: str | None = None
    begun: bool = True


class RunQueue(Protocol):
    """The producer side of an engine."""

    async def enqueue(self, job: Job) -> None:
        """Schedule a call of `Runner.execute(job.run_id)` at `job.run_at`, by `job.priority`. Idempotent.

        The job and the status `queued` are in the store already; an engine that reads them there has nothing to do.
        """

    async def cancel(self, run_id: str) -> None:
        """Remove a run that has not started, if that is cheap. `execute` would do nothing with it."""
