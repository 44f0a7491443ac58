"""Wide workloads: policies of N rules over many tools, which follow from a shape and a seed, and 600 distinct calls.

Rules use all operators that the strict profile and lynx-agent share, predicates, nested `any_of`, `all_of` and `not`,
priorities and all five verdicts; about three in a hundred hold for every tool and test the caller only. The calls come
in random order: seven in ten are made for one rule, the others are ordinary, and one in twenty is about no known tool.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wide.fields import CALLER, FAMILIES, Field, Json

JsonObject = dict[str, Any]  # Any: JSON
Values = dict[str, Json]
"""Values by path."""

REQUESTS = 600
EVERYWHERE = 0.03
PREDICATES = 12
SHAPES = ("wide", "deep", "flat", "adversarial")
VERDICTS = ("allow", "allow", "allow", "deny", "deny", "deny", "approve_required", "dry_run", "transform")


@dataclass(frozen=True, slots=True)
class WideWorkload:
    """A policy, and requests as JSON objects."""

    shape: str
    rules: int
    seed: int
    policy: JsonObject
    requests: tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True)
class _Tree:
    """A match, and values on which it is true unless it negates them."""

    match: JsonObject
    values: Values


@dataclass(frozen=True, slots=True)
class _Shape:
    """How many rules a tool has, how deep matches nest, and the number that a rule writes into its operands."""

    rules_per_tool: int
    depth: int
    number: Callable[[int], int]


_SHAPES = {
    "wide": _Shape(8, 1, lambda rule: rule),
    "deep": _Shape(50, 3, lambda rule: rule),
    "flat": _Shape(1, 0, lambda rule: rule),
    # Rules share their operands, so that a call passes the guards of many that do not fire.
    "adversarial": _Shape(40, 1, lambda rule: rule % 5),
}


def wide_workload(rules: int, seed: int, *, shape: str = "wide", requests: int = REQUESTS) -> WideWorkload:
    """The workload of a shape, a size and a seed."""
    rng = random.Random(f"{shape} {rules} {seed}")
    plan = _SHAPES[shape]
    tools = _tools(max(1, rules // plan.rules_per_tool))
    predicates = {f"about_{number}": _conjunction(rng, number, CALLER, 1 + number % 2) for number in range(PREDICATES)}
    made: list[JsonObject] = []
    caught: list[tuple[str, Values]] = []
    for number in range(rules):
        tool = rng.choice(list(tools))
        if rng.random() < EVERYWHERE:
            tree = _everywhere(rng, plan.number(number))
        else:
            inner = _inner(rng, plan.number(number), (tools[tool], predicates), plan.depth)
            match = {"tool": tool} if rng.random() < 0.85 else {"tool.in": [tool, f"{tool}-beta"]}
            tree = _Tree({**match, **inner.match}, inner.values)
        made.append(_rule(rng, number, tree.match))
        caught.append((tool, tree.values))
    policy: JsonObject = {
        "version": 1,
        "defaults": {"on_no_match": "deny"},
        "predicates": {name: tree.match for name, tree in predicates.items()},
        "rules": made,
    }
    calls: dict[str, JsonObject] = {}
    while len(calls) < requests:
        call = _call(rng, tools, caught)
        calls[json.dumps(call, sort_keys=True)] = call
    return WideWorkload(shape, rules, seed, policy, tuple(calls.values()))


def _tools(count: int) -> dict[str, tuple[Field, ...]]:
    families = list(FAMILIES)
    return {f"{families[at % len(families)]}_{at}": FAMILIES[families[at % len(families)]] for at in range(count)}


def _leaf(rng: random.Random, number: int, field: Field) -> _Tree:
    operator, operand, holds = field.clause(rng, number)
    plain = operator == "eq" and rng.random() < 0.7
    return _Tree({field.path if plain else f"{field.path}.{operator}": operand}, {field.path: holds})


def _conjunction(rng: random.Random, number: int, fields: tuple[Field, ...], count: int) -> _Tree:
    trees = [_leaf(rng, number, field) for field in rng.sample(fields, min(count, len(fields)))]
    return _merged(trees)


def _merged(trees: list[_Tree]) -> _Tree:
    match = {key: value for tree in trees for key, value in tree.match.items()}
    return _Tree(match, {path: value for tree in trees for path, value in tree.values.items()})


def _inner(rng: random.Random, number: int, known: tuple[tuple[Field, ...], dict[str, _Tree]], depth: int) -> _Tree:
    """A match without its tool: one to three clauses, and below them connectives, `depth` deep."""
    own, predicates = known
    if depth == 0:
        return _conjunction(rng, number, own, 1)
    fields = rng.sample(own, len(own))
    first = _merged([_leaf(rng, number, fields.pop()) for _ in range(rng.choice((1, 1, 2, 2, 3))) if fields])
    parts = [first]
    if rng.random() < 0.3:
        parts.append(_leaf(rng, number, rng.choice(CALLER)))
    some = tuple(fields or own)
    chance = rng.random()
    if chance < 0.2 or depth > 1:
        items = [_inner(rng, number, (some, predicates), depth - 1) for _ in range(rng.randrange(2, 4))]
        parts.append(_Tree({"any_of": [item.match for item in items]}, rng.choice(items).values))
    elif chance < 0.35:
        parts.append(_Tree({"not": _leaf(rng, number, rng.choice(some)).match}, {}))
    elif chance < 0.45:
        name = rng.choice(list(predicates))
        parts.append(_Tree({"all_of": [name]}, predicates[name].values))
    elif chance < 0.5:
        parts.append(_Tree({"not": rng.choice(list(predicates))}, {}))
    elif chance < 0.55:
        choices = [_leaf(rng, number, field) for field in (rng.choice(some), rng.choice(CALLER))]
        nested = {"any_of": [{"not": choices[0].match}, {"all_of": [choices[1].match, {}]}]}
        parts.append(_Tree(nested, choices[1].values))
    merged = _merged(parts)
    return _Tree(merged.match, {**merged.values, **first.values})


def _everywhere(rng: random.Random, number: int) -> _Tree:
    """A match of every tool: of one caller, or of two to four fields."""
    if rng.random() < 0.5:
        named = next(field for field in CALLER if field.path == "context.principal.id")
        return _merged([_leaf(rng, number, named), _leaf(rng, number, CALLER[1])])
    place = next(field for field in CALLER if field.path == "context.workspace")
    return _merged([_leaf(rng, number, place), _conjunction(rng, number, CALLER, rng.randrange(1, 4))])


def _rule(rng: random.Random, number: int, match: JsonObject) -> JsonObject:
    verdict = rng.choice(VERDICTS)
    rule: JsonObject = {"id": f"rule-{number}", "priority": rng.choice((0, 0, 0, 0, -5, 5, 10, 100))}
    rule |= {"match": match, "decision": verdict, "reason": f"rule number {number}"}
    if verdict == "approve_required":
        rule |= {"approvers": ["oncall", f"team-{number % 7}"], "timeout_seconds": 600}
    if verdict == "transform":
        change = {"set": f"seen by rule {number}"} if rng.random() < 0.7 else {"delete": True}
        rule["transform"] = {"jsonpath": "$.args.note", **change}
    return rule


def _call(rng: random.Random, tools: dict[str, tuple[Field, ...]], caught: list[tuple[str, Values]]) -> JsonObject:
    wanted: Values = {}
    tool = rng.choice(list(tools))
    chance = rng.random()
    if chance < 0.7:
        tool, wanted = rng.choice(caught)
    values = {field.path: field.ordinary(rng) for field in (*tools[tool], *CALLER)} | wanted
    args = {path.removeprefix("args."): value for path, value in values.items() if path.startswith("args.")}
    if rng.random() < 0.3:
        args["note"] = "as agreed"
    return {
        "tool": f"{tool}_unknown" if chance > 0.95 else tool,
        "args": args,
        "declared": {name: values[f"declared.{name}"] for name in ("cost", "reversible", "scope", "has_shadow")},
        "context": {
            "principal": {name: values[f"context.principal.{name}"] for name in ("kind", "id")} | {"name": None},
            "environment": values["context.environment"],
            "workspace": values["context.workspace"],
            "correlation_id": f"{rng.randrange(1 << 32):08x}",
            "step_seq": values["context.step_seq"],
            "timestamp": "2026-01-31T12:00:00Z",
        },
    }
