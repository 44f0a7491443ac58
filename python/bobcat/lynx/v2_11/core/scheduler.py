"""`run_agent` as lynx-agent 2.11 has it: with caps by default. Obligations are refused."""

from __future__ import annotations

from collections.abc import Sequence

from bobcat.aio.cancel import Cancelled
from bobcat.approvals import ApprovalHandler
from bobcat.bundle import Policy
from bobcat.compression import Compressor
from bobcat.executors import Executor
from bobcat.journal.records import RunStore
from bobcat.lynx.v2_11.absent import refuse
from bobcat.model.agent import Agent
from bobcat.model.decision import Principal
from bobcat.model.run import Budget, RunResult
from bobcat.runtime.compat import LYNX_2_11
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
    policy: Policy,
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
    compressor: Compressor | None = None,
    obligations: None = None,
) -> RunResult:
    """Run `agent` on `task` like lynx-agent 2.11: without a budget, 50 steps and 600 seconds at most."""
    refuse(obligations=obligations)
    options = Options(
        tools=tools, policy=policy, sinks=sinks, on_approval=on_approval, budget=budget, principal=principal,
        environment=environment, workspace=workspace, correlation_id=correlation_id, store=store, run_id=run_id,
        executor=executor, cancel=cancel, compressor=compressor,
    )  # fmt: skip
    return await run_with(LYNX_2_11, agent, task, options)
