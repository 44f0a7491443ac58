"""OpenID AuthZEN 1.0: its requests as tool calls, and decisions as its answers. Pure: no HTTP, no clock.

| AuthZEN | tool call |
|---|---|
| `action.name` | `tool` |
| `action.properties` | `args` |
| `subject.type`, `subject.id` | `context.principal.kind`, `context.principal.id` |
| `context.environment`, `context.workspace`, `context.correlation_id` | the same |
| other keys of `context` | `context.extra` |
| `subject.properties`, `resource` | `context.extra.subject`, `context.extra.resource` |

A decision is true for the verdict `allow` only: a client of AuthZEN runs the call that it asked about, unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from bobcat.errors import RequestError
from bobcat.model.decision import ActionRequest, Decision, Verdict
from bobcat.model.decision_json import decision_json
from bobcat.model.request_json import request_from_data

Json = Mapping[str, Any]  # Any: JSON
SEMANTICS = ("execute_all", "deny_on_first_deny", "permit_on_first_permit")
PARTS = ("subject", "action", "resource", "context")

_CONTEXT = ("environment", "workspace", "correlation_id")


def request_of(data: object, now: datetime) -> ActionRequest:
    """The tool call of an evaluation. Unknown keys are ignored, as AuthZEN wants. Raises `RequestError`."""
    subject = _object(data, "subject")
    action = _object(data, "action")
    resource = _object(data, "resource")
    context = dict(_object(data, "context", required=False))
    known = {name: context.pop(name) for name in _CONTEXT if name in context}
    extra = {**context, "resource": dict(resource)}
    for key in ("type", "id"):
        _text(resource, "resource", key)
    if "properties" in subject:
        extra["subject"] = _object(subject, "properties", where="subject")
    principal = {"kind": _text(subject, "subject", "type"), "id": _text(subject, "subject", "id")}
    return request_from_data(
        {
            "tool": _text(action, "action", "name"),
            "args": _object(action, "properties", where="action", required=False),
            "context": {**known, "principal": principal, "timestamp": now.isoformat(), "extra": extra},
        }
    )


def answer_of(decision: Decision) -> dict[str, Any]:
    """The answer to an evaluation: the decision, and the verdict with its reason for clients that know Bobcat."""
    data = decision_json(decision)
    shown = {name: value for name, value in data.items() if value not in (None, [], "")}
    return {"decision": decision.verdict is Verdict.ALLOW, "context": shown}


def refusal_of(error: RequestError) -> dict[str, Any]:
    """The answer to an item of a batch that is not a request."""
    return {"decision": False, "context": {"error": {"status": 400, "message": str(error)}}}


def evaluate_batch(
    data: Json, now: datetime, decide: Callable[[ActionRequest], Decision], max_items: int
) -> dict[str, Any]:
    """The answer to an access evaluations request. Raises `RequestError` for an invalid one.

    Without items it is a single evaluation, as AuthZEN says.
    """
    items = data.get("evaluations", [])
    if not isinstance(items, list):
        raise RequestError("bad_request", "`evaluations` must be a list")
    if not items:
        return answer_of(decide(request_of(data, now)))
    if len(items) > max_items:
        raise RequestError("too_large", f"more than {max_items} evaluations")
    semantic = _semantic(data)
    defaults = {name: data[name] for name in PARTS if name in data}
    answers: list[dict[str, Any]] = []
    for item in items:
        try:
            if not isinstance(item, Mapping):
                raise RequestError("bad_request", "an evaluation must be an object")
            answer = answer_of(decide(request_of({**defaults, **item}, now)))
        except RequestError as error:
            answer = refusal_of(error)
        answers.append(answer)
        if semantic != "execute_all" and answer["decision"] is (semantic == "permit_on_first_permit"):
            break
    return {"evaluations": answers}


def metadata(base: str) -> dict[str, str]:
    """The metadata of the decision point at the URL `base`."""
    return {
        "policy_decision_point": base,
        "access_evaluation_endpoint": f"{base}/access/v1/evaluation",
        "access_evaluations_endpoint": f"{base}/access/v1/evaluations",
    }


def _semantic(data: Json) -> str:
    options = _object(data, "options", required=False)
    semantic = options.get("evaluations_semantic", "execute_all")
    if semantic not in SEMANTICS:
        raise RequestError("bad_request", f"`options.evaluations_semantic` must be one of {', '.join(SEMANTICS)}")
    return str(semantic)


def _object(data: object, key: str, *, where: str = "", required: bool = True) -> Json:
    if not isinstance(data, Mapping):
        raise RequestError("bad_request", "the request must be an object")
    place = f"{where}.{key}" if where else key
    if key not in data:
        if required:
            raise RequestError("bad_request", f"the request has no `{place}`")
        return {}
    found = data[key]
    if not isinstance(found, Mapping):
        raise RequestError("bad_request", f"`{place}` must be an object")
    return found


def _text(data: Json, where: str, key: str) -> str:
    found = data.get(key)
    if not isinstance(found, str) or not found:
        raise RequestError("bad_request", f"`{where}.{key}` must be a non-empty string")
    return found
