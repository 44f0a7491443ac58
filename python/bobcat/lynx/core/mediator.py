"""`mediate`, under lynx-agent's path and with its habits: only `transform` changes arguments, what is true grants."""

from __future__ import annotations

from typing import assert_never

from bobcat.approvals import ApprovalHandler, ask_loosely
from bobcat.executors import Executor
from bobcat.frozen import deep_freeze, thaw
from bobcat.lynx.executors import inline_executor
from bobcat.mediator import execute, preview, refused, with_args
from bobcat.model import ActionRequest, ActionResult, ApprovalRequest, Decision, Verdict
from bobcat.tools import ToolSet

__all__ = ["mediate"]


async def mediate(
    request: ActionRequest,
    decision: Decision,
    tools: ToolSet,
    on_approval: ApprovalHandler,
    executor: Executor | None = None,
) -> ActionResult:
    """Carry out one decided action, and say how it came out. Raises `KeyError` for a tool that is not there.

    A verdict that is none is a refusal; lynx-agent took it for `allow`.
    """
    refusal = refused(decision, transforms_any_verdict=False)
    if refusal is not None:
        return ActionResult(False, error=refusal)
    request = with_args(request, deep_freeze(dict(request.args)))
    match decision.verdict:
        case Verdict.APPROVE_REQUIRED:
            shown = with_args(request, thaw(request.args))
            answer = await ask_loosely(on_approval, ApprovalRequest(shown, decision, request.context.correlation_id))
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
