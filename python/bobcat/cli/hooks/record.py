"""The record of one hook call in a decision log: its decision, and a status that says what the host was told.

One entry holds all of it. The outcome is the host's, and unknown to a hook: a permitted call is `permitted`, not `ok`.
The native hook writes the same in `rust/hook/src/log/record.rs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any
from uuid import uuid4

from bobcat.cli.hooks.answer import MAX_INT_BITS, Answer
from bobcat.cli.hooks.call import Call, HookError
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
    if not _is_exact(request.args) or not _is_exact(args):
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


def _is_exact(value: Any) -> bool:  # Any: frozen JSON
    """Return true for a value that the native hook can write: no infinity, lone surrogate or integer above its cap."""
    if isinstance(value, Mapping):
        return all(_is_exact(key) and _is_exact(item) for key, item in value.items())
    if isinstance(value, tuple | list):
        return all(map(_is_exact, value))
    if isinstance(value, str):
        return not any("\ud800" <= char <= "\udfff" for char in value)
    if isinstance(value, float):
        return isfinite(value)
    return type(value) is not int or value.bit_length() <= MAX_INT_BITS
