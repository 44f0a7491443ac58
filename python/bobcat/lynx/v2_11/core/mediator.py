"""`mediate` as lynx-agent 2.11 has it. Obligations are refused."""

from __future__ import annotations

from bobcat.approvals import ApprovalHandler
from bobcat.executors import Executor
from bobcat.lynx.core.mediator import mediate as mediate_of_2_5
from bobcat.lynx.v2_11.absent import refuse
from bobcat.model.decision import ActionRequest, Decision
from bobcat.model.run import ActionResult
from bobcat.tools.toolset import ToolSet

__all__ = ["mediate"]


async def mediate(
    request: ActionRequest,
    decision: Decision,
    tools: ToolSet,
    on_approval: ApprovalHandler,
    executor: Executor | None = None,
    obligations: None = None,
) -> ActionResult:
    """Execute one decided action and return its result. Raises `KeyError` for an unknown tool."""
    refuse(obligations=obligations)
    return await mediate_of_2_5(request, decision, tools, on_approval, executor)
