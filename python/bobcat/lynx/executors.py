"""Executors, under lynx-agent's path. In place, a `TimeoutError` of the tool's own is told as a timeout."""

from __future__ import annotations

from bobcat.executors import Executor, route_executor, subprocess_executor
from bobcat.executors.inline import run_inline
from bobcat.model import ActionRequest, ActionResult, ToolDef

__all__ = ["Executor", "inline_executor", "route_executor", "subprocess_executor"]


def inline_executor(*, timeout_seconds: float | None = None) -> Executor:
    """Run tools in place, each for at most `timeout_seconds`."""

    async def execute(request: ActionRequest, tool: ToolDef) -> ActionResult:
        return await run_inline(tool, request.args, timeout_seconds, tells_timeouts_apart=False)

    return execute
