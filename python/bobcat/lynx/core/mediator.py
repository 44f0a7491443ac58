"""`mediate`, under lynx-agent's path and with its behaviour: only `transform` changes arguments, any true value
grants.
"""

from __future__ import annotations

from typing import assert_never

from bobcat.approvals import ApprovalHandler, ask_lynx_compat
from bobcat.executors import Executor
from bobcat.lynx.executors import inline_executor
from bobcat.model.decision import ActionRequest, Decision, Verdict
from bobcat.model.frozen import deep_freeze, thaw
from bobcat.model.run import ActionResult, ApprovalRequest
from bobcat.runtime.mediator import execute, preview, refused, with_args
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
    if refusal is not None:
        return ActionResult(False, error=refusal)
    request = with_args(request, deep_freeze(dict(request.args)))
    match decision.verdict:
        case Verdict.APPROVE_REQUIRED:
            shown = with_args(request, thaw(request.args))
            answer = await ask_lynx_compat(
                on_approval, ApprovalRequest(shown, decision, request.context.correlation_id)
            )
            if answer.refusal is not None:
                return ActionResult(False, error=answer.refusal)
        case Verdict.DRY_RUN:
            return await preview(request, tools.get(request.tool), trim=False)
        case Verdict.TRANSFORM:
            request = with_args(request, deep_freeze(dict(decision.transform_args or {})))
        case Verdict.ALLOW | Verdict.DENY:
            pass
        case unreachable:
            assert_never(unreachable)
    return await execute(request, tools.get(request.tool), executor or inline_executor())
