"""Audit lines: parse them, and repeat the decision on their calls.

A line is an event as `jsonl_sink` writes it. `bobcat log` reads files of them through this module; a run calls none of
it.

    with open("audit.jsonl") as file:
        for line in file:
            event = parse_line(line)
            if event.kind in DECISIONS:
                assert decide_again(event, bundle).verdict == event.body["verdict"]
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from bobcat.bundle import Policy
from bobcat.errors import AuditError
from bobcat.journal.legacy_names import UNCERTAIN_EFFECT
from bobcat.model.decision import ActionRequest, Decision, Verdict
from bobcat.model.frozen import deep_freeze
from bobcat.model.request_json import request_from_json
from bobcat.model.run import AuditEvent
from bobcat.runtime.audit import EVALUATED, REEVALUATED
from bobcat.runtime.evaluate import complete_transform, evaluate_or_deny, with_known_verdict
from bobcat.runtime.uncertainty import depends_on_uncertainty, require_approval, without_uncertainty
from bobcat.text.json_text import json_digest

DECISIONS = frozenset({EVALUATED, REEVALUATED})
"""The kinds of events that `decide_again` accepts."""

_FIELDS: dict[str, type] = {
    "correlation_id": str, "bundle_id": str, "seq": int, "kind": str, "timestamp": str, "body": dict,
}  # fmt: skip

Args = Mapping[str, Any]  # Any: arguments of a tool have any type


def parse_line(line: str | bytes) -> AuditEvent:
    """Parse one line of JSON into an event. Raises `AuditError` (`damaged`)."""
    try:
        data: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise AuditError("damaged", f"not JSON: {error}") from error
    if not isinstance(data, dict):
        raise AuditError("damaged", f"not an object, but {type(data).__name__}")
    for name, kind in _FIELDS.items():
        value = data.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise AuditError("damaged", f"`{name}` is not {kind.__name__}" if name in data else f"no `{name}`")
    try:
        at = datetime.fromisoformat(data["timestamp"])
    except ValueError as error:
        raise AuditError("damaged", f"`timestamp` is not a date: {error}") from error
    return AuditEvent(data["correlation_id"], data["bundle_id"], data["seq"], data["kind"], at, data["body"])


def decide_again(event: AuditEvent | str | bytes, bundle: Policy, *, args: Args | None = None) -> Decision:
    """The decision of `bundle` on the call of a `policy.evaluated` event, or of the line that a sink wrote for it.

    With the bundle of the run, it equals the recorded decision. A call that the run denied without the policy (the
    event has a `code`) is denied again under every bundle. `args` are the arguments that the policy evaluated, for an
    event that has only their digest.

    Raises `AuditError`: `damaged`; `not_a_decision`; `incomplete` when the event was written by lynx-agent or an older
    release, or the policy has rules that remember; `digested` when the arguments are needed; `other_args` when `args`
    have another digest; `inexact` when the line has values that JSON cannot represent.
    """
    if not isinstance(event, AuditEvent):
        event = parse_line(event)
    body = event.body
    if event.kind not in DECISIONS:
        raise AuditError("not_a_decision", f"the event is `{event.kind}`, not a decision")
    if body.get("code") is not None:
        refused = recorded(event)
        if refused.verdict is not Verdict.DENY:
            raise AuditError("damaged", "a call that the run denied without the policy has another verdict")
        return refused
    if bundle.remembers:
        why = (
            "the policy has rules that remember, and an event has no state; `bobcat explain --run` decides a step again"
        )
        raise AuditError("incomplete", why)
    request = _request(body, args)
    evaluations = iter(body.get("completed_args") or ())
    decision = with_known_verdict(_decide(bundle, request, evaluations))
    if body.get(UNCERTAIN_EFFECT) == "unsafe" and decision.verdict in (Verdict.ALLOW, Verdict.TRANSFORM):
        certain = without_uncertainty(request)
        if not depends_on_uncertainty(decision, _decide(bundle, certain, evaluations)):
            decision = require_approval(decision)
    return decision


def recorded(event: AuditEvent) -> Decision:
    """The recorded decision of an event. Raises `AuditError` (`damaged`)."""
    body = event.body
    try:
        verdict = Verdict(body["verdict"])
        changed = body.get("args") if "judged_args" in body else None
        return Decision(
            verdict,
            str(body.get("reason", "")),
            tuple(map(str, body.get("matched_rules", ()))),
            tuple(map(str, body.get("approvers", ()))),
            changed,
            approvals_needed=body.get("approvals_needed", 1),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise AuditError("damaged", f"the event has no valid decision: {error}") from error


def _request(body: Mapping[str, Any], args: Args | None) -> ActionRequest:  # Any: JSON
    if not {"tool", "declared", "context"} <= body.keys():
        raise AuditError("incomplete", "the event lacks the tool, the declaration or the context")
    if body.get("inexact"):
        raise AuditError("inexact", "the line has values that JSON cannot represent")
    data = {name: body[name] for name in ("tool", "declared", "context")}
    data["args"] = _evaluated_args(body, args)
    try:
        request = request_from_json(data)
        return ActionRequest(request.tool, deep_freeze(dict(request.args)), request.declared, request.context)
    except ValueError as error:
        raise AuditError("damaged", str(error)) from error


def _evaluated_args(body: Mapping[str, Any], args: Args | None) -> object:
    """The arguments that the policy evaluated."""
    if any(each.get("name") == "redact" for each in body.get("obligations", ())):
        if args is None:
            raise AuditError("digested", "the event has redacted arguments")
        return args
    for name in ("judged_args", "args"):
        digest = body.get(f"{name}_sha256")
        if digest is not None:
            if args is None or "completed_args_sha256" in body:
                raise AuditError("digested", "the event has the digest of the arguments only")
            if json_digest(args) != digest:
                raise AuditError("other_args", "the arguments are not those of the event")
            return args
        if name in body:
            return body[name]
    raise AuditError("incomplete", "the event has no arguments")


def _decide(bundle: Policy, request: ActionRequest, evaluations: Any) -> Decision:  # Any: JSON
    """Evaluate the request, and add the recorded defaults to the arguments of each transform."""
    decision = evaluate_or_deny(bundle, request)
    completed = iter(next(evaluations, ()))
    if decision.transform_args is None:
        return decision
    rebind: Callable[[Args], Args] = lambda args: next(completed, args)  # noqa: E731
    return complete_transform(bundle, request, decision, rebind)
