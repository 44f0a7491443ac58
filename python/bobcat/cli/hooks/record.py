"""The record of one hook call in a decision log: its decision, and a status that says what the host was told.

One entry holds all of it. The outcome is the host's, and unknown to a hook: a permitted call is `permitted`, not `ok`.
The native hook writes the same in `rust/hook/src/log/record.rs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from bobcat.cli.hooks.answer import Answer
from bobcat.cli.hooks.call import Call, HookError
from bobcat.cli.hooks.exact import is_exact
from bobcat.decision_log import open_log
from bobcat.errors import DecisionLogError
from bobcat.model.decision import Decision, Verdict
from bobcat.runtime.mediator import effective_args


@dataclass(frozen=True, slots=True)
class Recorded:
    """The facts of a record that neither the call nor its answer has. Any: JSON."""

    bundle_id: str
    decision: Decision
    more: Mapping[str, Any] = field(default_factory=dict)


def record(target: str, call: Call, chosen: Answer, facts: Recorded) -> None:
    """Append the record of a call, durably. Raises `HookError`."""
    body = record_body(call, chosen, facts)
    try:
        with open_log(target) as log:
            log.append(uuid4().hex, "outcome", body)
    except DecisionLogError as error:
        raise HookError(f"the decision log cannot be written: {error}") from error


def record_body(call: Call, chosen: Answer, facts: Recorded) -> dict[str, Any]:  # Any: JSON
    """The body of the entry. Raises `HookError` for arguments without an exact form."""
    request, decision = call.request, facts.decision
    args = effective_args(request, decision)
    if not is_exact(request.args) or not is_exact(args):
        raise HookError("the arguments have no exact JSON form: the call cannot be recorded")
    context = request.context
    body: dict[str, Any] = {
        "tool": request.tool,
        "args": args,
        "principal": {"kind": context.principal.kind, "id": context.principal.id},
        "environment": context.environment,
        "workspace": context.workspace,
        "extra": context.extra,
        "bundle_id": facts.bundle_id,
        "verdict": str(decision.verdict),
        "reason": decision.reason,
        "matched_rules": list(decision.matched_rules),
        "status": chosen.status,
    }
    if decision.transform_args is not None:
        body["proposed_args"] = request.args
    if chosen.kind == "deny" and decision.verdict is not Verdict.DENY:
        body["error"] = chosen.reason
    return {**body, **facts.more}
