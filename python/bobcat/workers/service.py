"""One worker process: a dispatcher that works, and beside it heartbeats, health, metrics and retention."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from bobcat.aio.tasks import wait_shielded
from bobcat.stores.counts import StoreCounts, count_live
from bobcat.workers.dispatcher import Dispatcher
from bobcat.workers.health import Health, watch
from bobcat.workers.health_server import HealthServer
from bobcat.workers.otel_metrics import export_metrics
from bobcat.workers.presence import Presence
from bobcat.workers.retention import prune_for_ever
from bobcat.workers.runner import Runner
from bobcat.workers.store_meter import measure_appends
from bobcat.workers.worker_metrics import metrics_text

GRACE_SECONDS = 20.0
"""Time that runs get to end after SIGTERM.

With the time to release the others and to disconnect, a worker ends within the 30 seconds of Kubernetes.
"""
SCRAPE_SECONDS = 4.0
LEAVING_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """Options of a worker process.

    `health` is the address of `/healthz`, `/readyz` and `/metrics`. With `otel`, the metrics are also instruments of
    the process's OpenTelemetry meter provider.
    """

    concurrency: int = 4
    grace_seconds: float = GRACE_SECONDS
    health: tuple[str, int] | None = None
    otel: bool = False


class WorkerService:
    """Executes the runs of a runner until `stop` is set."""

    def __init__(self, runner: Runner, dispatcher: Dispatcher, options: ServiceOptions) -> None:
        self._runner, self._dispatcher, self._options = runner, dispatcher, options
        self.health = Health()
        self.server: HealthServer | None = None
        self._presence = Presence(
            runner.store,
            name=runner.owner,
            kinds=list(runner.workers.makers),
            concurrency=options.concurrency,
            lease_seconds=runner.lease_seconds,
            state=self._state,
        )

    def listen(self) -> None:
        """Open the address of the probes. Raises `OSError`."""
        if self._options.health is not None:
            self.server = HealthServer(*self._options.health, self.health, self.metrics)

    async def work(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set and the runs in progress have ended or were released.

        Raises the exceptions of the dispatcher's start, and those of a store that cannot be used at the start.
        """
        runner, options = self._runner, self._options
        measure_appends(runner.store, runner.activity)
        if options.otel:
            export_metrics(runner.activity, runner.store)
        await self._presence.beat()
        tasks = [
            asyncio.create_task(watch(self.health, runner.store)),
            asyncio.create_task(self._presence.beat_for_ever()),
            asyncio.create_task(self._drain_when(stop)),
        ]
        if runner.workers.retention:
            tasks.append(asyncio.create_task(prune_for_ever(runner.store, runner.workers.retention, runner.activity)))
        try:
            self.health.started = True
            await self._dispatcher.work(
                runner, concurrency=options.concurrency, stop=stop, grace_seconds=options.grace_seconds
            )
        finally:
            self.health.draining = True
            for task in tasks:
                task.cancel()
            await wait_shielded(asyncio.wait(tasks, timeout=LEAVING_SECONDS))  # a database may not answer
            with suppress(Exception):  # an unavailable store: the document is forgotten later
                async with asyncio.timeout(LEAVING_SECONDS):
                    await self._presence.leave()
            if self.server is not None:
                await asyncio.to_thread(self.server.close)

    async def metrics(self) -> str:
        """The metrics in the text format of Prometheus."""
        counts: StoreCounts | None = None
        with suppress(Exception):  # a store that does not answer: its metrics are missing, `store_up` is 0
            async with asyncio.timeout(SCRAPE_SECONDS):
                counts = await count_live(self._runner.store)
        return metrics_text(self._runner.activity, counts, concurrency=self._options.concurrency)

    async def _drain_when(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self.health.draining = True
        with suppress(Exception):  # an unavailable store
            await self._presence.beat()

    def _state(self) -> tuple[Sequence[str], bool]:
        return self._runner.activity.run_ids, self.health.draining
