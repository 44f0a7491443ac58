"""Sections of a policy that consists of several documents: the entries and the items of all of them, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bobcat._core import MappingNode, Mark, Node, ScalarNode, SequenceNode
from bobcat.frontend.strict.marks import qualified
from bobcat.frontend.yaml.scalars import CONSTANT_STYLE

_RELEASED = ScalarNode("", "", Mark(0, 0), Mark(0, 0))


def joined_mappings(nodes: Sequence[Node]) -> Node:
    """Return one mapping with the entries of all; names have the prefix of their file. A node that is no mapping is
    returned instead, for the report of its type.
    """
    pairs: list[tuple[Node, Node]] = []
    for node in nodes:
        if not isinstance(node, MappingNode):
            return node
        pairs.extend((_named(key), item) for key, item in node.value)
    first = nodes[0]
    return first if len(nodes) == 1 and pairs == first.value else _mapping(pairs, nodes[-1])


def listed_items(nodes: Sequence[SequenceNode], *, release: bool = False) -> Iterator[tuple[Node, int]]:
    """Yield the items of some lists, each with its index in its own list. With `release`, a list lets go of each item
    but the last, which its end depends on.
    """
    for node in nodes:
        last = len(node.value) - 1
        for index, item in enumerate(node.value):
            if release and index < last:
                node.value[index] = _RELEASED
            yield item, index


def _named(key: Node) -> Node:
    if not isinstance(key, ScalarNode) or not isinstance(key.value, str):
        return key
    name = qualified(key.value, key)
    return key if name == key.value else ScalarNode("", name, key.start_mark, key.end_mark, CONSTANT_STYLE)


def _mapping(pairs: list[tuple[Node, Node]], at: Node) -> MappingNode:
    return MappingNode("", pairs, at.start_mark, at.end_mark, flow_style=True)
