"""Limits of the YAML composer: exact counts of nodes and levels, and an error with the node."""

from __future__ import annotations

import pytest

from bobcat._core import ComposerLimits


class Past(Exception):
    pass


def refuse(cap: str, node: object) -> None:
    raise Past(cap, node)


def test_a_level_that_was_left_counts_no_longer_and_its_values_do() -> None:
    gauge = ComposerLimits(2, 4, refuse)
    for _ in range(2):
        gauge.descend(None, None)
        gauge.descend("holder", 0)
        gauge.ascend()
        gauge.ascend()
    with pytest.raises(Past) as raised:
        gauge.descend("last", 1)
    assert raised.value.args == ("count", "last")


def test_the_first_level_too_deep_is_refused_with_the_node_that_holds_it() -> None:
    gauge = ComposerLimits(2, 100, refuse)
    gauge.descend(None, None)
    gauge.descend("outer", 0)
    with pytest.raises(Past) as raised:
        gauge.descend("inner", 0)
    assert raised.value.args == ("depth", "inner")


def test_a_value_without_a_written_tag_has_no_tag() -> None:
    assert ComposerLimits(1, 1, refuse).resolve(object, "text", (True, False)) == ""
