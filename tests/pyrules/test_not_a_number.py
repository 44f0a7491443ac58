"""NaN in containers: Python asks whether it is the same object, which the core cannot know and does not guess."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from bobcat import compile_policy, deny, request_from_json
from bobcat.model.decision import ActionRequest, Decision


def same_arguments(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if {**req.args} != req.args else None


def among_values(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if req.args["n"] not in req.args.values() else None


def in_a_list(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if [req.args["n"]] != [req.args["n"]] else None


def counted(req: Any, ctx: Any) -> Decision | None:
    return deny("x") if [req.args["n"]].count(req.args["n"]) != 1 else None


def in_a_set(req: Any, ctx: Any) -> Decision | None:
    found = {req.args["n"]}
    return deny("x") if req.args["n"] not in found else None


def call(**args: Any) -> ActionRequest:
    made = request_from_json({"tool": "t", "args": {}})
    return ActionRequest(made.tool, args, made.declared, made.context)


@pytest.mark.parametrize("rule", [same_arguments, among_values, in_a_list, counted, in_a_set])
def test_whether_two_of_them_are_one_is_an_error(rule: Callable[..., Any]) -> None:
    bundle = compile_policy("rules: [{match: {}, decision: allow, priority: -1}]", python_rules=[rule])
    assert bundle.evaluate(call(n=math.nan)).matched_rules[-1] == f"<rule_error:{rule.__name__}:unsupported>"
    assert str(bundle.evaluate(call(n=1.5)).verdict) == "allow"


def test_one_of_them_is_equal_to_no_other_number() -> None:
    def differs(req: Any, ctx: Any) -> Decision | None:
        return deny("x") if req.args["n"] == req.args["n"] or [req.args["n"]] == [5] else None

    bundle = compile_policy("rules: [{match: {}, decision: allow, priority: -1}]", python_rules=[differs])
    assert str(bundle.evaluate(call(n=math.nan)).verdict) == "allow"
