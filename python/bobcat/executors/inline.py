"""The default executor: the tool runs here, in this process and event loop."""

from __future__ import annotations

import asyncio
import time
import traceback

from bobcat.executors.base import Executor
from bobcat.model import ActionRequest, ActionResult, ToolDef
from bobcat.plain_json import describe

TRACEBACK_CHARS = 500
"""How much of a failing tool's traceback, from its end, the error text carries."""


def inline_executor(*, timeout_seconds: float | None = None) -> Executor:
    """Run tools in place, each for at most `timeout_seconds`; 0 means that nothing may run.

    The timeout, like the kill switch, ends a tool at its next `await`; a tool that never awaits cannot be ended here.
    """

    async def execute(request: ActionRequest, tool: ToolDef) -> ActionResult:
        started = time.perf_counter()

        def took() -> int:
            return int((time.perf_counter() - started) * 1000)

        late = f"TimeoutError: tool {request.tool!r} timed out after {timeout_seconds}s"
        if timeout_seconds is not None and timeout_seconds <= 0:
            return ActionResult(False, error=late)
        try:
            if timeout_seconds is None:
                return ActionResult(True, await tool.fn(**request.args), None, took())
            async with asyncio.timeout(timeout_seconds) as clock:
                value = await tool.fn(**request.args)
            return ActionResult(True, value, None, took())
        except TimeoutError as error:
            if timeout_seconds is not None and clock.expired():
                return ActionResult(False, error=late, duration_ms=took())
            return ActionResult(False, error=_report(error), duration_ms=took())
        except (Exception, SystemExit) as error:
            return ActionResult(False, error=_report(error), duration_ms=took())

    return execute


def _report(error: BaseException) -> str:
    try:
        frames = error.__traceback__.tb_next if error.__traceback__ else None  # without our own
        trace = "".join(traceback.format_exception(type(error), error, frames))
    except Exception as second:
        trace = f"(the traceback cannot be shown: {type(second).__name__})"
    return f"{describe(error)}\n{trace[-TRACEBACK_CHARS:]}"
