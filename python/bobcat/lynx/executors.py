"""Executors, under lynx-agent's path. With the inline executor, a `TimeoutError` of the tool itself is reported as a
timeout.
"""

from __future__ import annotations

from bobcat.executors import Executor, route_executor, subprocess_executor
from bobcat.executors.inline import run_inline
from bobcat.model.decision import ActionRequest
from bobcat.model.run import ActionResult, ToolDef

__all__ = ["Executor", "inline_executor", "route_executor", "subprocess_executor"]


def inline_executor(*, timeout_seconds: float | None = None) -> Executor:
    """Return an executor that runs tools inline, each for at most `timeout_seconds`."""

    async def execute(request: ActionRequest, tool: ToolDef) -> ActionResult:
        return await run_inline(tool, request.args, timeout_seconds, distinguishes_timeouts=False)

    return execute
