"""Audit lines: reading them back, and deciding again on the calls that they are about.

A line is an event as `jsonl_sink` writes it. `bobcat log` reads files of them through this module; nothing here is
called while a run goes on.

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

from bobcat.bundle import PolicyBundle
from bobcat.errors import AuditError
from bobcat.frozen import FrozenDict, deep_freeze
from bobcat.kernel.audit import EVALUATED, REEVALUATED
from bobcat.kernel.doubt import UNCERTAIN, is_about_doubt, with_approval
from bobcat.kernel.judging import complete, judge, with_known_verdict
from bobcat.model import ActionRequest, AuditEvent, Decision, Verdict
from bobcat.plain_json import json_digest
from bobcat.requests import request_from_json

DECISIONS = frozenset({EVALUATED, REEVALUATED})
"""The kinds of events that `decide_again` takes."""

_FIELDS: dict[str, type] = {
    "correlation_id": str, "bundle_id": str, "seq": int, "kind": str, "timestamp": str, "body": dict,
}  # fmt: skip

Args = Mapping[str, Any]  # Any: arguments are what a tool takes


def parse_line(line: str | bytes) -> AuditEvent:
    """The event of one line of JSON. Raises `AuditError` (`damaged`)."""
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


def decide_again(event: AuditEvent | str | bytes, bundle: PolicyBundle, *, args: Args | None = None) -> Decision:
    """The decision of `bundle` on the call of a `policy.evaluated` event, or of the line that a sink wrote of it.

    With the bundle of the run it is the decision that the event tells of. A call that the run refused by itself (the
    event has a `code`) is refused again, whatever the bundle. `args` are the arguments that the policy was asked about,
    for an event that has only their digest.

    Raises `AuditError`: `damaged`; `not_a_decision`; `incomplete` when the event was written by lynx-agent or an older
    release; `digested` when the arguments are needed; `other_args` when `args` have another digest; `inexact` when the
    line shows values that JSON cannot hold.
    """
    if not isinstance(event, AuditEvent):
        event = parse_line(event)
    body = event.body
    if event.kind not in DECISIONS:
        raise AuditError("not_a_decision", f"the event is `{event.kind}`, not a decision")
    if body.get("code") is not None:
        refused = recorded(event)
        if refused.verdict is not Verdict.DENY:
            raise AuditError("damaged", "a call that the run refused by itself is not denied")
        return refused
    request = _request(body, args)
    looks = iter(body.get("completed_args") or ())
    decision = with_known_verdict(_decide(bundle, request, looks))
    if body.get("doubt") == "unsafe" and decision.verdict in (Verdict.ALLOW, Verdict.TRANSFORM):
        calm = _calm(request)
        if not is_about_doubt(decision, _decide(bundle, calm, looks)):
            decision = with_approval(decision)
    return decision


def recorded(event: AuditEvent) -> Decision:
    """The decision that an event tells of. Raises `AuditError` (`damaged`)."""
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
        raise AuditError("damaged", f"the event tells of no decision: {error}") from error


def _request(body: Mapping[str, Any], args: Args | None) -> ActionRequest:  # Any: JSON
    if not {"tool", "declared", "context"} <= body.keys():
        raise AuditError("incomplete", "the event does not say what was decided on")
    if body.get("inexact"):
        raise AuditError("inexact", "the line shows values that JSON cannot hold")
    data = {name: body[name] for name in ("tool", "declared", "context")}
    data["args"] = _judged(body, args)
    try:
        request = request_from_json(data)
        return ActionRequest(request.tool, deep_freeze(dict(request.args)), request.declared, request.context)
    except ValueError as error:
        raise AuditError("damaged", str(error)) from error


def _judged(body: Mapping[str, Any], args: Args | None) -> object:
    """The arguments that the policy was asked about."""
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


def _decide(bundle: PolicyBundle, request: ActionRequest, looks: Any) -> Decision:  # Any: JSON
    """Judge, with the tool's defaults in the arguments of a transform as they were put in then."""
    decision = judge(bundle, request)
    completed = iter(next(looks, ()))
    if decision.transform_args is None:
        return decision
    again: Callable[[Args], Args] = lambda args: next(completed, args)  # noqa: E731
    return complete(bundle, request, decision, again)


def _calm(request: ActionRequest) -> ActionRequest:
    """The same request without a word about the doubt."""
    context = request.context
    extra = {name: value for name, value in context.extra.items() if name not in UNCERTAIN}
    fields = (context.principal, context.environment, context.workspace, context.correlation_id, context.step_seq)
    calm = type(context)(*fields, context.timestamp, FrozenDict(extra))
    return ActionRequest(request.tool, request.args, request.declared, calm)
