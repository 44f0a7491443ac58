"""Matches of a workload as trees, predicates in place, for the engines that are written by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from wide.generate import JsonObject

OPERATORS = frozenset("eq in matches contains contains_any contains_all gt ge lt le between not_between".split())
_LISTS = ("args.to", "args.tags", "declared.scope")
"""The paths of lists."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One clause."""

    path: str
    operator: str
    operand: Any  # Any: JSON

    @property
    def reads_list(self) -> bool:
        """Return true if the value is a list of texts."""
        return self.path in _LISTS


@dataclass(frozen=True, slots=True)
class Match:
    """A connective (`all`, `any` or `not`) and its items."""

    connective: str
    items: tuple[Match | Leaf, ...]


def parsed(match: JsonObject | str, predicates: Mapping[str, JsonObject]) -> Match:
    """The tree of a match."""
    if isinstance(match, str):
        return parsed(predicates[match], predicates)
    items: list[Match | Leaf] = []
    for key, value in match.items():
        if key in ("all_of", "any_of"):
            items.append(Match(key.removesuffix("_of"), tuple(parsed(item, predicates) for item in value)))
        elif key == "not":
            items.append(Match("not", (parsed(value, predicates),)))
        else:
            path, _, operator = key.rpartition(".")
            items.append(Leaf(path, operator, value) if operator in OPERATORS else Leaf(key, "eq", value))
    return Match("all", tuple(items))


def ordered(policy: JsonObject) -> Iterator[tuple[int, list[str] | None, Match]]:
    """The rules in the order of evaluation: number in the policy, tools (None: every tool), match without them."""
    rules = policy["rules"]
    for number in sorted(range(len(rules)), key=lambda number: -rules[number]["priority"]):
        match = dict(rules[number]["match"])
        one, several = match.pop("tool", None), match.pop("tool.in", None)
        yield number, several if one is None else [one], parsed(match, policy["predicates"])
