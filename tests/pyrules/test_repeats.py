"""`value * count` in the core, beside CPython: nothing that is repeated for ever, and no count that is no index."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from bobcat import deny
from bobcat.frontend.python.lower import lower_function
from bobcat.model.decision import ActionRequest, Decision
from pyrules.calls import request
from pyrules.differential_rules import compiled, differ, hosted


def repeated(req: Any, ctx: Any) -> Decision | None:
    return deny(repr(req.args["x"] * req.args["n"]))


def turned(req: Any, ctx: Any) -> Decision | None:
    return deny(repr(req.args["n"] * req.args["x"]))


def call(value: object, count: object) -> ActionRequest:
    made = request(Random(0))
    return ActionRequest(made.tool, {"x": value, "n": count}, made.declared, made.context)


@pytest.mark.parametrize("rule", [repeated, turned])
@pytest.mark.parametrize("value", ["", [], "ab", [1, None], {}, None])
def test_what_is_repeated_is_what_python_repeats(rule: Any, value: object) -> None:
    lowered = lower_function(rule, "made", 0).rule
    assert lowered is not None
    core, host = compiled(lowered), hosted(rule, "made")
    counts: list[Any] = [-(2**63), -1, 0, 1, 3, True, 2**63, 10**30, -(2**63) - 1, -(10**30), 1.0]
    for count in [*counts, *([2**62, 2**63 - 1] if value in ("", []) else [])]:
        assert differ(host, core, call(value, count)) is None, count
