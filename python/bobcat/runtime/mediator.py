"""The policy enforcement point: executes what a decision permits, and nothing else.

The run loop executes an action in parts (`bobcat.approvals.ask`, then `execute` or `preview`) because it journals
between them; `mediate` is the whole in one call, for guards and proxies. A fault of a tool, a shadow, an executor or an
approval handler never raises here: it is an `ActionResult` that is not ok.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, assert_never

from bobcat.aio.tasks import being_cancelled
from bobcat.approvals import ApprovalHandler, Pending, ask
from bobcat.errors import ArgumentError, ToolError
from bobcat.executors import Executor, inline_executor
from bobcat.model.decision import ActionRequest, Decision, Verdict, obligations_of
from bobcat.model.exact import for_tool
from bobcat.model.frozen import deep_freeze, thaw
from bobcat.model.run import ActionResult, ApprovalRequest, ToolDef
from bobcat.runtime.obligations import (
    Handlers,
    ObligationCall,
    checked_handlers,
    in_phase,
    perform,
    refusal_of,
)
from bobcat.text.json_text import format_exception, safe_str
from bobcat.tools.action import Action, is_marked, running
from bobcat.tools.signature import SUPPLIED, accepted_arguments, bind_arguments
from bobcat.tools.toolset import ToolSet

NO_TRANSFORM_ARGS = (
    "transform decision missing transform_args (must be a Mapping). Refusing to fall through to original args."
)


async def mediate(
    request: ActionRequest,
    decision: Decision,
    tools: ToolSet,
    on_approval: ApprovalHandler,
    executor: Executor | None = None,
    *,
    obligations: Handlers | None = None,
) -> ActionResult:
    """Execute one decided action and return its outcome. Failures are in `ActionResult.error`.

    The defaults of the tool's signature are added, and arguments that the tool does not take are refused, as in a run.
    The decision is about the call as given: where rules read arguments, call `bind_arguments` first. The arguments that
    run, are previewed or are shown to an approver are `decision.transform_args` when it has any. Edits by an approver
    are refused here: they would need another evaluation, which `run_agent` does. Further requests of a tool that
    `uses_action` marks are denied. `obligations` are the handlers of the decision's obligations, by name: without the
    handler of one before the effect, the call is refused.
    """
    handlers = checked_handlers(obligations)
    result, executed = await _mediate(request, decision, tools, on_approval, executor, handlers)
    call = ObligationCall(with_args(request, effective_args(request, decision)), decision, result)
    for each in in_phase(obligations_of(decision), "after" if executed else None):
        if executed is not None:
            await perform(handlers, each, call)
    return result


async def _mediate(
    request: ActionRequest,
    decision: Decision,
    tools: ToolSet,
    on_approval: ApprovalHandler,
    executor: Executor | None,
    handlers: Handlers,
) -> tuple[ActionResult, bool | None]:
    """The outcome; true if the tool or its shadow was executed, None if an obligation before it was not performed."""
    refusal = refused(decision)
    if refusal is not None:
        return ActionResult(False, error=refusal), False
    tool = tools.tools.get(request.tool)
    if tool is None:
        return ActionResult(False, error=f"unknown tool: {request.tool!r}"), False
    if SUPPLIED.get(tool.metadata.effect) and decision.verdict is not Verdict.DRY_RUN:
        problem = f"tool {tool.name!r} is {tool.metadata.effect}: it runs in `run_agent` only"
        return ActionResult(False, error=problem), False
    try:
        request = with_args(request, bind_arguments(tool, dict(effective_args(request, decision))))
    except ArgumentError as error:
        return ActionResult(False, error=str(error)), False
    except Exception as error:
        return ActionResult(False, error=f"denied: the arguments cannot be used: {format_exception(error)}"), False
    match decision.verdict:
        case Verdict.APPROVE_REQUIRED:
            shown = with_args(request, deep_freeze(thaw(request.args)))
            answer = await ask(
                on_approval,
                ApprovalRequest(shown, decision, request.context.correlation_id, definition=tool.definition),
            )
            if isinstance(answer, Pending):
                return ActionResult(False, error="denied: the approval is pending, and this call cannot wait"), False
            if answer.refusal is not None:
                return ActionResult(False, error=answer.refusal), False
            if answer.args is not None:
                edited = "denied: the approver edited the arguments; not evaluated again"
                return ActionResult(False, error=edited), False
        case Verdict.ALLOW | Verdict.TRANSFORM | Verdict.DENY | Verdict.DRY_RUN:
            pass
        case unreachable:
            assert_never(unreachable)
    for each in in_phase(obligations_of(decision), "before"):
        outcome = await perform(handlers, each, ObligationCall(request, decision))
        if outcome.code:
            return ActionResult(False, error=refusal_of(outcome)), None
    if decision.verdict is Verdict.DRY_RUN:
        return await preview(request, tool), True
    with running(Action(request) if is_marked(tool.fn) else None):
        return await execute(request, tool, executor or inline_executor()), True


def refused(decision: Decision, *, transforms_any_verdict: bool = True) -> str | None:
    """The error text of a decision that permits nothing, or None. An unknown verdict permits nothing."""
    verdict: object = decision.verdict
    if not isinstance(verdict, Verdict):
        return f"denied: unknown verdict {verdict!r}"
    if verdict is Verdict.DENY:
        return f"denied: {decision.reason or 'Policy denied this action'}"
    changed: object = decision.transform_args
    needed = verdict is Verdict.TRANSFORM or (changed is not None and transforms_any_verdict)
    return NO_TRANSFORM_ARGS if needed and not isinstance(changed, Mapping) else None


def effective_args(request: ActionRequest, decision: Decision) -> Mapping[str, Any]:
    """The effective arguments of a decision: the transformed ones when it has any, under any verdict."""
    return request.args if decision.transform_args is None else decision.transform_args


def bind_request(request: ActionRequest, tools: ToolSet) -> ActionRequest:
    """The request as a run with these tools evaluates it, with the tool's declared values and argument defaults.

    For tests of policies and for services that decide before they run. Raises `ArgumentError` for an unknown tool and
    for arguments that the tool does not take; a run denies both without asking the policy.
    """
    tool = tools.tools.get(request.tool)
    if tool is None:
        raise ArgumentError(f"unknown tool: {request.tool!r}", "unknown_tool")
    bound = bind_arguments(tool, dict(request.args))
    return ActionRequest(request.tool, bound, tool.metadata, request.context)


def with_args(request: ActionRequest, args: Mapping[str, Any]) -> ActionRequest:
    """The same request with other arguments."""
    return ActionRequest(request.tool, args, request.declared, request.context)


async def execute(request: ActionRequest, tool: ToolDef, executor: Executor) -> ActionResult:
    """Run a permitted action through `executor`, on a copy of the arguments that the tool may change."""
    try:
        outcome: object = await executor(with_args(request, for_tool(request.args)), tool)
    except asyncio.CancelledError as error:
        if being_cancelled():
            raise
        return ActionResult(False, error=f"executor raised {format_exception(error)}")
    except (Exception, SystemExit) as error:
        return ActionResult(False, error=f"executor raised {format_exception(error)}")
    if not isinstance(outcome, ActionResult):
        return ActionResult(
            False, error=f"executor returned {type(outcome).__name__}, not ActionResult (tool {request.tool!r})"
        )
    return outcome


async def preview(request: ActionRequest, tool: ToolDef, *, trim: bool = True) -> ActionResult:
    """Run the tool's shadow in place of the tool, with the arguments that the shadow takes (all, without `trim`)."""
    shadow = tool.shadow_fn
    if shadow is None:
        return ActionResult(False, error=f"tool {request.tool!r} has no shadow; cannot dry-run")
    started = time.perf_counter()
    try:
        args = for_tool(request.args)
        value = await shadow(**(accepted_arguments(shadow, args) if trim else args))
    except asyncio.CancelledError as error:
        if being_cancelled():
            raise
        return ActionResult(False, error=format_exception(error), duration_ms=_since(started))
    except (Exception, SystemExit) as error:
        text = safe_str(error) if isinstance(error, ToolError) else format_exception(error)
        return ActionResult(False, error=text, duration_ms=_since(started))
    return ActionResult(True, {"dry_run": True, "preview": value}, None, _since(started))


def _since(started: float) -> int:
    return int((time.perf_counter() - started) * 1000)
