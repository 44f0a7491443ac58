"""Requests directed at the rules of a policy: each rule met, and then each of its clauses bent in every way.

A request is a JSON object, see `docs/reference/requests.md`. They come in an order that does not depend on anything
but the policy, the plain ones first, and without repetition.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from bobcat.analysis.doctor.values import MISSING, candidates, grounds
from bobcat.ir.schema import All, AnyOf, Expr, Leaf, Not, Policy, Rule
from bobcat.ir.visit import leaves

MAX_REQUESTS = 40_000
"""How many requests are made for one policy."""
MAX_ALTERNATIVES = 6
"""How many ways to meet a match are tried."""
MAX_PARTNERS = 12
"""With how many other rules a rule is met at the same time."""
TOOL = "some_tool"
"""The tool of a request to which the policy's clauses give none."""

Request = dict[str, Any]  # Any: JSON
Path = tuple[str, ...]
Setting = dict[Path, Any]  # Any: JSON, or MISSING
"""What stands where: `("args", "amount")` to a value."""


def probes(policy: Policy) -> Iterator[Request]:
    """The requests for a policy, at most `MAX_REQUESTS`."""
    seen: set[str] = set()
    for setting in _settings(policy):
        request = as_request(setting)
        if request is None:
            continue
        key = json.dumps(request, sort_keys=True)
        if key not in seen:
            seen.add(key)
            yield request
            if len(seen) >= MAX_REQUESTS:
                return


def _settings(policy: Policy) -> Iterator[Setting]:
    rules = [rule for rule in policy.rules if isinstance(rule, Rule)]
    met = [_ways(rule.match, holds=True) or [{}] for rule in rules]
    plain: tuple[Setting, ...] = ({}, {("declared", "reversible"): False})
    for declared in plain:
        yield declared
        for ways in met:
            for way in ways:
                yield {**declared, **way}
    for rule, ways in zip(rules, met, strict=True):
        yield from _bent(rule, ways[0])
    # A rule that is passed over matters when another one decides instead: meet both at once.
    for index, rule in enumerate(rules):
        settings = list(_bent(rule, met[index][0]))
        for partner in _partners(rules, index):
            for setting in settings:
                yield {**met[partner][0], **setting}


def _partners(rules: list[Rule], index: int) -> list[int]:
    """Other rules, those about the same tools first, those that decide otherwise before the rest."""
    mine, verdict = _tools(rules[index]), rules[index].verdict
    rank: dict[int, tuple[bool, bool, int]] = {}
    for other, rule in enumerate(rules):
        tools = _tools(rule)
        if other != index and (not mine or not tools or mine & tools):
            rank[other] = (not (mine and tools), rule.verdict == verdict, other)
    return sorted(rank, key=rank.__getitem__)[:MAX_PARTNERS]


def _tools(rule: Rule) -> set[str]:
    return {
        value
        for leaf in leaves(rule.match)
        if leaf.head == "tool"
        for value in candidates(leaf).true
        if isinstance(value, str)
    }


def _bent(rule: Rule, way: Setting) -> Iterator[Setting]:
    """The rule met, with one thing changed at a time."""
    for leaf in leaves(rule.match):
        for value in candidates(leaf).all():
            yield {**way, (leaf.head, *leaf.path): value}
    if rule.transform is not None and rule.transform.path:
        for value in (MISSING, None, "text", 5, ["item"], {"key": 1}):
            yield {**way, ("args", *rule.transform.path): value}


def _ways(expr: Expr, *, holds: bool) -> list[Setting]:
    """Ways to make an expression hold, or not hold; none of them is certain to."""
    match expr:
        case Leaf():
            found = candidates(expr)
            there = grounds(expr)
            values = (found.true if holds else found.false)[:MAX_ALTERNATIVES]
            return [{**there, (expr.head, *expr.path): value} for value in values]
        case Not(item):
            return _ways(item, holds=not holds)
        case All(items):
            return _every(items, holds=True) if holds else _either(items, holds=False)
        case AnyOf(items):
            return _either(items, holds=True) if holds else _every(items, holds=False)


def _either(items: tuple[Expr, ...], *, holds: bool) -> list[Setting]:
    found = [_ways(item, holds=holds) for item in items[: 2 * MAX_ALTERNATIVES]]
    firsts = [ways[0] for ways in found if ways]
    return [*firsts, *(way for ways in found for way in ways[1:])][: 2 * MAX_ALTERNATIVES]


def _every(items: tuple[Expr, ...], *, holds: bool) -> list[Setting]:
    found: list[Setting] = [{}]
    for item in items:
        merged: list[Setting] = []
        for way in _ways(item, holds=holds) or [{}]:
            for before in found:
                merged.append({**before, **way})
                if before.keys() & way.keys():
                    merged.append({**way, **before})
        found = merged[:MAX_ALTERNATIVES]
    return found


def as_request(setting: Setting) -> Request | None:
    """The request in which everything stands as set; None where two settings exclude each other."""
    request: Request = {"tool": TOOL, "args": {}, "declared": {"reversible": True}, "context": {}}
    for path, value in sorted(setting.items(), key=lambda item: len(item[0])):
        if not _set(request, path, value):
            return None
    if not isinstance(request["tool"], str) or not isinstance(request["args"], Mapping):
        return None
    return {name: part for name, part in request.items() if part != {}}


def _set(request: Request, path: Path, value: Any) -> bool:  # Any: JSON, or MISSING
    *steps, last = path
    if not steps and value is MISSING:  # the tool is never missing, and the rest is empty as it is
        return path != ("tool",)
    here: Any = request  # Any: JSON
    for step in steps:
        if step == "principal" and step not in here:
            here[step] = {"kind": "user", "id": "someone"}
        here = here.setdefault(step, {})
        if not isinstance(here, dict):
            return value is MISSING
    if value is not MISSING:
        here[last] = deepcopy(value)
    elif isinstance(here, dict):
        here.pop(last, None)
    return True
