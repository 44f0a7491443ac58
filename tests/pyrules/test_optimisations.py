"""Optimisations of the core change no decision: `evaluate` uses all of them, `explain` none."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from bobcat import compile_policy, deny, explain, request_from_json
from bobcat.bundle.model import PolicyBundle
from bobcat.frontend.python.lower import lower_function
from bobcat.ir import construct
from bobcat.model.decision import ActionRequest, Decision
from pyrules.calls import request
from pyrules.differential_rules import shown
from pyrules.grammar import forget, rule_of
from pyrules.rules import corpus

POLICIES = 12
RULES = 25
CALLS = 40

# --- tests that a function makes in a loop: each is false for every element ---


def equal(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if any(item == "no" for item in req.args["items"]) else None


def unequal_types(req: Any, ctx: Any) -> Decision | None:
    for item in req.args["items"]:
        if item == 1:
            return deny("x")
    return None


def in_texts(req: Any, ctx: Any) -> Decision | None:
    for item in req.args["items"]:
        if item in ("no", 1, None, "never"):
            return deny("x")
    return None


def in_list(req: Any, ctx: Any) -> Decision | None:
    for item in req.args["items"]:
        if item in ["no", "never"]:
            return deny("x")
    return None


def in_set(req: Any, ctx: Any) -> Decision | None:
    for item in req.args["items"]:
        if item in {"no", "never"}:
            return deny("x")
    return None


def contains(req: Any, ctx: Any) -> Decision | None:
    for item in req.args["items"]:
        if "no" in item:
            return deny("x")
    return None


def begins(req: Any, ctx: Any) -> Decision | None:
    for item in req.args["items"]:
        if item.startswith("no") or item.endswith((".no", ".never")):
            return deny("x")
    return None


def begins_lower(req: Any, ctx: Any) -> Decision | None:
    for item in req.args["items"]:
        if item.lower().startswith("no") or item.strip() == "no":
            return deny("x")
    return None


def ordered(req: Any, ctx: Any) -> Decision | None:
    for item in req.args["items"]:
        if item < "A":
            return deny("x")
    return None


def between(req: Any, ctx: Any) -> Decision | None:
    for item in req.args["items"]:
        if "a" <= item <= "b":
            return deny("x")
    return None


def lengths(req: Any, ctx: Any) -> Decision | None:
    for item in req.args["items"]:
        if len(item) > 100 or item is None or not item:
            return deny("x")
    return None


def searched(req: Any, ctx: Any) -> Decision | None:
    for item in req.args["items"]:
        if re.search("^no", item):
            return deny("x")
    return None


def typed(req: Any, ctx: Any) -> Decision | None:
    for item in req.args["items"]:
        if not isinstance(item, str):
            return deny("x")
    return None


def keyed(req: Any, ctx: Any) -> Decision | None:
    for _ in req.args["items"]:
        if "no" in req.args or req.args.get("no") or req.args.get("no", "") == "never":
            return deny("x")
    return None


def paths(req: Any, ctx: Any) -> Decision | None:
    for _ in req.args["items"]:
        if req.tool == ctx.environment or req.tool == "http":
            return deny("x")
    return None


def of_one_tool(req: Any, ctx: Any) -> Decision | None:
    if req.tool not in ("shell", "bash") or req.tool == "ssh":
        return None
    return deny("x") if any(item == "no" for item in req.args["items"]) else None


SHAPES: tuple[Callable[..., Any], ...] = (
    equal, unequal_types, in_texts, in_list, in_set, contains, begins, begins_lower, ordered, between, lengths,
    searched, typed, keyed, paths, of_one_tool,
)  # fmt: skip
ITEM = "Some text of more than sixteen bytes"


def call_of(count: int) -> ActionRequest:
    return request_from_json({"tool": "shell", "args": {"items": [ITEM] * count}})


def both(bundle: PolicyBundle, call: ActionRequest) -> tuple[Any, Any]:
    return shown(bundle.evaluate(call)), shown(explain(bundle, call).decision)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_function_stops_at_the_same_element_with_the_short_cuts_and_without(shape: Callable[..., Any]) -> None:
    bundle = compile_policy("rules: []", python_rules=[shape])
    least, most = 1, 1_000_000
    while most - least > 1:
        middle = (least + most) // 2
        ended = "rule_error" in bundle.evaluate(call_of(middle)).matched_rules[0]
        least, most = (least, middle) if ended else (middle, most)
    assert least > 10_000
    for count, marker in ((least, "<default"), (most, f"<rule_error:{shape.__name__}:too_")):
        found, plain = both(bundle, call_of(count))
        assert found == plain
        assert found[2][0].startswith(marker)


def test_many_functions_in_one_policy_decide_as_they_do_one_by_one() -> None:
    rules = [lower_function(rule, name, 0).rule for name, rule in corpus().items()]
    together = [rule for rule in rules if rule is not None]
    decided = 0
    for number in range(POLICIES):
        random = Random(number)
        made = PolicyBundle.from_policy(construct.policy(random.sample(together, RULES)))
        for seed in range(CALLS):
            call = request(Random(f"{number} {seed}"))
            found, plain = both(made, call)
            assert found == plain, call
            decided += not found[2][0].startswith("<")
    assert decided > POLICIES * CALLS / 10


@pytest.mark.parametrize("number", range(POLICIES))
def test_many_generated_functions_decide_with_the_short_cuts_as_without(number: int) -> None:
    seeds = range(1_000_000 + number * RULES, 1_000_000 + (number + 1) * RULES)
    made = [lower_function(rule_of(seed), f"made_{seed}", 0).rule for seed in seeds]
    policy = PolicyBundle.from_policy(construct.policy([rule for rule in made if rule is not None]))
    for seed in range(CALLS):
        call = request(Random(f"{number} {seed}"))
        found, plain = both(policy, call)
        assert found == plain, call
    for seed in seeds:
        forget(seed)
