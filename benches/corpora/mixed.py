"""The shared workload: policies of N rules over many tools, and requests that stop early, in the middle, late or never.

Everything follows from a seed. The policies say the same under the strict profile and under lynx-agent 2.5, and the
measuring programs check that before they time anything. Rules use every family of operators; half of them search a
regular expression; one in fifty holds for every tool.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

JsonObject = dict[str, Any]  # Any: JSON

RULES_PER_TOOL = 20
SEED = 20260101


@dataclass(frozen=True, slots=True)
class Workload:
    """A policy as data (`policy`) and text (`text`: YAML, block style), and requests as JSON objects."""

    rules: int
    policy: JsonObject
    text: str
    requests: tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True)
class _Kind:
    """A family of tools: what one of its rules says, a call that this rule catches, and an ordinary call."""

    name: str
    match: Callable[[random.Random, int], JsonObject]
    caught: Callable[[int], JsonObject]
    ordinary: JsonObject


_VERBS = ("rm", "dd", "chmod", "mkfs")
_KINDS = (
    _Kind(
        "shell",
        lambda rng, n: {"args.cmd.matches": rf"^(sudo )?{_VERBS[n % 4]}-?v{n}\b.*--(force|yes)"},
        lambda n: {"cmd": f"sudo {_VERBS[n % 4]}-v{n} --all --force", "cwd": "/srv/app"},
        {"cmd": "git log --oneline -n 20 -- src/main.py", "cwd": "/srv/app"},
    ),
    _Kind(
        "file",
        lambda rng, n: {"args.path.matches": rf"(^|/)(secret|private)-{n}(/|\.pem$)", "args.mode.in": ["r", "w", "a"]},
        lambda n: {"path": f"home/user/secret-{n}/key", "mode": "r"},
        {"path": "home/user/notes/2026/plan.md", "mode": "w"},
    ),
    _Kind(
        "payment",
        lambda rng, n: {
            "args.amount.between": [n * 10, n * 10 + 9.5],
            "args.currency.in": [*rng.sample(["EUR", "USD", "CHF", "GBP", "SEK"], 3), "JPY"],
        },
        lambda n: {"amount": n * 10 + 5, "currency": "JPY", "to": "acct-4711"},
        {"amount": 7, "currency": "EUR", "to": "acct-4711"},
    ),
    _Kind(
        "git",
        lambda rng, n: {"args.branch.in": [f"release-{n}", f"hotfix-{n}"], "context.environment": "prod"},
        lambda n: {"branch": f"release-{n}", "remote": "origin", "force": False},
        {"branch": "feature/readme", "remote": "origin", "force": False},
    ),
    _Kind(
        "http",
        lambda rng, n: {"args.url.contains": f"//host-{n}.internal/", "not": {"args.method": "HEAD"}},
        lambda n: {"url": f"https://host-{n}.internal/admin?x=1", "method": "POST"},
        {"url": "https://api.example.com/v1/items?page=3", "method": "GET"},
    ),
    _Kind(
        "sql",
        lambda rng, n: {
            "any_of": [
                {"args.query.matches": rf"(?i)\b(drop|truncate)\s+table\s+t{n}\b"},
                {"args.query.matches": rf"(?i)\bdelete\s+from\s+t{n}\b"},
            ],
            "declared.reversible": False,
        },
        lambda n: {"query": f"DROP  TABLE t{n} CASCADE", "database": "main"},
        {"query": "SELECT id, name FROM customers WHERE city = 'Bern' ORDER BY name LIMIT 50", "database": "main"},
    ),
    _Kind(
        "mail",
        lambda rng, n: {
            "args.to.contains_any": [f"list-{n}@example.com", f"board-{n}@example.com"],
            "args.size.gt": 10,
        },
        lambda n: {"to": ["ann@example.com", f"list-{n}@example.com"], "subject": "hello", "size": 2048},
        {"to": ["ann@example.com", "bob@example.com"], "subject": "minutes", "size": 4096},
    ),
)
_EVERYWHERE = 50  # one rule in so many is not about one tool


def workload(rules: int, *, requests: int = 200, seed: int = SEED) -> Workload:
    """A policy of `rules` rules and `requests` calls: a quarter each of early, middle, late and never."""
    rng = random.Random(seed * 31 + rules)
    tools = max(1, rules // RULES_PER_TOOL)
    made = [_rule(rng, number, tools) for number in range(rules)]
    policy: JsonObject = {"version": 1, "defaults": {"on_no_match": "deny"}, "rules": made}
    calls = tuple(_request(rng, number % 4, rules, tools) for number in range(requests))
    return Workload(rules, policy, _yaml(policy), calls)


def _tool(number: int) -> str:
    return f"{_KINDS[number % len(_KINDS)].name}-{number}"


def _rule(rng: random.Random, number: int, tools: int) -> JsonObject:
    rule: JsonObject = {"id": f"rule-{number}", "priority": 0}
    if number % _EVERYWHERE == _EVERYWHERE - 1:
        match: JsonObject = {"context.principal.id": f"blocked-{number}", "context.principal.kind": "service"}
    else:
        tool = number % tools
        kind = _KINDS[tool % len(_KINDS)]
        name = _tool(tool)
        match = {"tool": name} if rng.random() < 0.8 else {"tool.in": [name, f"{name}-beta"]}
        match |= kind.match(rng, number)
    rule["match"] = match
    rule["decision"] = rng.choice(["allow", "deny", "deny", "approve_required", "dry_run"])
    rule["reason"] = f"rule number {number}"
    if rule["decision"] == "approve_required":
        rule["approvers"] = ["oncall", f"team-{number % 7}"]
        rule["timeout_seconds"] = 600
    return rule


def _request(rng: random.Random, quarter: int, rules: int, tools: int) -> JsonObject:
    third = max(1, rules // 3)
    if quarter == 3:
        number = rng.randrange(tools)
        args = _KINDS[number % len(_KINDS)].ordinary
        tool = _tool(number)
    else:
        number = min(rules - 1, quarter * third + rng.randrange(third))
        tool = _tool(number % tools)
        args = _KINDS[number % tools % len(_KINDS)].caught(number)
    return {
        "tool": tool,
        "args": dict(args),
        "declared": {
            "cost": "low",
            "reversible": rng.random() < 0.3,
            "scope": ["net", "disk"],
            "has_shadow": rng.random() < 0.5,
        },
        "context": {
            "principal": {"kind": "user", "id": f"user-{rng.randrange(50)}", "name": None},
            "environment": rng.choice(["dev", "prod"]),
            "workspace": "/srv/app",
            "correlation_id": "4d1f",
            "step_seq": rng.randrange(20),
            "timestamp": "2026-01-31T12:00:00Z",
        },
    }


def _yaml(policy: JsonObject) -> str:
    """Block-style YAML as people write it; values in JSON form, which YAML 1.1 and 1.2 read alike."""
    lines = ["version: 1", "defaults:", "  on_no_match: deny", "rules:"]
    for rule in policy["rules"]:
        lines.append(f"  - id: {rule['id']}")
        lines.append(f"    priority: {rule['priority']}")
        lines.append("    match:")
        lines.extend(f"      {key}: {json.dumps(value)}" for key, value in rule["match"].items())
        lines.extend(f"    {key}: {json.dumps(rule[key])}" for key in ("decision", "reason"))
        lines.extend(f"    {key}: {json.dumps(rule[key])}" for key in ("approvers", "timeout_seconds") if key in rule)
    return "\n".join(lines) + "\n"
