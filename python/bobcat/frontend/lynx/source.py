"""A policy of the `lynx` profile as plain data: YAML 1.1 exactly as lynx-agent reads it, or a mapping, copied.

The text is composed first and the limits are checked on the nodes, so an alias bomb is rejected before expansion.
Like lynx-agent, this uses PyYAML's own parser, which accepts and rejects other texts than libyaml.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from bobcat.bundle.source_map import Position

MAX_CHARACTERS = 16 * 1024 * 1024
"""Length of a policy text, in code points."""
MAX_DEPTH = 100
"""Nesting of a source, aliases expanded."""
MAX_NODES = 2_000_000
"""Scalars, lists and mappings of a source, aliases expanded."""

_STR = "tag:yaml.org,2002:str"
MERGE = "tag:yaml.org,2002:merge"


class UnreadableSource(Exception):
    """The source cannot be read. `capped` is true if lynx-agent might have read it, given time and memory."""

    def __init__(self, problem: str, *, line: int = 0, column: int = 0, capped: bool = False) -> None:
        super().__init__(problem)
        self.line, self.column, self.capped = line, column, capped


def read_text(text: str) -> tuple[Any, Node | None]:  # Any: YAML data
    """Return the data of a policy text and its root node. Raises `UnreadableSource`."""
    if len(text) > MAX_CHARACTERS:
        raise UnreadableSource(f"the policy has {len(text)} characters, more than {MAX_CHARACTERS}", capped=True)
    try:
        return _read(yaml.SafeLoader(text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (0, 0)
        raise UnreadableSource(f"YAML parse error: {error}", line=line, column=column) from error
    except yaml.YAMLError as error:
        raise UnreadableSource(f"YAML parse error: {error}") from error
    except RecursionError as error:
        raise UnreadableSource("YAML parse error: nested too deeply") from error
    except UnreadableSource:
        raise
    except Exception as error:  # a constructor on a malformed timestamp, number or tag
        raise UnreadableSource(f"YAML parse error: {type(error).__name__}: {error}") from error


def _read(loader: Any) -> tuple[Any, Node | None]:
    try:
        node = loader.get_single_node()
        if node is None:
            return {}, None
        _measure(node)
        return loader.construct_document(node) or {}, node
    finally:
        loader.dispose()


def _measure(root: Node) -> None:
    """Raise if the expanded source exceeds a limit. A node that contains itself has infinite size."""
    known: dict[int, tuple[int, int] | None] = {}

    def measure(node: Node) -> tuple[int, int]:
        if isinstance(node, ScalarNode):
            return 1, 1
        if id(node) in known:
            seen = known[id(node)]
            if seen is None:
                raise UnreadableSource("a list or mapping contains itself", capped=True)
            return seen
        known[id(node)] = None
        size, depth = 1, 0
        for child in children(node):
            below = measure(child)
            size, depth = size + below[0], max(depth, below[1])
        if size > MAX_NODES:
            raise UnreadableSource(f"more than {MAX_NODES} values after alias expansion", capped=True)
        if depth + 1 > MAX_DEPTH:
            raise UnreadableSource(f"nested more than {MAX_DEPTH} levels deep", capped=True)
        known[id(node)] = size, depth + 1
        return size, depth + 1

    measure(root)


def position_of(node: Node) -> Position:
    """Return the position of a node. A collection ends at the end of its last value."""
    start, last = node.start_mark, node
    while isinstance(last, CollectionNode) and last.value and not last.flow_style:
        item = last.value[-1]
        last = item[1] if isinstance(item, tuple) else item
        if last.start_mark.index < start.index:  # an alias: its text comes before this collection
            last = node
            break
    return start.line + 1, start.column + 1, last.end_mark.line + 1, last.end_mark.column + 1


def children(node: Node) -> Iterator[Node]:
    """Return the child nodes of `node`, keys before their values."""
    if isinstance(node, MappingNode):
        for key, value in node.value:
            yield key
            yield value
    elif isinstance(node, SequenceNode):
        yield from node.value


def entries(node: Node | None) -> dict[str, tuple[Node, Node]]:
    """Return the last entry of each string key of a mapping node; call it after the data are constructed."""
    if not isinstance(node, MappingNode):
        return {}
    return {key.value: (key, value) for key, value in node.value if isinstance(key, ScalarNode) and key.tag == _STR}


def value_nodes(node: Node | None) -> dict[str, Node]:
    """Return the values of `entries`."""
    return {key: value for key, (_, value) in entries(node).items()}


def snapshot(root: Any) -> Any:  # Any: a caller's data, here and below
    """Copy plain data, down to values that are not containers. Raises `UnreadableSource`."""
    around: set[int] = set()
    count = 0

    def copy(value: Any, depth: int) -> Any:
        nonlocal count
        count += 1
        if count > MAX_NODES:
            raise UnreadableSource(f"more than {MAX_NODES} values", capped=True)
        if depth > MAX_DEPTH:
            raise UnreadableSource(f"nested more than {MAX_DEPTH} levels deep", capped=True)
        for kind in (str, int, float):
            if isinstance(value, kind):
                return value if type(value) in (kind, bool) else kind.__dict__[f"__{kind.__name__}__"](value)
        if not isinstance(value, Mapping | list | tuple | set | frozenset):
            return value
        if id(value) in around:
            raise UnreadableSource("a list or mapping contains itself", capped=True)
        around.add(id(value))
        if isinstance(value, Mapping):
            copied: Any = {copy(key, depth + 1): copy(item, depth + 1) for key, item in value.items()}
        else:
            kinds = (list, tuple, set, frozenset)
            copied = next(kind for kind in kinds if isinstance(value, kind))(copy(item, depth + 1) for item in value)
        around.discard(id(value))
        return copied

    return copy(root, 1)
