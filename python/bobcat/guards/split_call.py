"""A submission whose tool the framework runs between two of its callbacks, one before the tool and one after it."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import Any

from bobcat.guard import Guard, Outcome
from bobcat.guards.answers import ToolError


class SplitCall:
    """One submission in two halves: `begin` decides and records, `finish` or `fail` reports what the tool did.

    `args` are the effective arguments while the call may run. `outcome` is set once the submission has ended; after
    `begin` that means that the call must not run. A call that is abandoned is recorded as uncertain.
    """

    def __init__(self) -> None:
        self.args: dict[str, Any] | None = None  # Any: arguments of any call
        self.outcome: Outcome | None = None
        self._permitted: Future[dict[str, Any]] = Future()
        self._result: Future[Any] = Future()
        self._submission: asyncio.Future[Outcome] | None = None

    @classmethod
    async def begin(cls, guard: Guard, tool: str, args: dict[str, Any], **options: Any) -> SplitCall:
        """Submit a call up to the point where its tool would run. `options` are the keywords of `Guard.submit`."""
        call = cls()
        submission = asyncio.ensure_future(guard.submit(tool, args, run=call._run, **options))
        permitted = asyncio.wrap_future(call._permitted)
        call._submission = submission
        try:
            either: list[asyncio.Future[Any]] = [submission, permitted]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            submission.cancel()
            raise
        if submission.done():
            permitted.cancel()
            call.outcome = submission.result()
        else:
            call.args = permitted.result()
        return call

    async def finish(self, value: Any) -> Outcome:  # Any: results of tools have any type
        """Report the tool's value."""
        if not self._result.done():
            self._result.set_result(value)
        return await self._ended()

    async def fail(self, message: str) -> Outcome:
        """Report the tool's failure."""
        if not self._result.done():
            self._result.set_exception(ToolError(message))
        return await self._ended()

    async def abandon(self) -> None:
        """End a call whose outcome will not be reported."""
        if self._submission is not None and not self._submission.done():
            self._submission.cancel()
            await asyncio.wait([self._submission])

    async def _ended(self) -> Outcome:
        if self.outcome is None:
            if self._submission is None:
                raise RuntimeError("the call was not begun")
            self.outcome = await self._submission
        return self.outcome

    async def _run(self, **args: Any) -> Any:
        self._permitted.set_result(args)
        return await asyncio.wrap_future(self._result)
