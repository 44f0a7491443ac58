"""The executor that gives each tool call a process of its own, alone and behind the run loop."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import sandbox_tools as tools
from bobcat import (
    ActionRequest,
    ActionResult,
    CancelToken,
    ExecutionContext,
    Executor,
    FinalAnswer,
    Principal,
    ToolCall,
    ToolDef,
    ToolMetadata,
    ToolSet,
    compile_policy,
    inline_executor,
    route_executor,
    run_agent,
    subprocess_executor,
)

ALLOW = compile_policy("defaults: {on_no_match: allow}")


def definition(fn: Any, isolation: str | None = None) -> ToolDef:
    return ToolDef(fn.__name__, "", fn, None, ToolMetadata("low", True, (), isolation=isolation))


def execute(executor: Executor, tool: ToolDef, workspace: str = "", **args: Any) -> ActionResult:
    context = ExecutionContext(Principal("user", "u"), "dev", workspace, "c", 0, datetime(2026, 1, 31, tzinfo=UTC))
    request = ActionRequest(tool.name, args, tool.metadata, context)

    async def main() -> ActionResult:
        return await executor(request, tool)

    return asyncio.run(main())


def test_a_value_comes_back_with_its_duration() -> None:
    result = execute(subprocess_executor(), definition(tools.echo), a=1)
    assert (result.ok, result.value, result.error) == (True, {"a": 1}, None)
    assert result.duration_ms > 10


def test_a_failure_is_a_sandbox_error_in_the_result() -> None:
    result = execute(subprocess_executor(), definition(tools.fails))
    assert not result.ok
    assert str(result.error).startswith("SandboxError: sandbox exited 1: ")
    assert result.duration_ms > 10
    late = execute(subprocess_executor(timeout_seconds=0), definition(tools.echo))
    assert late == ActionResult(False, error="SandboxError: sandbox timeout after 0s", duration_ms=late.duration_ms)


def test_the_tool_runs_in_the_workspace_of_the_run(tmp_path: Path) -> None:
    found = execute(subprocess_executor(), definition(tools.surroundings), workspace=str(tmp_path)).value
    assert found["directory"] == str(tmp_path)
    missing = execute(subprocess_executor(), definition(tools.echo), workspace=str(tmp_path / "nowhere"))
    assert str(missing.error).endswith("is not a directory")


def test_limits_that_bound_nothing_are_refused_when_the_executor_is_made() -> None:
    with pytest.raises(ValueError, match="timeout_seconds"):
        subprocess_executor(timeout_seconds=-1)


def test_a_route_sends_only_what_asks_for_it() -> None:
    async def where() -> int:
        return os.getpid()

    routes = route_executor({None: inline_executor(), "process": subprocess_executor()})
    assert execute(routes, definition(where)).value == os.getpid()
    assert execute(routes, definition(tools.echo, "process"), a=1).value == {"a": 1}
    refused = execute(routes, definition(tools.echo, "container"))
    assert refused.error == (
        "no executor routed for isolation 'container' (tool 'echo'); routes: ['(default)', 'process']"
    )


class Script:
    def __init__(self, *actions: ToolCall | FinalAnswer) -> None:
        self._actions = list(actions)
        self.messages: list[str] = []

    async def step(self, conversation: Any) -> ToolCall | FinalAnswer:
        self.messages = [message.content for message in conversation]
        return self._actions.pop(0)


def test_a_run_uses_it_and_goes_on_after_a_crash() -> None:
    agent = Script(ToolCall("dies", {}), ToolCall("echo", {"a": [1]}), FinalAnswer("done"))
    toolset = ToolSet({fn.__name__: definition(fn) for fn in (tools.dies, tools.echo)})
    result = asyncio.run(run_agent(agent, "t", tools=toolset, policy=ALLOW, executor=subprocess_executor()))
    assert result.final_answer == "done"
    assert agent.messages[2].startswith("[error] SandboxError: sandbox exited -9")
    assert agent.messages[4] == "[ok] {'a': [1]}"


def test_the_kill_switch_kills_the_process(tmp_path: Path) -> None:
    started, switch = tmp_path / "started", CancelToken()
    toolset = ToolSet({"blocks": definition(tools.blocks)})

    async def main() -> str | None:
        agent = Script(ToolCall("blocks", {"started": str(started)}))
        running = asyncio.create_task(
            run_agent(agent, "t", tools=toolset, policy=ALLOW, executor=subprocess_executor(), cancel=switch)
        )
        while not (started.exists() and started.read_text()):  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.02)
        switch.cancel("stop")
        return (await running).error

    assert asyncio.run(main()) == "cancelled: stop"
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
