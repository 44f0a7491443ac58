"""`CeleryDispatcher`: tasks of Celery wake the workers, through RabbitMQ or Redis. For any store.

A task carries no work: it wakes a worker of its kind, whose claims decide which run is next. A lost, late or repeated
task therefore costs one look at the queue of the store. The tasks are consumed over Celery's connection, in a thread,
and not by Celery's own worker: that one has no event loop, and there can be only one of it in a process.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Any

from bobcat.logs import logger
from bobcat.stores.errors import without_driver
from bobcat.text.json_text import format_exception
from bobcat.workers.claim_loop import POLL_SECONDS, ClaimLoop
from bobcat.workers.job import Job
from bobcat.workers.runner import Runner

log = logger("workers")

TASK = "bobcat.wake"
QUEUE = "bobcat."
"""Prefix of the queue of a kind: a worker receives only tasks for kinds that its app has."""
MESSAGE_SECONDS = 60
"""Time after which RabbitMQ drops a task that no worker took: workers have looked since."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
"""Seconds until the broker is connected to again: doubled from the first to the longest."""
DRAIN_SECONDS = 0.5
TRANSPORT = {"socket_timeout": 30.0, "max_retries": 1, "interval_start": 0.0, "interval_step": 0.2}
"""Options of the connections: a broker that is away is an error at once, and is connected to again here."""
PREFETCH = 100


class CeleryDispatcher:
    """Dispatches through the broker of Celery at `broker`, such as `amqp://guest@mq//` or `redis://db:6379/1`.

    `poll_seconds` is the longest time between two looks at the queue, for tasks that were lost.
    """

    def __init__(self, broker: str, *, poll_seconds: float = POLL_SECONDS) -> None:
        try:
            from celery import Celery
            from kombu.entity import Queue
        except ModuleNotFoundError as error:
            raise without_driver("CeleryDispatcher", "celery", "celery") from error
        self._app: Any = Celery("bobcat", broker=broker, set_as_current=False)  # Any: Celery has no types
        self._queue: Any = Queue
        self._app.conf.update(broker_connection_timeout=4.0, broker_transport_options=TRANSPORT)
        self._poll_seconds = poll_seconds

    async def enqueue(self, job: Job) -> None:
        """Wake a worker of the run's kind. The run is in the store: without a broker, it begins at the next look."""
        try:
            await asyncio.to_thread(
                self._app.send_task,
                TASK,
                (job.run_id,),
                queue=QUEUE + job.kind,
                ignore_result=True,
                retry=False,
                expires=MESSAGE_SECONDS,
                expiration=MESSAGE_SECONDS,
            )
        except Exception as error:
            log.warning("no worker was notified of run %s: %s", job.run_id, format_exception(error))

    async def cancel(self, run_id: str) -> None:
        """Do nothing: executing a cancelled run has no effect."""

    async def aclose(self) -> None:
        """Disconnect."""
        await asyncio.to_thread(self._app.close)

    async def work(self, runner: Runner, *, concurrency: int, stop: asyncio.Event, grace_seconds: float) -> None:
        """Claim and execute runs until `stop` is set; tasks announce them. A broker that fails is tried again."""
        claiming = ClaimLoop(runner, concurrency=concurrency, poll_seconds=self._poll_seconds)
        loop, stopped = asyncio.get_running_loop(), threading.Event()

        def wake(_: Any, message: Any) -> None:  # Any: kombu has no types
            message.ack()
            with suppress(RuntimeError):  # the event loop has ended
                loop.call_soon_threadsafe(claiming.wake)

        queues = [self._queue(QUEUE + kind, routing_key=QUEUE + kind) for kind in runner.workers.makers]
        consuming = threading.Thread(
            target=self._consume, args=(queues, wake, stopped), name="bobcat celery", daemon=True
        )
        consuming.start()
        try:
            await claiming.run(stop=stop, grace_seconds=grace_seconds)
        finally:
            stopped.set()
            await asyncio.to_thread(consuming.join, DRAIN_SECONDS * 4)
            await self.aclose()

    def _consume(self, queues: list[Any], wake: Any, stopped: threading.Event) -> None:  # Any: as above
        pause = FIRST_PAUSE
        while not stopped.is_set():
            try:
                with (
                    self._app.connection_for_read() as connection,
                    connection.Consumer(queues, callbacks=[wake], accept=["json"], prefetch_count=PREFETCH),
                ):
                    while not stopped.is_set():
                        with suppress(TimeoutError):
                            connection.drain_events(timeout=DRAIN_SECONDS)
                        pause = FIRST_PAUSE
            except Exception as error:  # any error of the broker, or of its driver
                log.warning("the broker is unavailable (%s): retry in %g s", format_exception(error), pause)
                stopped.wait(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
