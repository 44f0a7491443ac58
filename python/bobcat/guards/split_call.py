"""A submission whose tool the framework runs between two of its callbacks, one before the tool and one after it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from bobcat.guard import Guard, Outcome
from bobcat.guards.answers import ToolError
from bobcat.text.json_text import safe_str
from bobcat.tools.function_schema import with_input_schema

Function = Callable[..., Any]  # Any: arguments and results of tools have any type
Schema = Mapping[str, Any]  # Any: a JSON Schema


async def decide(guard: Guard, tool: str, args: Mapping[str, Any], *, schema: Schema | None = None) -> Outcome:
    """Decide a call of a tool that the framework runs: `Guard.check`."""

    async def run(**_: Any) -> None:
        raise AssertionError("a decision runs nothing")

    return await guard.check(tool, args, run=_with_schema(run, schema))


class SplitCall:
    """One submission in two halves: `begin` decides and records, `end` reports what the tool did.

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
    async def begin(
        cls, guard: Guard, tool: str, args: Mapping[str, Any], *, schema: Schema | None = None, **options: Any
    ) -> SplitCall:
        """Submit a call up to the point where its tool would run.

        `schema` is the JSON Schema of the arguments as the framework declares it, for a guard that does not know the
        tool. `options` are the other keywords of `Guard.submit`.
        """
        call = cls()

        async def run(**effective: Any) -> Any:
            return await call._run(**effective)

        submission = asyncio.ensure_future(guard.submit(tool, args, run=_with_schema(run, schema), **options))
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

    async def end(self, value: Any, *, failed: bool = False) -> Outcome:  # Any: results of tools have any type
        """Report the tool's value, or with `failed` the text of its failure."""
        if not self._result.done():
            if failed:
                self._result.set_exception(ToolError(safe_str(value)))
            else:
                self._result.set_result(value)
        if self.outcome is None:
            if self._submission is None:
                raise RuntimeError("the call was not begun")
            self.outcome = await self._submission
        return self.outcome

    async def abandon(self) -> None:
        """End a call whose outcome will not be reported."""
        if self._submission is not None and not self._submission.done():
            self._submission.cancel()
            await asyncio.wait([self._submission])

    async def _run(self, **args: Any) -> Any:
        self._permitted.set_result(args)
        return await asyncio.wrap_future(self._result)


def _with_schema(run: Function, schema: Schema | None) -> Function:
    return run if schema is None else with_input_schema(run, schema)
