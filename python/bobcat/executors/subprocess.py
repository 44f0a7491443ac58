"""The executor that runs each tool call in a separate process. `bobcat.executors.sandbox` lists the limits."""

from __future__ import annotations

import time

from bobcat.executors.base import Executor
from bobcat.executors.inline import milliseconds_since
from bobcat.executors.sandbox import ENV_ALLOWLIST, SandboxError, check_limits, run_in_subprocess
from bobcat.model.decision import ActionRequest
from bobcat.model.run import ActionResult, ToolDef, UncertainResult


def subprocess_executor(
    *,
    cpu_seconds: int = 30,
    max_memory_mb: int = 512,
    timeout_seconds: float = 60.0,
    env_allowlist: tuple[str, ...] = ENV_ALLOWLIST,
) -> Executor:
    """Run each call in a fresh interpreter, in the workspace of the run, within these limits.

    For tools that are trusted but may run away; not a security boundary. A tool must be an async function that can be
    imported. The timeout, and the end of the run, kill the process and all processes that it started.

    `cpu_seconds` is processor time, `timeout_seconds` wall time, `max_memory_mb` address space in MiB; `env_allowlist`
    names the environment variables that are passed on. Raises `TypeError` or `ValueError` for invalid limits.
    """
    check_limits(cpu_seconds, max_memory_mb, timeout_seconds, env_allowlist)

    async def execute(request: ActionRequest, tool: ToolDef) -> ActionResult:
        started = time.perf_counter()
        try:
            value = await run_in_subprocess(
                tool.fn,
                request.args,
                cpu_seconds=cpu_seconds,
                max_memory_mb=max_memory_mb,
                workspace=request.context.workspace or None,
                timeout_seconds=timeout_seconds,
                env_allowlist=env_allowlist,
            )
        except SandboxError as error:
            kind = UncertainResult if error.uncertain else ActionResult
            return kind(False, error=f"SandboxError: {error}", duration_ms=milliseconds_since(started))
        return ActionResult(True, value, None, milliseconds_since(started))

    return execute
