"""Functions that the index skips: never one that would decide or raise.

Policies of many small functions on few arguments, and requests whose arguments are missing, unusual, or exactly those
that a function tests. `evaluate` finds the functions by its index, `explain` runs them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from bobcat import compile_policy, deny, explain, request_from_json
from bobcat.model.decision import ActionRequest, Decision
from pyrules.differential_rules import shown

POLICIES = 40
RULES = 24
CALLS = 25
KEYS = ("path", "sql", "amount")
TEXTS = ("", "a", "/srv/", "prod", "drop", ".pem")
Rule = Callable[[Any, Any], Decision | None]

# --- shapes of rules; what they close over becomes part of them ---


def equal(key: str, text: str, number: float) -> Rule:
    return lambda req, ctx: deny("x") if req.args[key] == text else None


def equal_number(key: str, text: str, number: float) -> Rule:
    return lambda req, ctx: deny("x") if req.args.get(key) == number else None


def either(key: str, text: str, number: float) -> Rule:
    return lambda req, ctx: deny("x") if req.args.get(key, text) in ("prod", "a", "no") else None


def contained(key: str, text: str, number: float) -> Rule:
    return lambda req, ctx: deny("x") if text in req.args.get(key, "") else None


def contained_raw(key: str, text: str, number: float) -> Rule:
    return lambda req, ctx: deny("x") if "drop" in req.args[key] else None


def begins(key: str, text: str, number: float) -> Rule:
    return lambda req, ctx: deny("x") if req.args.get(key, "/srv/x").startswith(text) else None


def ends(key: str, text: str, number: float) -> Rule:
    return lambda req, ctx: deny("x") if req.args[key].endswith((".pem", ".env")) else None


def above(key: str, text: str, number: float) -> Rule:
    return lambda req, ctx: deny("x") if req.args.get(key, 0) > number else None


def below(key: str, text: str, number: float) -> Rule:
    return lambda req, ctx: deny("x") if number >= req.args[key] else None


def there(key: str, text: str, number: float) -> Rule:
    return lambda req, ctx: deny("x") if key in req.args and ctx.environment == text else None


def not_there(key: str, text: str, number: float) -> Rule:
    def rule(req: Any, ctx: Any) -> Decision | None:
        if key not in req.args:
            return None
        return deny("x") if req.args[key] == number else None

    return rule


def only_texts(key: str, text: str, number: float) -> Rule:
    def rule(req: Any, ctx: Any) -> Decision | None:
        value = req.args.get(key)
        if not isinstance(value, str):
            return None
        if value == text:
            return deny("one")
        return deny("two") if value.startswith("/srv/") else None

    return rule


def only_some(key: str, text: str, number: float) -> Rule:
    def rule(req: Any, ctx: Any) -> Decision | None:
        value = req.args.get(key, number)
        if value is None or not value:
            return None
        return deny("x") if value == text else None

    return rule


def searched(key: str, text: str, number: float) -> Rule:
    return lambda req, ctx: deny("x") if re.search("pro", req.args[key]) and req.args.get("amount") == number else None


def of_a_tool(key: str, text: str, number: float) -> Rule:
    return lambda req, ctx: deny("x") if req.tool == "shell" and req.args[key] == text else None


def of_tools(key: str, text: str, number: float) -> Rule:
    return lambda req, ctx: deny("x") if req.tool in ("shell", "http") and text in req.args.get(key, "no") else None


def of_extra(key: str, text: str, number: float) -> Rule:
    return lambda req, ctx: deny("x") if ctx.extra.get(key) == text and ctx.environment != "dev" else None


SHAPES = (
    equal, equal_number, either, contained, contained_raw, begins, ends, above, below, there, not_there, only_texts,
    only_some, searched, of_a_tool, of_tools, of_extra,
)  # fmt: skip
SAFE = (equal_number, either, there, not_there, only_texts, only_some, of_tools, of_extra)
"""Shapes that few values make raise: in a policy of these a later rule has its say, too."""


def rules(random: Random) -> list[Rule]:
    shapes = SAFE if random.random() < 0.7 else SHAPES
    made = []
    for number in range(RULES):
        shape = random.choice(shapes)
        rule = shape(random.choice(KEYS), random.choice(TEXTS), random.choice((1, 0, 2.5, -3, True)))
        rule.__name__ = f"{shape.__name__}_{number}"
        made.append(rule)
    return made


def value(random: Random) -> Any:
    odd: tuple[Any, ...] = (
        None,
        True,
        False,
        1,
        0,
        2.5,
        float("nan"),
        10**30,
        [],
        ["a", "drop"],
        {},
        {"prod": 1},
        ("prod",),
        b"drop",
    )
    if random.random() < 0.15:
        return random.choice(odd)
    return random.choice((*TEXTS, 1, 2.5, 50, "/srv/x.pem", "drop table", "\ud800", "x" * 70_000 + ".pem", "é"))


def call(random: Random) -> ActionRequest:
    args: Any = {key: value(random) for key in KEYS if random.random() < 0.6}
    if random.random() < 0.03:
        args = random.choice((None, "text", ["path"]))
    extra = {key: value(random) for key in KEYS if random.random() < 0.3}
    plain = request_from_json({"tool": random.choice(("shell", "http", "sql")), "args": {}})
    context = replace(plain.context, environment=random.choice(("prod", "dev", "a")), extra=extra)
    return replace(plain, args=args, context=context)


@pytest.mark.parametrize("number", range(POLICIES))
def test_the_index_spares_no_function_that_has_a_say(number: int) -> None:
    random = Random(number)
    bundle = compile_policy("rules: []", python_rules=rules(random))
    assert bundle.python_rules == ()
    for _ in range(CALLS):
        request = call(random)
        assert shown(bundle.evaluate(request)) == shown(explain(bundle, request).decision), request


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_shape_by_itself_is_found_where_it_decides(shape: Callable[..., Rule]) -> None:
    random = Random(shape.__name__)
    made = []
    for key in KEYS:
        for text in TEXTS:
            rule = shape(key, text, random.choice((1, 2.5, True)))
            rule.__name__ = f"made_{len(made)}"
            made.append(rule)
    decided, bundles = 0, [compile_policy("rules: []", python_rules=made[start : start + 6]) for start in (0, 6, 12)]
    for _ in range(8 * CALLS):
        request = call(random)
        for bundle in bundles:
            found = shown(bundle.evaluate(request))
            assert found == shown(explain(bundle, request).decision), request
            decided += found[2][0].startswith("made_")
    assert decided
