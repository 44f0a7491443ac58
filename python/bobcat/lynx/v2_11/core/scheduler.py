"""`run_agent` as lynx-agent 2.11 has it: with caps by default, and with obligations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from bobcat.aio.cancel import Cancelled
from bobcat.approvals import ApprovalHandler, Pending
from bobcat.bundle import Policy
from bobcat.compression import Compressor
from bobcat.executors import Executor
from bobcat.journal.records import RunStore
from bobcat.lynx.v2_11.bundles import ObligedBundle, PolicyBundle
from bobcat.lynx.v2_11.core.types import Decision
from bobcat.lynx.v2_11.fulfilment import ObligationRegistry, checked_registry
from bobcat.lynx.v2_11.layers import LayeredPolicyBundle
from bobcat.lynx.v2_11.obliged_run import ObligedDriver
from bobcat.model.agent import Agent
from bobcat.model.decision import Principal
from bobcat.model.run import ApprovalDecision, ApprovalRequest, Budget, RunResult
from bobcat.runtime.compat import LYNX_2_11
from bobcat.runtime.loop import run_with
from bobcat.runtime.options import Options
from bobcat.sinks import Sink, noop_sink
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
    obligations: ObligationRegistry | None = None,
) -> RunResult:
    """Run `agent` on `task` like lynx-agent 2.11: without a budget, 50 steps and 600 seconds at most.

    `obligations` are the handlers of obligations, by the id of the obligation.
    """
    registry = checked_registry(obligations)
    obliged = isinstance(policy, LayeredPolicyBundle | ObligedBundle)
    obliged = obliged or (isinstance(policy, PolicyBundle) and bool(policy.python_rules))
    if obliged:
        sinks = (*sinks, noop_sink())  # an observed run has an event for each refusal
    elif on_approval is not None:
        on_approval = partial(_ask, on_approval)
    options = Options(
        tools=tools, policy=policy, sinks=sinks, on_approval=on_approval, budget=budget, principal=principal,
        environment=environment, workspace=workspace, correlation_id=correlation_id, store=store, run_id=run_id,
        executor=executor, cancel=cancel, compressor=compressor,
    )  # fmt: skip
    if not obliged:
        return await run_with(LYNX_2_11, agent, task, options)
    driver_type = partial(ObligedDriver, registry)
    return await run_with(LYNX_2_11, agent, task, options, use_fast_path=False, driver_type=driver_type)


async def _ask(on_approval: ApprovalHandler, asked: ApprovalRequest) -> ApprovalDecision | Pending:
    """Ask for an approval; the decision that the handler reads has obligations."""
    decision = asked.decision
    return await on_approval(replace(asked, decision=Decision.of(decision, decision.matched_rules)))
