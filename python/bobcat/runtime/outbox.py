"""Records of a run that are on their way to its store: what is put meanwhile goes out together.

A write in the background begins when the run next waits for something, so records that are put before that share it.
An effect of the run waits for `flush`: only then is everything durable that was put before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from bobcat.aio.tasks import cancel_and_wait
from bobcat.journal.records import StepRecord

Write = Callable[[Sequence[StepRecord]], Awaitable[None]]


class Outbox:
    """Sends the records of one run, in their order, one write at a time.

    `write` makes records durable, all or none. When that fails, no later record is sent; `failed` is called for those
    that are lost.
    """

    def __init__(self, write: Write, failed: Callable[[], None]) -> None:
        self._write, self._failed = write, failed
        self._waiting: list[StepRecord] = []
        self._beginning: asyncio.Handle | None = None
        self._sending: asyncio.Task[None] | None = None
        self._flushing = False
        self._failure: BaseException | None = None

    def put(self, record: StepRecord) -> None:
        """Add a record. It is sent with the next `start` or `flush`."""
        self._waiting.append(record)

    def start(self) -> None:
        """Send in the background. A failure is raised by the next `flush`."""
        if self._beginning is None and self._sending is None and self._waiting:
            self._beginning = asyncio.get_running_loop().call_soon(self._begin)

    async def flush(self) -> None:
        """Wait until every record is durable. Raises what `write` raises, then and ever after."""
        await self.flush_with(self._write)

    async def flush_with(self, write: Write) -> None:
        """As `flush`, with `write` for the records that are not being sent yet."""
        if self._beginning is not None:
            self._beginning.cancel()
            self._beginning = None
        self._flushing = True
        try:
            if self._sending is not None:
                await asyncio.shield(self._sending)
            if self._failure is not None:
                raise self._failure
            if self._waiting:
                records, self._waiting = self._waiting, []
                await write(records)
        except BaseException as error:
            self._fail(error)
            raise
        finally:
            self._flushing = False

    async def stop(self) -> None:
        """End the write in progress. No record is sent any more."""
        self._waiting.clear()
        if self._beginning is not None:
            self._beginning.cancel()
        if self._sending is not None:
            await cancel_and_wait(self._sending)

    def _begin(self) -> None:
        self._beginning = None
        self._sending = asyncio.get_running_loop().create_task(self._send())

    async def _send(self) -> None:
        try:
            while self._waiting and self._failure is None and not self._flushing:
                records, self._waiting = self._waiting, []
                await self._write(records)
        except BaseException as error:
            self._fail(error)
        finally:
            self._sending = None

    def _fail(self, error: BaseException) -> None:
        self._waiting.clear()
        if isinstance(error, asyncio.CancelledError):  # of one wait; a later one must not pass for cancelled
            error = TimeoutError("an earlier write was not waited for")
        self._failure = self._failure or error
        self._failed()
