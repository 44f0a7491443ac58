"""Comparisons of several paths with each other: chains by order, and elements of lists."""

from __future__ import annotations

from typing import Any

import pytest

from bobcat.analysis import Proof, Witness, can


def lt(low: str, high: str) -> dict[str, Any]:
    return {f"args.{low}.lt": {"ref": f"args.{high}"}}


CHAIN = [lt("a", "b"), lt("b", "c"), lt("c", "d")]
HAS = {"args.x.any": {"eq": {"ref": "args.y"}}}


@pytest.mark.parametrize(
    ("clauses", "answer"),
    [
        (CHAIN, Witness),
        ([*CHAIN, {"args.a.gt": 100}], Witness),
        ([*CHAIN, {"args.d.lt": -100}], Witness),
        ([*CHAIN, {"args.a.gt": 0}, {"args.d.lt": 1}], Witness),
        ([*CHAIN, {"args.b.matches": "^a"}], Witness),
        ([*CHAIN, {"args.c.ge": {"ref": "args.e"}}, {"args.e.eq": {"ref": "args.c"}}], Witness),
        ([*CHAIN, {"args.d": 3}, {"args.a": 3}], Proof),
        ([*CHAIN, lt("d", "a")], Proof),
        ([HAS], Witness),
        ([HAS, {"args.x.length": 3}], Witness),
        ([HAS, {"args.x.length": 0}], Proof),
        ([HAS, {"args.x.none": {"eq": {"ref": "args.y"}}}], Proof),
        ([HAS, {"args.x": "a"}], Proof),
        ([{"args.x.first": {"eq": {"ref": "args.y"}}}, {"args.x.empty": True}], Proof),
    ],
)
def test_what_is_compared_with_other_paths_is_found_or_proved(
    clauses: list[dict[str, Any]], answer: type[Witness] | type[Proof]
) -> None:
    rule = {"id": "a", "match": {"tool": "t", "all_of": clauses}, "decision": "allow"}
    assert isinstance(can({"rules": [rule]}, tool="t"), answer)
