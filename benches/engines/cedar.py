"""Cedar, on the part of the workload that it can express: no patterns, no order of rules, allow and deny only."""

from __future__ import annotations

import random
from typing import Any

from bobcat.model.decision import ActionRequest, Decision
from bobcat.model.request_json import request_from_json
from corpora.mixed import RULES_PER_TOOL, SEED, JsonObject, Workload
from engines.by_hand import Answers
from engines.rules import Language, file_rules, quoted
from engines.sides import Side

KINDS = ("git", "http", "mail")


def subset(rules: int, *, requests: int = 200) -> Workload:
    """A policy of `rules` rules, of which at most one holds for any call, and calls as in the whole workload."""
    rng = random.Random(SEED + rules)
    tools = max(1, rules // RULES_PER_TOOL)
    made = [
        {
            "id": f"rule-{number}",
            "match": {"tool": _tool(number % tools), **_match(number % tools, number)},
            "decision": rng.choice(["allow", "deny"]),
            "reason": f"rule number {number}",
        }
        for number in range(rules)
    ]
    policy: JsonObject = {
        "version": 1,
        "defaults": {"on_no_match": "deny", "on_missing_shadow": "deny"},
        "rules": made,
    }
    calls = tuple(_call(rng, number % 4, rules, tools) for number in range(requests))
    return Workload(rules, policy, quoted(policy), calls)  # JSON is YAML


def _tool(number: int) -> str:
    return f"{KINDS[number % len(KINDS)]}-{number}"


def _match(tool: int, number: int) -> JsonObject:
    match KINDS[tool % len(KINDS)]:
        case "git":
            return {"args.branch.in": [f"release-{number}", f"hotfix-{number}"], "context.environment": "prod"}
        case "http":
            return {"args.url.contains": f"//host-{number}.internal/", "not": {"args.method": "HEAD"}}
        case _:
            wanted = [f"list-{number}@example.com", f"board-{number}@example.com"]
            return {"args.to.contains_any": wanted, "args.size.gt": 10}


def _call(rng: random.Random, quarter: int, rules: int, tools: int) -> JsonObject:
    third = max(1, rules // 3)
    number = min(rules - 1, quarter * third + rng.randrange(third)) if quarter < 3 else rng.randrange(tools)
    tool, aimed = number % tools, number if quarter < 3 else -1
    match KINDS[tool % len(KINDS)]:
        case "git":
            args: JsonObject = {"branch": f"release-{aimed}" if quarter < 3 else "feature/readme", "remote": "origin"}
        case "http":
            args = {"url": f"https://host-{aimed}.internal/admin?x=1", "method": "POST"}
        case _:
            args = {"to": ["ann@example.com", f"list-{aimed}@example.com"], "subject": "hello", "size": 2048}
    return {
        "tool": _tool(tool),
        "args": args,
        "declared": {"cost": "low", "reversible": rng.random() < 0.3, "scope": [], "has_shadow": False},
        "context": {
            "principal": {"kind": "user", "id": f"user-{rng.randrange(50)}", "name": None},
            "environment": rng.choice(["dev", "prod"]),
            "workspace": "/srv/app",
            "correlation_id": "4d1f",
            "step_seq": rng.randrange(20),
            "timestamp": "2026-01-31T12:00:00Z",
        },
    }


def cedar_engine(work: Workload) -> Side:
    """Cedar: a policy per rule, its tool as the action, the policies parsed once. Deny overrides."""
    import cedarpy

    def leaf(path: str, operator: str, operand: Any) -> str:  # Any: JSON
        value = f"context.{path.rpartition('.')[2]}"
        match operator:
            case "eq":
                return f"{value} == {quoted(operand)}"
            case "in":
                return f"{quoted(operand)}.contains({value})"
            case "contains":
                return f"{value} like {quoted(f'*{operand}*')}"
            case "contains_any":
                return f"{value}.containsAny({quoted(operand)})"
            case "gt":
                return f"{value} > {quoted(operand)}"
        raise ValueError(operator)

    rules = work.policy["rules"]
    filed = file_rules(rules, Language("&&", "||", "!", leaf))
    lines = {
        number: f"{'permit' if rules[number]['decision'] == 'allow' else 'forbid'}"
        f"(principal, action == Action::{quoted(tool)}, resource) when {{ {text} }};"
        for tool, mine in filed.by_tool.items()
        for number, text in mine
    }
    # Cedar names the policies of a text by their place in it.
    policies = cedarpy.PolicySet.from_str("\n".join(lines[number] for number in sorted(lines)))
    entities = cedarpy.Entities.from_json_str("[]")
    authorized = cedarpy.is_authorized
    answers = Answers(work.policy)
    of_rule, default = answers.of_rule, answers.default

    def decide(call: tuple[ActionRequest, JsonObject]) -> Decision:
        request, data = call
        reasons = authorized(data, policies, entities).diagnostics.reasons
        return of_rule[int(reasons[0].removeprefix("policy"))] if reasons else default(request)

    calls = [(request_from_json(call), _request(call)) for call in work.requests]
    return Side("Cedar", decide, calls)


def _request(call: JsonObject) -> JsonObject:
    return {
        "principal": f"User::{quoted(call['context']['principal']['id'])}",
        "action": f"Action::{quoted(call['tool'])}",
        "resource": 'Workspace::"app"',
        "context": {**call["args"], "environment": call["context"]["environment"]},
    }
