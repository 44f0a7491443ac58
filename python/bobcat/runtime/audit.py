"""Bodies of the audit events: the inputs of a run, and the inputs of each decision.

Called by the machine, for runs with sinks. The body of `policy.evaluated` and the bundle suffice to repeat the
decision: see `bobcat.runtime.decide_again.decide_again`. The run itself reads none of these bodies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bobcat.journal.legacy_names import UNCERTAIN_EFFECT
from bobcat.model.decision import ActionRequest, Decision, ExecutionContext, obligations_of
from bobcat.model.frozen import FrozenDict, deep_freeze
from bobcat.model.masking import tags_of
from bobcat.model.request_json import context_data, declared_data, obligation_json, principal_data
from bobcat.model.run import ToolDef
from bobcat.runtime.budget import cost_cap
from bobcat.runtime.reply import Proposal
from bobcat.runtime.state import Setup

EVALUATED = "policy.evaluated"
"""Kind of the one decision event of a proposal."""
REEVALUATED = "policy.reevaluated"
"""Kind of a later decision event for the same proposal, for example after an approver's edits."""

UNKNOWN_TOOL = "unknown_tool"
REPEATED_CALL = "repeated_call"
EXTRA_FAILED = "extra_failed"
TRANSFORM_REFUSED = "transform_refused"


def started_body(setup: Setup) -> dict[str, Any]:  # Any: JSON, here and below
    """The body of `run.started`."""
    body: dict[str, Any] = {"task": setup.task, "principal_id": setup.principal.id}
    if setup.compat.audits_decisions:
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
    elif setup.compat.announces_unbounded:
        body["environment"] = setup.environment
        body["budget"] = budget_data(setup.budget)
    return body


def surroundings(setup: Setup) -> dict[str, Any]:
    """The inputs of every decision of a run, beside the calls: what a later explanation of a step needs."""
    return {
        "principal": principal_data(setup.principal),
        "environment": setup.environment,
        "workspace": setup.workspace,
        "declared": {name: declared_data(tool.metadata) for name, tool in setup.tools.tools.items()},
    }


def evaluated_body(
    request: ActionRequest,
    decision: Decision,
    *,
    evaluated: Mapping[str, Any],
    completed: Sequence[Sequence[Mapping[str, Any]]] = (),
    code: str | None = None,
    uncertain_effect: str | None = None,
    call_id: str = "",
) -> dict[str, Any]:
    """The body of `policy.evaluated` for `request`, which carries the effective arguments.

    `evaluated` are the arguments that the policy evaluated. `completed` are the transformed arguments with the tool's
    defaults, for each evaluation. `code` says why the run denied the call without the policy. `uncertain_effect` is the
    effect of an action that may already have happened, `call_id` the provider's name for the call.
    """
    body = decided_body(request.context.step_seq, decision)
    if decision.approvers:
        body["approvers"] = list(decision.approvers)
    if decision.approvals_needed != 1:
        body["approvals_needed"] = decision.approvals_needed
    if code is not None:
        body["code"] = code
    obligations = obligations_of(decision)
    if obligations:
        body["obligations"] = deep_freeze([obligation_json(each) for each in obligations])
        tags = tags_of(obligations)
        if tags:
            body["tags"] = deep_freeze(tags)
    body["tool"] = request.tool
    if call_id:
        body["call_id"] = call_id
    body["args"] = request.args
    if evaluated is not request.args:
        body["judged_args"] = evaluated
    if any(completed):
        body["completed_args"] = deep_freeze([list(arguments) for arguments in completed])
    body["declared"] = deep_freeze(declared_data(request.declared))
    body["context"] = deep_freeze(context_data(request.context))
    if uncertain_effect is not None:
        body[UNCERTAIN_EFFECT] = uncertain_effect
    return body


def refused_body(
    call: Proposal,
    tool: ToolDef | None,
    context: ExecutionContext,
    decision: Decision,
    code: str,
    args: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The body of `policy.evaluated` for a call that the run denies before it asks the policy."""
    body = decided_body(context.step_seq, decision)
    body["code"] = code
    body["tool"] = call.tool
    if call.call_id:
        body["call_id"] = call.call_id
    body["args"] = call.args if args is None else args
    body["declared"] = None if tool is None else deep_freeze(declared_data(tool.metadata))
    body["context"] = deep_freeze(context_data(context))
    return body


def decided_body(seq: int, decision: Decision) -> dict[str, Any]:
    """The decision fields of a decision event."""
    return {
        "seq": seq,
        "verdict": decision.verdict.value,
        "reason": decision.reason,
        "matched_rules": list(decision.matched_rules),
    }


def budget_data(budget: Any) -> Mapping[str, Any]:  # Any: any object with the attributes of a Budget
    """The caps of a budget by name."""
    fields = ("duration_seconds", "steps", "input_tokens", "output_tokens", "tokens", "step_timeout_seconds")
    found = {name: getattr(budget, name, None) for name in (*fields, "max_repeated_calls")}
    cost = cost_cap(budget)
    return FrozenDict(found if cost is None else {**found, "cost_micros": cost.usd})
