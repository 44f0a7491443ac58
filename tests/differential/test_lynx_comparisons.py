"""Tests that the core decides without Python in the `lynx` profile, against lynx-agent: each beside each value."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import lynx
import pytest
from lynx.policy import compile_policy as compile_lynx
from lynx.policy import evaluate as evaluate_lynx

import bobcat
import bobcat.model.decision
from oracle.lynx_policies import build


class Moment(datetime):
    """A subclass with an order of its own."""

    def __gt__(self, other: object) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = datetime.__hash__


NUMBERS = (0, 1, -1, 2, 0.5, 2.5, 1.0, 1e300, 2**53, 2**53 + 1, float(2**53), 2**63, 10**30, 1e30, float("inf"))
SCALARS = (*NUMBERS, float("nan"), True, False, None, "", "a", "2026-01-31T00:00:00Z")
MOMENTS = (
    datetime(2026, 1, 31, tzinfo=UTC),
    datetime(2026, 1, 31, tzinfo=timezone(timedelta(hours=1))),
    datetime(2026, 1, 31),
    Moment(2026, 1, 31, tzinfo=UTC),
)
VALUES = (*SCALARS, *MOMENTS, ["a"], ["2026-01-31T00:00:00Z"], {"a": 1}, ("a",), {"a"})
LISTS: tuple[list[Any], ...] = (
    [0.5, 2.5],
    [0.5, 1, "a", True, None],
    [*NUMBERS],
    [*NUMBERS, float("nan")],
    [float("nan")],
    [True, 2.5],
    [],
    ["2026-01-31T00:00:00Z", 0.5],
    [2**53 + 1, 10**30, -0.5],
    [n / 8 for n in range(40)],
)
TESTS = (
    *(("in", items) for items in LISTS),
    *(
        (op, operand)
        for op in ("eq", "gt", "ge", "lt", "le")
        for operand in ("2026-01-31T00:00:00Z", "", 1, 0.5, True, ["a"], ["2026-01-31T00:00:00Z", 1])
    ),
    *((op, bounds) for op in ("between", "not_between") for bounds in (["2026", "2027"], [0, 2.5])),
)


PARTS: dict[str, Any] = {
    "tool": "t",
    "declared": ("low", True, (), None, False, None),
    "principal": ("user", "a", None),
    "context": ("dev", ".", "c", 0, datetime(2026, 1, 31, 12, tzinfo=UTC), {}),
}


class Both:
    """A rule about one argument, before one for every call, compiled by either package."""

    def __init__(self, op: str, operand: Any, decision: str) -> None:
        match = {f"args.x.{op}": operand}
        rules = [{"id": "one", "match": match, "decision": decision}, {"id": "two", "match": {}, "decision": "dry_run"}]
        self._theirs = compile_lynx({"version": 1, "rules": rules}, "p")
        self._ours = bobcat.compile_policy({"version": 1, "rules": rules}, profile="lynx")

    def decide(self, value: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the verdict and the matched rules of lynx-agent, and those of the `lynx` profile."""
        parts = {**PARTS, "args": {"x": value}}
        request = build(lynx, parts)
        theirs = evaluate_lynx(self._theirs, request, request.context)
        ours = bobcat.evaluate(self._ours, build(bobcat.model.decision, parts))
        return (str(theirs.verdict), *theirs.matched_rules), (str(ours.verdict), *ours.matched_rules)


@pytest.mark.parametrize("decision", ["allow", "deny"])
@pytest.mark.parametrize("test", TESTS, ids=str)
def test_a_test_of_a_value_has_the_result_of_lynx_agent(test: tuple[str, Any], decision: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = Both(*test, decision)
    for value in VALUES:
        theirs, ours = compiled.decide(value)
        assert ours == theirs, value


def test_the_table_has_tests_that_are_true_false_and_in_error() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {len(Both(*test, "deny").decide(value)[0]) for test in TESTS for value in VALUES[::3]}
        fired = {Both(*test, "deny").decide(value)[0][1] for test in TESTS for value in VALUES[::3]}
    assert found == {2, 3}
    assert fired >= {"one", "two"}
