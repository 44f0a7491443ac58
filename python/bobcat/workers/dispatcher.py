"""Interface to a queueing engine, small enough that another engine fits on one page.

An engine has two tasks: to call `Runner.execute(run_id)` on some worker, not before a job's time, at least once; and to
stop cleanly. The rest is done here: calling it twice for the same run, at once or later, executes nothing twice,
because the second call finds the run leased, over, or waiting for its time.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from bobcat.workers.dispatch import RunQueue
from bobcat.workers.runner import Runner


class Dispatcher(RunQueue, Protocol):
    """An engine that queues runs and makes workers execute them."""

    async def work(self, runner: Runner, *, concurrency: int, stop: asyncio.Event, grace_seconds: float) -> None:
        """Call `runner.execute` until `stop` is set, `concurrency` at once.

        Then start nothing more, let runs in progress end within `grace_seconds`, and cancel the rest: such runs
        continue elsewhere.
        """
