"""The gauge that measures a YAML source: it counts exactly, forgets levels that were left, and asks with the node."""

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


def test_a_value_whose_author_wrote_no_tag_has_none() -> None:
    assert ComposerLimits(1, 1, refuse).resolve(object, "text", (True, False)) == ""


def test_items_of_a_list_under_a_key_of_the_root_are_told_before_they_are_made() -> None:
    told: list[object] = []
    gauge = ComposerLimits(9, 99, refuse, lambda *item: told.append(item))

    def value(parent: object, index: object, *inside: tuple[object, object]) -> None:
        gauge.descend(parent, index)
        for item in inside:
            value(*item)
        gauge.ascend()

    gauge.descend(None, None)
    value("root", None)
    value("root", "key", ("list", 0), ("list", 1))
    value("root", None, ("complex key", 0))
    value("root", "another", ("mapping", None), ("mapping", "inner"))
    gauge.ascend()
    assert told == [("key", "list", 0), ("key", "list", 1)]


def test_items_of_lists_in_a_list_are_not_told() -> None:
    told: list[object] = []
    gauge = ComposerLimits(9, 99, refuse, lambda *item: told.append(item))
    gauge.descend(None, None)
    gauge.descend("root", 0)
    gauge.descend("list", 0)
    assert told == []


def test_what_is_raised_before_an_item_stops_the_composer() -> None:
    gauge = ComposerLimits(9, 99, refuse, refuse_item)
    gauge.descend(None, None)
    gauge.descend("root", "key")
    with pytest.raises(Past):
        gauge.descend("list", 0)


def refuse_item(key: object, items: object, index: int) -> None:
    raise Past(key, items, index)
