"""Results of f-strings in the core, beside CPython: specifications put together from all their parts."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random

import pytest

from bobcat import pdp
from bobcat.bundle.model import PolicyBundle
from bobcat.ir import code, construct
from bobcat.ir.schema import FunctionRule
from pyrules.calls import request

SPECS = [
    "".join(parts)
    for parts in product(
        ["", "<", "=", "^", "x>", "0=", "x="], ["", "+"], ["", "0"], ["", "7"], ["", ",", ".2"], [*" dsfx"]
    )
]
CALL = request(Random(0))
VALUES = ["", "A b", "é😀", 0, -7, True, 1234567, 2**70, 0.5, -1e20, float("inf"), None, [1]]


def showing(spec: str) -> PolicyBundle:
    read = code.Item(code.Attribute(code.Root("request"), "args"), code.Constant("x"))
    shown = code.Text((code.Shown(read, "", spec),))
    body = (code.Return(code.MakeDecision("deny", (("reason", shown),))),)
    return PolicyBundle.from_policy(construct.policy([FunctionRule("f", 0, 1, body)]))


def expected(value: object, spec: str) -> str:
    """The text, or the marker of the error."""
    try:
        return format(value, spec)
    except (TypeError, ValueError, OverflowError) as error:
        return f"<rule_error:f:{type(error).__name__}>"


@pytest.mark.parametrize("start", range(0, len(SPECS), 100))
def test_a_value_is_shown_as_cpython_shows_it(start: int) -> None:
    for spec in (item.strip() for item in SPECS[start : start + 100]):
        policy = showing(spec)
        for value in VALUES:
            found = pdp.evaluate(policy, replace(CALL, args={"x": value}))
            [marker] = found.matched_rules
            got = found.reason if marker == "f" else marker
            if marker != "<rule_error:f:unsupported>" or isinstance(value, str):
                assert got == expected(value, spec), (value, spec)
