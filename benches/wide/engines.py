"""The engines behind one face: each prepared with a wide workload, deciding one request per call."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import lynx.core.policy as lynx_policy

import bobcat
from bobcat.model.request_json import request_from_json
from peers import lynx_request
from wide.by_hand import decide_by_hand
from wide.floor import extension, floor_policy
from wide.generate import WideWorkload

Decide = Callable[[Any], Any]  # Any: each engine has its own types


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine with a workload in it, and the requests in its own form."""

    name: str
    decide: Decide
    requests: Sequence[Any]  # Any: as above


def bobcat_engine(work: WideWorkload) -> Engine:
    """Bobcat, as its users call it."""
    return Engine("Bobcat", partial(bobcat.evaluate, bobcat.compile_policy(work.policy)), _requests(work))


def floor_engine(work: WideWorkload) -> Engine:
    """The C floor."""
    return Engine("floor in C", partial(extension().decide, floor_policy(work)), _requests(work))


def hand_engine(work: WideWorkload) -> Engine:
    """Python by hand."""
    return Engine("Python by hand", decide_by_hand(work), _requests(work))


def lynx_engine(work: WideWorkload) -> Engine:
    """lynx-agent, compiled from the mapping."""
    bundle, evaluate = lynx_policy.compile_policy(work.policy), lynx_policy.evaluate
    requests = [lynx_request(call) for call in _calls(work)]
    return Engine("lynx-agent", lambda request: evaluate(bundle, request, request.context), requests)


def check_agreement(work: WideWorkload, engine: Engine, other: Engine, count: int) -> None:
    """Fail unless two engines decide the first `count` requests alike, to the last field that both have."""
    for number in range(count):
        left, right = (shown(each.decide(each.requests[number])) for each in (engine, other))
        if left != right:
            where = f"{work.shape}, {work.rules} rules, seed {work.seed}, request {number}"
            raise SystemExit(f"disagreement ({where}) on {work.requests[number]}:\n{engine.name}: {left}\n{right}")


def shown(decision: Any) -> tuple[Any, ...]:  # Any: the decision of either package
    """A decision of any engine, comparable."""
    args = decision.transform_args
    return (
        str(decision.verdict.value),
        decision.reason,
        tuple(decision.matched_rules),
        tuple(decision.approvers),
        decision.timeout_seconds,
        None if args is None else json.dumps(dict(args), sort_keys=True, default=list),
    )


def _calls(work: WideWorkload) -> list[Any]:  # Any: JSON
    """The calls as they come from a model: read from JSON, so that no text is shared with the policy."""
    return [json.loads(json.dumps(call)) for call in work.requests]


def _requests(work: WideWorkload) -> list[bobcat.ActionRequest]:
    return [request_from_json(call) for call in _calls(work)]
