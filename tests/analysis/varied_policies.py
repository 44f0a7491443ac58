"""Random policies with lists, mappings, references, terms, monitored rules and layers, over a domain of few values.

`generated_policies` has scalars; here each path also holds values of other types than its clauses expect.
"""

from __future__ import annotations

import copy
import random
from typing import Any

from analysis.enumeration import MISSING
from bobcat import Policy

Source = dict[str, Any]

DOMAIN: dict[str, list[Any]] = {
    "tool": ["t", "u", "zz"],
    "args.a": [MISSING, None, "x", "ab", 3, ["x", "q"]],
    "args.b": [MISSING, "X", 2.5, True, {"k": "x"}, ""],
    "context.environment": ["dev", "prod", "qa"],
    "declared.reversible": [True, False],
}
"""648 requests of two tools that policies name, and of one that none names."""

_CLAUSES: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("args.a", ("x", "ab", 3, None)),
    ("args.a.in", (["x", 3], ["ab", None], ["q"])),
    ("args.a.matches", ("^a", "b$", "(?i)^X$", r"\bab\b")),
    ("args.a.exists", (True, False)),
    ("args.a.not_between", ([1, 3], [4, 5])),
    ("args.a.any.eq", ("x", "z")),
    ("args.a.all.in", (["x", "q"], ["x"])),
    ("args.a.none.starts_with", ("x", "y")),
    ("args.a.first", ({"eq": "x"}, {"in": ["q"]})),
    ("args.a.length.ge", (1, 2)),
    ("args.a.subset_of", (["x", "q", "r"], ["x"])),
    ("args.a.glob", ("a*", "?")),
    ("args.b", ("X", True, 2.5, "")),
    ("args.b.lower.eq", ("x", "")),
    ("args.b.le", (2.5, 2)),
    ("args.b.k", ("x", "y")),
    ("args.b.k.exists", (True, False)),
    ("args.b.eq", ({"k": "x"}, {})),
    ("args.b.contains", ("k", "X")),
    ("args.b.byte_length.le", (0, 1)),
    ("args.a.eq", ({"ref": "args.b"},)),
    ("context.environment", ("dev", "prod")),
    ("context.environment.starts_with", ("p", ["d", "q"])),
    ("declared.reversible", (True, False)),
)
_VERDICTS = ("allow", "deny", "approve_required", "dry_run")
_COMBINE = ("strictest", "strictest", "first", "last", "strict_overrides_loose")


def policy_source(chance: random.Random, *, most: int = 6) -> Source:
    """Return a policy of a few rules, as plain data."""
    defaults = {
        "on_no_match": chance.choice(("deny", "deny", "allow", "approve_required", "dry_run")),
        "on_missing_shadow": chance.choice(("approve_required", "deny", "allow")),
        "on_rule_error": chance.choice(("deny", "deny", "continue")),
    }
    return {"defaults": defaults, "rules": [rule_source(chance, n) for n in range(chance.randint(1, most))]}


def rule_source(chance: random.Random, number: int) -> Source:
    """Return a rule with a verdict, and sometimes with approvers, obligations or a mode."""
    rule: Source = {
        "id": f"r{number}",
        "match": match_source(chance),
        "decision": chance.choice(_VERDICTS),
        "priority": chance.choice((0, 0, 0, 3, -2)),
    }
    if rule["decision"] == "approve_required" and chance.random() < 0.6:
        rule["approvers"] = chance.choice((["ann"], ["ann", "bob"], ["bob", "cy", "ann"]))
        rule["approvals_needed"] = chance.randint(1, len(rule["approvers"]))
    if chance.random() < 0.12:
        rule["obligations"] = chance.choice(([{"notify": "ann"}], [{"notify": "bob"}]))
    if chance.random() < 0.05:
        rule["mode"] = "monitor"
    return rule


def match_source(chance: random.Random, depth: int = 0) -> Source:
    """Return a match, nested up to twice."""
    found: Source = {}
    if chance.random() < 0.45:
        found |= chance.choice(({"tool": "t"}, {"tool": "u"}, {"tool.in": ["t", "u"]}))
    for _ in range(chance.randint(0 if depth == 0 else 1, 2)):
        key, operands = chance.choice(_CLAUSES)
        found[key] = chance.choice(operands)
    if depth < 2 and chance.random() < 0.4:
        nested = [match_source(chance, depth + 1) for _ in range(chance.randint(1, 2))]
        key = chance.choice(("all_of", "any_of", "not"))
        found[key] = nested[0] if key == "not" else nested
    return found


def changed_source(source: Source, chance: random.Random) -> Source:
    """Return a policy with one rule changed, added, dropped or moved."""
    changed = copy.deepcopy(source)
    rules: list[Source] = changed["rules"]
    index = chance.randrange(len(rules))
    match chance.choice(("match", "rule", "drop", "add", "priority")):
        case "match":
            rules[index]["match"] = match_source(chance)
        case "rule":
            rules[index] = {**rule_source(chance, 99), "match": rules[index]["match"]}
        case "drop":
            del rules[index]
        case "add":
            rules.append(rule_source(chance, 99))
        case _:
            rules[index]["priority"] = chance.randint(-3, 4)
    return changed


def layered_pair(chance: random.Random) -> tuple[Policy, Policy]:
    """Return a policy of two or three layers, and one with a rule of a layer changed."""
    sources = {name: policy_source(chance, most=3) for name in ("org", "team", "run")[: chance.choice((2, 2, 3))]}
    combine = chance.choice(_COMBINE)
    changed = chance.choice(list(sources))
    others = {**sources, changed: changed_source(sources[changed], chance)}
    old, new = (
        Policy.layered({name: Policy.compile(source) for name, source in each.items()}, combine=combine)  # type: ignore[arg-type]  # a Literal
        for each in (sources, others)
    )
    return old, new
