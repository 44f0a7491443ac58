"""`run_agent`, under lynx-agent's path, with its defaults and compatibility options: see `bobcat.runtime.compat`."""

from __future__ import annotations

from collections.abc import Sequence

from bobcat.aio.cancel import Cancelled
from bobcat.approvals import ApprovalHandler
from bobcat.bundle import PolicyBundle
from bobcat.executors import Executor
from bobcat.journal.records import RunStore
from bobcat.lynx.core.types import Budget
from bobcat.model.agent import Agent
from bobcat.model.decision import Principal
from bobcat.model.run import RunResult
from bobcat.runtime.compat import LYNX_2_5
from bobcat.runtime.loop import run_with
from bobcat.runtime.options import Options
from bobcat.sinks import Sink
from bobcat.tools.toolset import ToolSet

__all__ = ["run_agent"]


async def run_agent(
    agent: Agent,
    task: str,
    *,
    tools: ToolSet,
    policy: PolicyBundle,
    sinks: Sequence[Sink] = (),
    on_approval: ApprovalHandler | None = None,
    budget: Budget = Budget(),  # noqa: B008 - a frozen value
    principal: Principal = Principal("user", "anonymous"),  # noqa: B008 - a frozen value
    environment: str = "dev",
    workspace: str = ".",
    correlation_id: str | None = None,
    store: RunStore | None = None,
    run_id: str | None = None,
    executor: Executor | None = None,
    cancel: Cancelled | None = None,
) -> RunResult:
    """Run `agent` on `task` like lynx-agent 2.5: no default limits, and the kill switch is checked between steps."""
    options = Options(
        tools=tools, policy=policy, sinks=sinks, on_approval=on_approval, budget=budget, principal=principal,
        environment=environment, workspace=workspace, correlation_id=correlation_id, store=store, run_id=run_id,
        executor=executor, cancel=cancel,
    )  # fmt: skip
    return await run_with(LYNX_2_5, agent, task, options)
