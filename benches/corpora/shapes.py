"""Policies and calls that are hard on an index: every rule about the same thing, or about what no index answers.

Each shape is a policy of so many rules on one tool, and a call with so much to read that none of them fires. What a
decision costs should grow with what is read of the call, not with the number of rules.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

JsonObject = dict[str, Any]  # Any: JSON
Match = Callable[[int, int], JsonObject]
"""The conditions of rule `n` beside the tool, at a size."""

TOOL = "work"
RULES = 100
"""Rules of a policy when the size of something else varies."""


@dataclass(frozen=True, slots=True)
class Shape:
    """`unit` is what its sizes count: rules, or something of which there is more for the same rules."""

    name: str
    match: Match
    args: Callable[[int], JsonObject]
    unit: str
    sizes: tuple[int, ...]
    rules: int | None = None

    def policy(self, size: int) -> str:
        """The policy as JSON, which is YAML too."""
        rules = size if self.rules is None else self.rules
        made = [
            {"id": f"rule-{n}", "match": {"tool": TOOL, **self.match(n, size)}, "decision": "deny", "reason": "no"}
            for n in range(rules)
        ]
        return json.dumps({"version": 1, "defaults": {"on_no_match": "allow"}, "rules": made})

    def call(self, size: int) -> JsonObject:
        """The call."""
        return {"tool": TOOL, "args": self.args(size), "declared": {"reversible": True, "has_shadow": True}}


_VERBS = ("rm", "dd", "chmod", "mkfs")


def _repeated(words: str) -> Callable[[int], JsonObject]:
    return lambda size: {"cmd": (words * (size // len(words) + 1))[:size]}


_text = _repeated("the quick brown fox jumps over the lazy dog and runs to main street 42 times a day ")
_verse = _repeated("Größe überall, naïve façade — 東京の朝は早い, жизнь хороша ")


def _list(size: int) -> JsonObject:
    return {"to": [f"user-{k}@example.com" for k in range(size)]}


def _ordinary(size: int) -> JsonObject:
    return {
        "cmd": "git log --oneline -n 20 -- src/main.py",
        "customer_id": "c-none",
        "amount": 7,
        "owner": "nobody",
        "level": 3,
        "region": "eu",
    }


def _addresses(n: int, size: int) -> JsonObject:
    return {"args.to.contains_any": [f"list-{n}@example.com", f"board-{n}@example.com"]}


def _anchored(n: int, size: int) -> JsonObject:
    return {"args.cmd.matches": rf"^(sudo )?{_VERBS[n % 4]}-?v{n}\b.*--(force|yes)"}


def _anywhere(n: int, size: int) -> JsonObject:
    return {"args.cmd.matches": rf"(?i)\b(drop|truncate)\s+table\s+t{n}\b"}


def _without_literal(n: int, size: int) -> JsonObject:
    return {"args.cmd.matches": rf"[a-f]{{{n % 7 + 3}}}[0-9]+[g-z]{{{n % 11 + 2},}}[0-9]{{{n % 13 + 1}}}[xyz]"}


def _band(n: int, size: int) -> JsonObject:
    return {"args.amount.between": [n * 10 + 10, n * 10 + 15]}


def _equality(n: int, size: int) -> JsonObject:
    return {"args.customer_id": f"c-{n}"}


def _substring(n: int, size: int) -> JsonObject:
    return {"args.cmd.contains": f"/host-{n}/"}


def _mixed(n: int, size: int) -> JsonObject:
    return (_anchored, _equality, _band, _substring)[n % 4](n // 4, size)


def _nested(n: int, size: int) -> JsonObject:
    return {
        "any_of": [
            {"all_of": [{"args.owner": f"o-{n}"}, {"not": {"any_of": [{"args.level": 1}, {"args.level": 2}]}}]},
            {"all_of": [{"args.owner": f"p-{n}"}, {"not": {"args.amount.lt": n}}]},
        ]
    }


def _negated(n: int, size: int) -> JsonObject:
    return {"all_of": [{"not": {"args.region": "eu"}}, {"not": {"args.owner": f"o-{n}"}}]}


def _shared(n: int, size: int) -> JsonObject:
    predicates = [(n * step) % 200 for step in (1, 7, 13)]
    return {"all_of": [{f"args.p{k}.gt": 100} if k % 2 else {f"args.p{k}": f"v-{k}"} for k in predicates]}


BY_RULES = (10, 100, 1_000)
BY_LENGTH = (100, 1_000, 10_000, 100_000)
BY_ELEMENTS = (10, 100, 1_000, 10_000)

SHAPES: tuple[Shape, ...] = (
    Shape("one tool: patterns, equality, bands, substrings", _mixed, _ordinary, "rules", BY_RULES),
    Shape("one argument: anchored patterns", _anchored, _ordinary, "rules", BY_RULES),
    Shape("one argument: patterns found anywhere", _anywhere, _ordinary, "rules", BY_RULES),
    Shape("one argument: patterns without a literal", _without_literal, _ordinary, "rules", BY_RULES),
    Shape("one argument: numeric bands", _band, _ordinary, "rules", BY_RULES),
    Shape("one argument: equality (`customer_id`)", _equality, _ordinary, "rules", BY_RULES),
    Shape("one argument: substrings", _substring, _ordinary, "rules", BY_RULES),
    Shape("nested `any_of`, `all_of` and `not`", _nested, _ordinary, "rules", BY_RULES),
    Shape("nothing but `not`", _negated, _ordinary, "rules", BY_RULES),
    Shape(
        "200 predicates shared by all rules, three each",
        _shared,
        lambda size: {f"p{k}": 7 if k % 2 else "w" for k in range(200)},
        "rules",
        BY_RULES,
    ),
    Shape(
        "`in` with many values, 10 rules",
        lambda n, size: {"args.customer_id.in": [f"c-{n}-{k}" for k in range(size)]},
        _ordinary,
        "values",
        BY_ELEMENTS,
        rules=10,
    ),
    Shape("a text of 100 kB: patterns", _anywhere, lambda _: _text(100_000), "rules", BY_RULES),
    Shape("a text of 100 kB: substrings", _substring, lambda _: _text(100_000), "rules", BY_RULES),
    Shape("a list of 10,000, two addresses each", _addresses, lambda _: _list(10_000), "rules", BY_RULES),
    Shape("a text, 100 patterns", _anywhere, _text, "characters", BY_LENGTH, RULES),
    Shape("a text that is not ASCII, 100 patterns", _anywhere, _verse, "characters", BY_LENGTH, RULES),
    Shape("a text, 100 substrings", _substring, _text, "characters", BY_LENGTH, RULES),
    Shape("a list, 100 rules with two addresses each", _addresses, _list, "elements", BY_ELEMENTS, RULES),
)
