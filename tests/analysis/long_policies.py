"""Generated policies of many rules, as teams write them: some tools, a few arguments each, denials first."""

from __future__ import annotations

import random
from typing import Any

Source = dict[str, Any]

TOOLS = ("read", "write", "delete", "fetch", "pay", "send", "query", "deploy", "search", "run")
_DIRECTORIES = ("/data/", "/etc/", "/home/", "/srv/app/", "/tmp/", "/data/docs/", "/var/log/")
_HOSTS = ("api.example.com", "example.com", "internal.corp", "10.0.0.1", "files.corp")
_TEAMS = ("red", "blue", "ops", "sales")


def long_source(chance: random.Random, rules: int) -> Source:
    """Return a policy of so many rules, as plain data."""
    return {
        "defaults": {"on_no_match": chance.choice(("deny", "deny", "approve_required"))},
        "rules": [_rule(chance, number) for number in range(rules)],
    }


def _rule(chance: random.Random, number: int) -> Source:
    verdict = chance.choices(("allow", "deny", "approve_required", "dry_run", "transform"), (10, 8, 4, 1, 0.3))[0]
    tool: Any = chance.choice(TOOLS) if chance.random() < 0.95 else sorted(chance.sample(TOOLS, 2))
    match: Source = {"tool": tool} if isinstance(tool, str) else {"tool.in": tool}
    for _ in range(chance.choice((1, 1, 2, 2, 3))):
        key, operand = _clause(chance)
        match[key] = operand
    if chance.random() < 0.15:
        match["any_of"] = [dict([_clause(chance)]) for _ in range(2)]
    if chance.random() < 0.1:
        match["not"] = dict([_clause(chance)])
    rule: Source = {"id": f"r{number}", "match": match, "decision": verdict}
    if verdict == "deny":
        rule["priority"] = chance.choice((0, 10))
    if verdict == "approve_required":
        rule["approvers"] = sorted(chance.sample(_TEAMS, chance.randint(1, 2)))
    if verdict == "transform":
        rule["transform"] = {"jsonpath": "$.args.limit", "set": chance.randint(1, 20)}
    return rule


def _clause(chance: random.Random) -> tuple[str, Any]:
    directory, host = chance.choice(_DIRECTORIES), chance.choice(_HOSTS)
    match chance.randrange(14):
        case 0 | 1:
            return "args.path.starts_with", directory
        case 2:
            return "args.path.matches", f"^{directory}[a-z0-9_]+[.](md|txt)$"
        case 3:
            return "args.path.glob", f"{directory}*.log"
        case 4:
            return "args.host", host
        case 5:
            return "args.host.in", sorted(chance.sample(_HOSTS, 2))
        case 6:
            return "args.host.ends_with", f".{host.partition('.')[2]}"
        case 7:
            return "args.amount.le", chance.choice((10, 50, 100, 500))
        case 8:
            return "args.amount.gt", chance.choice((10, 100, 1000))
        case 9:
            return "context.environment", chance.choice(("prod", "staging", "dev"))
        case 10:
            return "args.recursive", chance.random() < 0.5
        case 11:
            return "args.tags.contains", chance.choice(_TEAMS)
        case 12:
            return "declared.reversible", chance.random() < 0.5
        case _:
            return "args.path.exists", True
