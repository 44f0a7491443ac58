"""`mediate` as lynx-agent 2.11 has it: with obligations."""

from __future__ import annotations

from bobcat.approvals import ApprovalHandler
from bobcat.executors import Executor
from bobcat.lynx.core.mediator import frozen, perform, refused_by_approver
from bobcat.lynx.v2_11.core.types import ActionResult
from bobcat.lynx.v2_11.fulfilment import (
    ObligationHandler,
    ObligationRegistry,
    checked_registry,
    fulfil,
    obligations_of,
    of_phase,
    unmet,
)
from bobcat.model.decision import ActionRequest, Decision, Verdict
from bobcat.runtime.mediator import refused
from bobcat.tools.toolset import ToolSet

__all__ = ["ObligationHandler", "ObligationRegistry", "mediate"]


async def mediate(
    request: ActionRequest,
    decision: Decision,
    tools: ToolSet,
    on_approval: ApprovalHandler,
    executor: Executor | None = None,
    obligations: ObligationRegistry | None = None,
) -> ActionResult:
    """Execute one decided action, with the decision's obligations, and return its result.

    An action whose `pre` obligations are not all met does not run. A call that is denied, or not approved, has all its
    obligations met as far as possible, and so have the `post` obligations of one that ran. Raises `KeyError` for an
    unknown tool, `TypeError` for malformed obligations.
    """
    duties, registry = obligations_of(decision), checked_registry(obligations)
    refusal = refused(decision, transforms_any_verdict=False)
    if refusal is not None and decision.verdict is not Verdict.DENY:  # malformed: nothing runs
        return ActionResult(False, error=refusal)
    if refusal is None:
        request = frozen(request)
        refusal = await refused_by_approver(request, decision, on_approval)
    if refusal is not None:
        return ActionResult(False, error=refusal, obligations=await fulfil(duties, request, registry))
    before = await fulfil(of_phase(duties, "pre"), request, registry, until_failure=True)
    refusal = unmet(before)
    if refusal is not None:
        return ActionResult(False, error=refusal, obligations=before)
    result = await perform(request, decision, tools, executor)
    after = await fulfil(of_phase(duties, "post"), request, registry)
    return ActionResult.of(result, (*before, *after))
