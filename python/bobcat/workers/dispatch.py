"""The seam to an engine that queues: small enough that another one is a page of code.

An engine has two jobs: to call `Runner.execute(run_id)` on some worker, not before a job's time, at least once; and to
stop in good order. Everything else is done already: calling it twice for the same run, at once or later, executes
nothing twice, for the second call finds the run leased, over, or waiting for its time.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from bobcat.workers.job import Job
    from bobcat.workers.runner import Runner


@dataclass(frozen=True, slots=True)
class Delivery:
    """What came of one call of `Runner.execute`.

    `outcome` is the status of the run, or why nothing was done: `busy` (another worker has it), `early` (its time has
    not come), `full` (its tenant has as many as it may have), `not_mine` (this app has no such run), `damaged` (the
    job cannot be read), `unknown` (there is no such job).
    With `again`, the engine calls once more at that time.
    """

    outcome: str
    again: datetime | None = None
    error: str | None = None


class Dispatcher(Protocol):
    """An engine that queues."""

    async def enqueue(self, job: Job) -> None:
        """Have `Runner.execute(job.run_id)` called at `job.run_at`, by `job.priority`. Twice is as good as once.

        The job and the status `queued` are in the store by then; an engine that reads them there has nothing to do.
        """

    async def cancel(self, run_id: str) -> None:
        """Forget a run that was not begun, if that is easy. `execute` would do nothing with it."""

    async def work(self, runner: Runner, *, concurrency: int, stop: asyncio.Event, grace_seconds: float) -> None:
        """Call `runner.execute` until `stop` is set, `concurrency` at once. Then begin nothing more, give what runs
        `grace_seconds` to end, and cancel the rest: such runs go on elsewhere."""
