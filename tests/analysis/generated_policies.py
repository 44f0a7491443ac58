"""Random policies over a domain of few values, and random changes of them."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

from analysis.enumeration import MISSING
from bobcat import Policy

Source = dict[str, Any]

DOMAIN: dict[str, list[Any]] = {
    "tool": ["t", "u"],
    "args.a": [MISSING, None, "x", "xy", 1, True],
    "args.b": [MISSING, "x", "Xy", 2, 3.5, ["x"]],
    "context.environment": ["dev", "prod", ""],
    "declared.reversible": [True, False],
}
"""432 requests: 3 paths that a caller chooses, and what the defaults depend on."""

_PATHS = ("args.a", "args.b", "context.environment")
_TEXTS = ("x", "xy", "Xy", "prod", "y", "")
_LEAVES: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("", (*_TEXTS, 1, 2, True, None)),
    (".in", (["x", 1], ["x", "xy"], [2, 3], ["prod", "dev"])),
    (".not_in", (["x", "Xy"], [1, 2])),
    (".starts_with", ("x", "X", "p")),
    (".ends_with", ("y", "d")),
    (".contains", ("x", "y")),
    (".matches", ("^x", "y$", "^[a-z]+$", "(?i)^x", "o")),
    (".gt", (1, 2)),
    (".le", (1, 3)),
    (".between", ([1, 2], [2, 4])),
    (".exists", (True, False)),
    (".length.le", (1, 2)),
    (".lower.eq", ("x", "xy")),
    (".empty", (True, False)),
)
_TEXT_LEAVES: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("", _TEXTS),
    (".in", (["prod", "dev"], ["prod", ""])),
    (".not_in", (["dev"],)),
    (".starts_with", ("p", "d")),
    (".matches", ("^p", "o", "(?i)^P")),
    (".contains", ("o",)),
    (".length.le", (3,)),
    (".lower.eq", ("prod",)),
)
"""Leaves of paths that always hold a text."""
_VERDICTS = ("allow", "deny", "approve_required", "dry_run")
_TRANSFORMS = (
    {"jsonpath": "$.args.a", "set": "x"},
    {"jsonpath": "$.args.b", "delete": True},
    {"jsonpath": "$.args.b", "set": 2},
)


def policy_source(chance: random.Random, *, transforms: bool = True) -> Source:
    """Return a policy of a few rules, as plain data."""
    rules = [_rule(chance, number, transforms=transforms) for number in range(chance.randint(1, 6))]
    defaults = {
        "on_no_match": chance.choice(("deny", "deny", "allow", "approve_required")),
        "on_missing_shadow": chance.choice(("approve_required", "deny")),
        "on_rule_error": chance.choice(("deny", "deny", "continue")),
    }
    return {"defaults": defaults, "rules": rules}


def changed_source(source: Source, chance: random.Random) -> Source:
    """Return a policy with one rule changed, added, dropped or moved."""
    changed = copy.deepcopy(source)
    rules: list[Any] = changed["rules"]
    index = chance.randrange(len(rules))
    match chance.choice(("match", "match", "verdict", "drop", "add", "priority", "default")):
        case "match":
            rules[index]["match"] = _match(chance, 0)
        case "verdict":
            rules[index].pop("transform", None)
            rules[index]["decision"] = chance.choice(_VERDICTS)
        case "drop":
            del rules[index]
        case "add":
            rules.append(_rule(chance, 99, transforms=False))
        case "priority":
            rules[index]["priority"] = chance.randint(-2, 8)
        case _:
            changed["defaults"]["on_no_match"] = chance.choice(("deny", "allow"))
    return changed


def compiled(source: Source) -> Policy:
    """Compile a generated policy."""
    return Policy.compile(json.loads(json.dumps(source)))


def _rule(chance: random.Random, number: int, *, transforms: bool) -> Source:
    rule: Source = {
        "id": f"r{number}",
        "match": _match(chance, 0),
        "decision": chance.choice(_VERDICTS),
        "priority": chance.choice((0, 0, 5)),
    }
    if transforms and chance.random() < 0.1:
        rule |= {"decision": "transform", "transform": chance.choice(_TRANSFORMS)}
    return rule


def _match(chance: random.Random, depth: int) -> Source:
    found: Source = {}
    if chance.random() < 0.4:
        found["tool"] = chance.choice(("t", "u", "v"))
    for _ in range(chance.randint(0, 2)):
        path = chance.choice(_PATHS)
        suffix, operands = chance.choice(_LEAVES if path.startswith("args") else _TEXT_LEAVES)
        found[path + suffix] = chance.choice(operands)
    if depth < 2 and chance.random() < 0.4:
        nested = [_match(chance, depth + 1) for _ in range(chance.randint(1, 2))]
        key = chance.choice(("all_of", "any_of", "not"))
        found[key] = nested[0] if key == "not" else nested
    return found
