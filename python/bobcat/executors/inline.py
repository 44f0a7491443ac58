"""The default executor: the tool runs here, in this process and event loop."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Mapping
from typing import Any

from bobcat.executors.base import Executor
from bobcat.model import ActionRequest, ActionResult, ToolDef
from bobcat.plain_json import describe

TRACEBACK_CHARS = 500
"""How much of a failing tool's traceback, from its end, the error text carries."""


def inline_executor(*, timeout_seconds: float | None = None) -> Executor:
    """Run tools in place, each for at most `timeout_seconds`; 0 means that nothing may run.

    The timeout, like the kill switch, ends a tool at its next `await`; a tool that never awaits cannot be ended here.
    Raises `ValueError` for NaN, which would end none.
    """
    if timeout_seconds is not None and timeout_seconds != timeout_seconds:
        raise ValueError("timeout_seconds must be a number, got NaN")

    async def execute(request: ActionRequest, tool: ToolDef) -> ActionResult:
        return await run_inline(tool, request.args, timeout_seconds)

    return execute


async def run_inline(
    tool: ToolDef,
    args: Mapping[str, Any],  # Any: what the tool takes
    timeout_seconds: float | None = None,
    *,
    tells_timeouts_apart: bool = True,
) -> ActionResult:
    """One call. `tells_timeouts_apart`: a `TimeoutError` of the tool's own is an error like any other."""
    started = time.perf_counter()
    try:
        if timeout_seconds is None:
            value = await tool.fn(**args)
            return ActionResult(True, value, None, int((time.perf_counter() - started) * 1000))
        if timeout_seconds <= 0:
            return ActionResult(False, error=late_text(tool, timeout_seconds))
        async with asyncio.timeout(timeout_seconds) as clock:
            value = await tool.fn(**args)
        return ActionResult(True, value, None, int((time.perf_counter() - started) * 1000))
    except (Exception, SystemExit) as error:
        late = isinstance(error, TimeoutError) and (
            not tells_timeouts_apart or (timeout_seconds is not None and clock.expired())
        )
        text = late_text(tool, timeout_seconds) if late else failure_text(error)
        return ActionResult(False, None, text, int((time.perf_counter() - started) * 1000))


def late_text(tool: ToolDef, timeout_seconds: float | None) -> str:
    """What is told of a tool that took too long."""
    return f"TimeoutError: tool {tool.name!r} timed out after {timeout_seconds}s"


def failure_text(error: BaseException) -> str:
    """What is told of a tool that raised: the exception, and the end of its traceback from the tool's own frame on."""
    try:
        frames = error.__traceback__.tb_next if error.__traceback__ else None  # without our own
        trace = "".join(traceback.format_exception(type(error), error, frames))
    except Exception as second:
        trace = f"(the traceback cannot be shown: {type(second).__name__})"
    return f"{describe(error)}\n{trace[-TRACEBACK_CHARS:]}"
