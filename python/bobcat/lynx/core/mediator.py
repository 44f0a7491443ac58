"""`mediate`, under lynx-agent's path and with its behaviour: only `transform` changes arguments, any true value
grants.
"""

from __future__ import annotations

from bobcat.approvals import ApprovalHandler, ask_lynx_compat
from bobcat.executors import Executor
from bobcat.lynx.executors import inline_executor
from bobcat.model.decision import ActionRequest, Decision, Verdict, obligations_of
from bobcat.model.frozen import deep_freeze, thaw
from bobcat.model.run import ActionResult, ApprovalRequest
from bobcat.runtime.mediator import execute, preview, refused, with_args
from bobcat.runtime.obligations import in_phase
from bobcat.tools.toolset import ToolSet

__all__ = ["mediate"]


async def mediate(
    request: ActionRequest,
    decision: Decision,
    tools: ToolSet,
    on_approval: ApprovalHandler,
    executor: Executor | None = None,
) -> ActionResult:
    """Execute one decided action and return its result. Raises `KeyError` for an unknown tool.

    An invalid verdict is a denial; lynx-agent treated it as `allow`.
    """
    refusal = refused(decision, transforms_any_verdict=False)
    duty = next(iter(in_phase(obligations_of(decision), "before")), None)
    if refusal is None and duty is not None:  # of a policy of the strict profile
        refusal = f"denied: the obligation `{duty.name}` was not performed: `mediate` of lynx-agent performs none"
    if refusal is not None:
        return ActionResult(False, error=refusal)
    request = frozen(request)
    refusal = await refused_by_approver(request, decision, on_approval)
    if refusal is not None:
        return ActionResult(False, error=refusal)
    return await perform(request, decision, tools, executor)


def frozen(request: ActionRequest) -> ActionRequest:
    """Return a request with read-only arguments. Raises `ValueError` for cyclic ones."""
    return with_args(request, deep_freeze(dict(request.args)))


async def refused_by_approver(request: ActionRequest, decision: Decision, on_approval: ApprovalHandler) -> str | None:
    """Ask for the approval of a frozen request, if one is required.

    Returns the error text of a refusal, None for a grant.
    """
    if decision.verdict is not Verdict.APPROVE_REQUIRED:
        return None
    shown = with_args(request, thaw(request.args))
    asked = ApprovalRequest(shown, decision, request.context.correlation_id)
    return (await ask_lynx_compat(on_approval, asked)).refusal


async def perform(
    request: ActionRequest, decision: Decision, tools: ToolSet, executor: Executor | None
) -> ActionResult:
    """Execute, or preview, a frozen request after its approval. Raises `KeyError` for an unknown tool."""
    tool = tools.get(request.tool)
    if decision.verdict is Verdict.TRANSFORM:
        request = with_args(request, deep_freeze(dict(decision.transform_args or {})))
    if decision.verdict is Verdict.DRY_RUN:
        return await preview(request, tool, trim=False)
    return await execute(request, tool, executor or inline_executor())
