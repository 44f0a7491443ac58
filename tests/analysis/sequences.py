"""Random policies with rules that remember, and every sequence of calls of a small domain: the slow oracle."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from bobcat import Policy
from bobcat._core import RunState
from bobcat.model.decision import ActionRequest, Decision
from bobcat.model.request_json import request_from_data

Source = dict[str, Any]
Done = tuple[ActionRequest, Any]
"""A call, and its result; `FAILED` where it failed."""

FAILED = object()
RUNS = ("allow", "transform", "approve_required")
_TOOLS = ("t", "u")
_VALUES = ("x", "y")
CALLS = [
    request_from_data({"tool": tool, "args": args})
    for tool in _TOOLS
    for args in ({}, {"a": "x"}, {"a": "y"}, {"n": 2})
]
RESULTS = ({"code": 0}, {"code": 1}, FAILED)


def policy_source(chance: random.Random) -> Source:
    """Return a policy of a few rules, of which most read the run."""
    rules = [
        {"id": f"r{number}", "match": _match(chance), "decision": chance.choice(("allow", "allow", "deny"))}
        for number in range(chance.randint(1, 4))
    ]
    defaults = {"on_no_match": chance.choice(("deny", "deny", "allow")), "on_missing_shadow": "deny"}
    if chance.random() < 0.2:
        defaults["on_rule_error"] = "continue"
    return {"defaults": defaults, "rules": rules}


def question(chance: random.Random) -> Source:
    """Return the arguments of a question."""
    found: Source = {"tool": chance.choice(_TOOLS)}
    if chance.random() < 0.5:
        found["when"] = _match(chance, about_tools=False)
    if chance.random() < 0.4:
        found["after"] = [_call(chance)]
    return found


def compiled(source: Source) -> Policy:
    """Compile a generated policy."""
    return Policy.compile(json.loads(json.dumps(source)))


def _match(chance: random.Random, *, about_tools: bool = True) -> Source:
    found: Source = {}
    if about_tools and chance.random() < 0.8:
        found["tool"] = chance.choice(_TOOLS)
    if chance.random() < 0.3:
        found["args.a"] = chance.choice(_VALUES)
    if chance.random() < 0.8:
        key, value = _memory(chance)
        if chance.random() < 0.3:
            found["not"] = {key: value}
        else:
            found[key] = value
    return found or {"tool": "t"}


def _call(chance: random.Random) -> Source:
    found: Source = {"tool": chance.choice(_TOOLS)}
    if chance.random() < 0.5:
        found["args.a"] = chance.choice(_VALUES)
    return found


def _memory(chance: random.Random) -> tuple[str, Any]:
    number = chance.randint(0, 3)
    match chance.randrange(8):
        case 0:
            return "run.count", {"of": _call(chance), chance.choice(("lt", "ge", "eq")): number}
        case 1:
            return "run.count", {"of": _call(chance), "with_this": {chance.choice(("le", "gt")): number}}
        case 2:
            return "run.after", _call(chance)
        case 3:
            return "run.last", _call(chance)
        case 4:
            return "run.sum", {"of": _call(chance), "field": "n", "with_this": {chance.choice(("le", "ge")): number}}
        case 5:
            return "run.previous", _formula(chance, 1)
        case 6:
            return "run.never", {"event": _formula(chance, 0), "since": _formula(chance, 0)}
        case _:
            return "run.formerly", _formula(chance, 1)


def _formula(chance: random.Random, depth: int) -> Source:
    match chance.randrange(5 if depth else 2):
        case 0:
            return {"call": _call(chance)}
        case 1:
            return {"result": {"tool": chance.choice(_TOOLS), "result.code": chance.randint(0, 1)}}
        case 2:
            return {"not": _formula(chance, depth - 1)}
        case 3:
            return {"since": {"holds": {"not": _formula(chance, 0)}, "start": _formula(chance, 0)}}
        case _:
            return {"all_of": [_formula(chance, 0), {"not": _formula(chance, 0)}]}


def state(policy: Policy, done: tuple[Done, ...]) -> RunState:
    """Return the state of a run after some calls."""
    found = RunState(policy)
    for number, (call, result) in enumerate(done):
        found.call(call, str(number))
        if result is FAILED:
            found.failed(str(number), call.context.timestamp)
        else:
            found.result(str(number), result, call.context.timestamp)
        found.next_reply()
    return found


def decided(policy: Policy, done: tuple[Done, ...], call: ActionRequest) -> Decision:
    """Decide a call after some others."""
    return policy.evaluate(call, state=state(policy, done)) if policy.remembers else policy.evaluate(call)


def holds(match: Policy, done: tuple[Done, ...], call: ActionRequest) -> bool:
    """Return true if a match is true for a call after some others."""
    given = {"state": state(match, done)} if match.remembers else {}
    clause = match.explain(call, **given).rules[0].clause
    return clause is not None and clause.outcome == "true"


def sequences(policy: Policy, steps: int) -> Iterator[tuple[Done, ...]]:
    """Yield every sequence of calls of the domain of which each may run, the shortest first."""
    level: list[tuple[Done, ...]] = [()]
    for _ in range(steps + 1):
        yield from level
        level = [
            (*done, (call, result))
            for done in level
            for call in CALLS
            if decided(policy, done, call).verdict.value in RUNS
            for result in RESULTS
        ]


def first(policy: Policy, asked: Source, match: Policy | None, earlier: list[Policy], steps: int) -> int | None:
    """Return the number of earlier calls of the shortest sequence of the domain that a question asks for."""
    for done in sequences(policy, steps):
        if len(done) > steps:
            return None
        if not all(any(holds(item, (), call) for call, _ in done) for item in earlier):
            continue
        for call in CALLS:
            is_asked = call.tool == asked["tool"] and (match is None or holds(match, done, call))
            if is_asked and decided(policy, done, call).verdict.value == "allow":
                return len(done)
    return None
