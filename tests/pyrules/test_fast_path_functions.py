"""Tests of one value in a rule: the fast path agrees with CPython and with the plain path."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import pytest

from bobcat import ActionRequest, Decision, compile_policy, deny, explain, request_from_json
from bobcat.frontend.python.lower import lower_function
from pyrules.differential_rules import compiled, hosted, is_own_error, shown


class Text(str):
    __slots__ = ()


MISSING = object()
VALUES: tuple[Any, ...] = (
    MISSING, None, True, False, 0, 1, 5, -7, 2**40, 2**63, 2**70, 0.0, -0.0, 0.5, 5.0, math.nan, math.inf,
    "", "a", "no", "north", "never", "a.no", "5", "é", "NO", Text("no"), Text(""), "no\ud800", "x" * 40,
    [], ["no"], ["a", "no"], ["a", 1], [1, "no"], [None], [["no"]], ["north", "no"], ("no", "north"), (), {}, {"no": 1},
    MappingProxyType({"no": 1}), datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1), b"no", {"no"}, object(),
)  # fmt: skip
ANY = request_from_json({"tool": "shell"})
OTHERS: tuple[Any, ...] = (MISSING, None, 5, 5.0, math.nan, "no", "", Text("no"), [], {"no": 1})


def equal(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if req.args["v"] == "no" else None


def unequal(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if req.args["v"] != "no" and "no" != req.args["v"] else None  # noqa: SIM300 - what is tested


def equal_number(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if req.args["v"] == 5 or req.args["v"] == 0.5 else None


def unequal_number(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if req.args["v"] != 5 and True != req.args["v"] else None  # noqa: E712, SIM300 - what is tested


def ordered(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if req.args["v"] > 1 and 7 >= req.args["v"] else None  # noqa: SIM300 - what is tested


def ordered_by_float(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if req.args["v"] < 4.5 else None


def ordered_texts(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if req.args["v"] <= "no" else None


def chained(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if 1 <= req.args["v"] < 6 else None


def chained_equal(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if "a" != req.args["v"] == "no" else None


def none(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if req.args["v"] is None else None


def not_none(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if req.args["v"] is not None and req.args["v"] != None else None  # noqa: E711 - what is tested


def is_true(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if req.args["v"] is True or req.args["v"] is not False else None


def truth(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if req.args["v"] else None


def begins(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if req.args["v"].startswith("no") else None


def ends(req: Any, ctx: Any) -> Decision | None:
    return None if req.args["v"].endswith((".no", "th")) else deny("x")


def among(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if req.args["v"] in ("no", "never") else None


def among_set(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if req.args["v"] not in {"no", "never"} else None


def part_of(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if req.args["v"] in "a no" else None


def contains(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if "no" in req.args["v"] else None


def contains_not(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if "no" not in req.args["v"] else None


def there(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if "v" in req.args and "w" not in req.args else None


def there_within(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if "no" in req.args["v"] and req.args["v"]["no"] == 1 else None


def typed(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if isinstance(req.args["v"], str) or not isinstance(req.args["v"], (int, list)) else None


def by_default(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if req.args.get("v") is None or req.args.get("v", "no") == "no" else None


def default_order(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if req.args.get("v", 3) > 2 else None


def default_text(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if req.args.get("v", "north").startswith("no") else None


def default_none(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if req.args.get("v") > 2 else None


def together(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if req.args["v"] == req.args["w"] else None


def apart(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if req.args["v"] != req.args.get("w") else None


def in_order(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if req.args["v"] >= req.args.get("w", 2) else None


def held(req: Any, ctx: Any) -> Decision | None:
    value = req.args["v"]
    return deny("x") if value is not None and value > 1 else None


def held_default(req: Any, ctx: Any) -> Decision | None:
    value, other = req.args.get("v", "no"), 1
    return deny("x") if value and value == "no" and other else None


def held_by_default(req: Any, ctx: Any) -> Decision | None:
    value = req.args.get("v")
    if value is None or not isinstance(value, str):
        return None
    return deny("x") if value.startswith("no") and value != req.args.get("w") else None


def held_on_one_way(req: Any, ctx: Any) -> Decision | None:
    if "w" in req.args:
        value = req.args["v"]
    return deny("x") if value == "no" else None


def held_otherwise(req: Any, ctx: Any) -> Decision | None:
    value = req.args["v"]
    if value is None:
        value = req.args.get("w")
    return deny("x") if value == "no" else None


def held_and_returned(req: Any, ctx: Any) -> Decision | None:
    value = req.args["v"]
    return deny(f"not {value}") if value == "no" or value == 5 else None


def every(req: Any, ctx: Any) -> Decision | None:
    return None if all(item.startswith("no") for item in req.args["v"]) else deny("x")


def some(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if any(item == "no" for item in req.args["v"]) else None


def some_not(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if any(not item for item in req.args.get("v", [])) else None


def every_typed(req: Any, ctx: Any) -> Decision | None:
    items = req.args["v"]
    if all(isinstance(item, str) for item in items) and any("o" in item for item in items):
        return deny(f"{items}")
    return None


def shadowed(req: Any, ctx: Any) -> Decision | None:
    item = req.args["w"]
    if any(item is None for item in req.args["v"]):
        return deny("x")
    return deny("y") if item == "no" else None


def long_texts(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if req.args["v"].lower() == "no" or len(req.args["v"]) > 30 else None


RULES: tuple[Callable[..., Any], ...] = (
    equal, unequal, equal_number, unequal_number, ordered, ordered_by_float, ordered_texts, chained, chained_equal,
    none, not_none, is_true, truth, begins, ends, among, among_set, part_of, contains, contains_not, there,
    there_within, typed, by_default, default_order, default_text, default_none, together, apart, in_order, held,
    held_default, held_by_default, held_on_one_way, held_otherwise, held_and_returned, every, some, some_not,
    every_typed, shadowed, long_texts,
)  # fmt: skip


def call(value: Any, other: Any) -> ActionRequest:
    args = {name: held for name, held in (("v", value), ("w", other)) if held is not MISSING}
    return replace(ANY, args=args)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_decides_as_in_cpython_and_along_the_plain_path(rule: Callable[..., Any]) -> None:
    lowered = lower_function(rule, rule.__name__, 0).rule
    assert lowered is not None
    function, callable_ = compiled(lowered), hosted(rule, rule.__name__)
    seen = set()
    for value in VALUES:
        for other in OTHERS if "w" in rule.__code__.co_consts else OTHERS[:1]:
            made = call(value, other)
            found = shown(function.evaluate(made))
            assert found == shown(explain(function, made).decision), (value, other)
            # The core reports values that no request should hold as impossible to evaluate.
            if not is_own_error(found) and not found[2][0].endswith(":wrong_type>"):
                assert found == shown(callable_.evaluate(made)), (value, other)
            seen.add(found[2])
    assert (rule.__name__,) in seen
    assert len(seen) > 1


def test_a_text_too_long_for_the_steps_of_a_function_stops_every_reader() -> None:
    def rule(req: Any, ctx: Any) -> Decision | None:
        text = req.args["v"]
        return deny("x") if text.startswith("a") or text.endswith("b") or "no" in text else None

    function = compile_policy("rules: []", python_rules=[rule])
    for length in (16_000_000 // 3 - 100, 16_000_000 // 3 + 100, 16_000_000 + 100):
        made = request_from_json({"tool": "shell", "args": {"v": "x" * length}})
        found = shown(function.evaluate(made))
        assert found == shown(explain(function, made).decision), length
        assert ("too_many_steps" in found[2][0]) == (length > 16_000_000 // 3)
