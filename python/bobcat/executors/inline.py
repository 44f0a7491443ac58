"""The default executor: the tool runs in this process and event loop."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Mapping
from typing import Any

from bobcat.errors import ToolError
from bobcat.executors.base import Executor
from bobcat.model.decision import ActionRequest
from bobcat.model.run import ActionResult, ToolDef, UncertainResult
from bobcat.text.json_text import format_exception, safe_str

TRACEBACK_CHARS = 500
"""Length of a failing tool's traceback in the error text, taken from its end."""


def inline_executor(*, timeout_seconds: float | None = None) -> Executor:
    """Run tools in place, each for at most `timeout_seconds`; with 0, no tool runs.

    The timeout, like the kill switch, ends a tool at its next `await`; a tool that never awaits cannot be ended. Raises
    `ValueError` for NaN, which would never expire.
    """
    if timeout_seconds is not None and timeout_seconds != timeout_seconds:
        raise ValueError("timeout_seconds must be a number, got NaN")

    async def execute(request: ActionRequest, tool: ToolDef) -> ActionResult:
        return await run_inline(tool, request.args, timeout_seconds)

    return execute


async def run_inline(
    tool: ToolDef,
    args: Mapping[str, Any],  # Any: arguments of the tool
    timeout_seconds: float | None = None,
    *,
    distinguishes_timeouts: bool = True,
) -> ActionResult:
    """Run one call. `distinguishes_timeouts`: a `TimeoutError` that the tool raised is an ordinary error."""
    started = time.perf_counter()
    try:
        if timeout_seconds is None:
            value = await tool.fn(**args)
            return ActionResult(True, value, None, milliseconds_since(started))
        if timeout_seconds <= 0:
            return ActionResult(False, error=late_text(tool, timeout_seconds))
        async with asyncio.timeout(timeout_seconds) as clock:
            value = await tool.fn(**args)
        return ActionResult(True, value, None, milliseconds_since(started))
    except (Exception, SystemExit) as error:
        late = isinstance(error, TimeoutError) and (
            not distinguishes_timeouts or (timeout_seconds is not None and clock.expired())
        )
        text = late_text(tool, timeout_seconds) if late else failure_text(error)
        return (UncertainResult if late else ActionResult)(False, None, text, milliseconds_since(started))


def milliseconds_since(started: float) -> int:
    """The milliseconds since a reading of `time.perf_counter`."""
    return int((time.perf_counter() - started) * 1000)


def late_text(tool: ToolDef, timeout_seconds: float | None) -> str:
    """The error text of a tool that exceeded its timeout."""
    return f"TimeoutError: tool {tool.name!r} timed out after {timeout_seconds}s"


def failure_text(error: BaseException) -> str:
    """The error text of a tool that raised: the exception, and the end of its traceback from the tool's own frame.

    A `ToolError` is its text.
    """
    if isinstance(error, ToolError):
        return safe_str(error)
    try:
        frames = error.__traceback__.tb_next if error.__traceback__ else None  # without the executor's frames
        trace = "".join(traceback.format_exception(type(error), error, frames))
    except Exception as second:
        trace = f"(the traceback cannot be shown: {type(second).__name__})"
    return f"{format_exception(error)}\n{trace[-TRACEBACK_CHARS:]}"
