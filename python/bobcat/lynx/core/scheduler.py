"""`run_agent`, under lynx-agent's path, with its defaults and in its manner: see `bobcat.kernel.manner`."""

from __future__ import annotations

from collections.abc import Sequence

from bobcat.agent import Agent
from bobcat.approvals import ApprovalHandler
from bobcat.bundle import PolicyBundle
from bobcat.cancel import Cancelled
from bobcat.executors import Executor
from bobcat.journal import RunStore
from bobcat.kernel.loop import run_in_manner
from bobcat.kernel.manner import INCUMBENT
from bobcat.kernel.options import Options
from bobcat.lynx.core.types import Budget
from bobcat.model import Principal, RunResult
from bobcat.sinks import Sink
from bobcat.tools import ToolSet

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
    """Run `agent` on `task` as lynx-agent 2.5 does: nothing is capped, and the switch is read between steps."""
    options = Options(
        tools=tools, policy=policy, sinks=sinks, on_approval=on_approval, budget=budget, principal=principal,
        environment=environment, workspace=workspace, correlation_id=correlation_id, store=store, run_id=run_id,
        executor=executor, cancel=cancel,
    )  # fmt: skip
    return await run_in_manner(INCUMBENT, agent, task, options)
