"""Bodies of the audit events that say what a run was given and what each decision was made of.

Called by the machine, for runs that somebody observes. With the bundle, the body of `policy.evaluated` is enough to
decide again: see `bobcat.audit.decide_again`. Nothing here is read by the run itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bobcat.frozen import FrozenDict, deep_freeze
from bobcat.kernel.reply import Proposal
from bobcat.kernel.state import Setup
from bobcat.model import ActionRequest, Decision, ExecutionContext, ToolDef
from bobcat.requests import context_data, declared_data, principal_data

EVALUATED = "policy.evaluated"
"""The one decision event of a proposal."""
REEVALUATED = "policy.reevaluated"
"""A later decision on a proposal that was decided on already, as after an approver's edits."""

UNKNOWN_TOOL = "unknown_tool"
REPEATED_CALL = "repeated_call"
EXTRA_FAILED = "extra_failed"
TRANSFORM_REFUSED = "transform_refused"


def started_body(setup: Setup) -> dict[str, Any]:  # Any: JSON, here and below
    """The body of `run.started`."""
    body: dict[str, Any] = {"task": setup.task, "principal_id": setup.principal.id}
    if setup.manner.audits_decisions:
        body["bundle_id"] = setup.bundle_id
        body["run_id"] = setup.run_id
        body["principal"] = principal_data(setup.principal)
        body["environment"] = setup.environment
        body["workspace"] = setup.workspace
        body["budget"] = budget_data(setup.budget)
        tools = {name: declared_data(tool.metadata) for name, tool in setup.tools.tools.items()}
        body["tools"] = deep_freeze(tools)
        body["extra"] = setup.extra
        if setup.asks_extra:
            body["extra_provider"] = True
    return body


def evaluated_body(
    request: ActionRequest,
    decision: Decision,
    *,
    judged: Mapping[str, Any],
    completed: Sequence[Sequence[Mapping[str, Any]]] = (),
    code: str | None = None,
    doubt: str | None = None,
) -> dict[str, Any]:
    """The body of `policy.evaluated` for `request`, which has the arguments that run.

    `judged` are the arguments that the policy was asked about, `completed` those of each judgement's transforms with
    the tool's defaults, `code` says why the run refused the call by itself, `doubt` is the effect of an action that may
    have happened already.
    """
    body = decided_body(request.context.step_seq, decision)
    if decision.approvers:
        body["approvers"] = list(decision.approvers)
    if decision.approvals_needed != 1:
        body["approvals_needed"] = decision.approvals_needed
    if code is not None:
        body["code"] = code
    body["tool"] = request.tool
    body["args"] = request.args
    if judged is not request.args:
        body["judged_args"] = judged
    if any(completed):
        body["completed_args"] = deep_freeze([list(looks) for looks in completed])
    body["declared"] = deep_freeze(declared_data(request.declared))
    body["context"] = deep_freeze(context_data(request.context))
    if doubt is not None:
        body["doubt"] = doubt
    return body


def refused_body(
    call: Proposal,
    tool: ToolDef | None,
    context: ExecutionContext,
    decision: Decision,
    code: str,
    args: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The body of `policy.evaluated` for a call that the run refuses before the policy is asked."""
    body = decided_body(context.step_seq, decision)
    body["code"] = code
    body["tool"] = call.tool
    body["args"] = call.args if args is None else args
    body["declared"] = None if tool is None else deep_freeze(declared_data(tool.metadata))
    body["context"] = deep_freeze(context_data(context))
    return body


def decided_body(seq: int, decision: Decision) -> dict[str, Any]:
    """The part of a decision event that says what was decided."""
    return {
        "seq": seq,
        "verdict": decision.verdict.value,
        "reason": decision.reason,
        "matched_rules": list(decision.matched_rules),
    }


def budget_data(budget: Any) -> Mapping[str, Any]:  # Any: what has the attributes of a Budget
    """The caps of a budget by name."""
    fields = ("duration_seconds", "steps", "input_tokens", "output_tokens", "tokens", "step_timeout_seconds")
    return FrozenDict({name: getattr(budget, name, None) for name in (*fields, "max_repeated_calls")})
