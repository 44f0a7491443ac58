"""Both engines behind one face: compile the shared workload, build each side's requests, check that they agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import lynx.core.policy as lynx_policy
import lynx.core.types as lynx_types

import bobcat
from bobcat.model.request_json import request_from_json
from corpora.mixed import JsonObject, Workload

Shown = tuple[str, str, tuple[str, ...], tuple[str, ...], float | None]


@dataclass(frozen=True, slots=True)
class Side:
    """One engine with the workload in it: `evaluate(bundle, request)` is what a caller of it would write."""

    evaluate: Callable[[Any, Any], Any]  # Any: each engine has its own types
    bundle: Any
    requests: list[Any]

    def run(self) -> None:
        """Decide every request once."""
        evaluate, bundle = self.evaluate, self.bundle
        for request in self.requests:
            evaluate(bundle, request)


def bobcat_side(work: Workload) -> Side:
    """Bobcat, strict profile."""
    return Side(bobcat.evaluate, bobcat.compile_policy(work.text), [request_from_json(call) for call in work.requests])


def lynx_side(work: Workload) -> Side:
    """lynx-agent; compiled from the mapping, as its YAML parser would take seconds here and means the same."""
    requests = [lynx_request(call) for call in work.requests]
    return Side(_lynx_evaluate, lynx_policy.compile_policy(work.policy), requests)


def check_agreement(work: Workload, ours: Side, theirs: Side) -> None:
    """Fail unless both engines decide every request of the workload alike."""
    for call, mine, other in zip(work.requests, ours.requests, theirs.requests, strict=True):
        left = _shown(ours.evaluate(ours.bundle, mine))
        right = _shown(theirs.evaluate(theirs.bundle, other))
        if left != right:
            raise SystemExit(
                f"the engines disagree at {work.rules} rules on {call}:\n  bobcat {left}\n  lynx   {right}"
            )


def _lynx_evaluate(bundle: Any, request: Any) -> Any:  # Any: lynx-agent's own types
    return lynx_policy.evaluate(bundle, request, request.context)


def lynx_request(call: JsonObject) -> Any:  # Any: lynx-agent's own types
    """A call as a request of lynx-agent."""
    context = dict(call["context"])
    context["principal"] = lynx_types.Principal(**context["principal"])
    context["timestamp"] = datetime.fromisoformat(context["timestamp"])
    declared = dict(call["declared"])
    declared["scope"] = tuple(declared["scope"])
    return lynx_types.ActionRequest(
        tool=call["tool"],
        args=call["args"],
        declared=lynx_types.ToolMetadata(**declared),
        context=lynx_types.ExecutionContext(**context),
    )


def _shown(decision: Any) -> Shown:  # Any: either engine's decision
    return (
        str(decision.verdict.value),
        decision.reason,
        tuple(decision.matched_rules),
        tuple(decision.approvers),
        decision.timeout_seconds,
    )
