"""A policy of the `lynx` profile as plain data: YAML 1.1 exactly as lynx-agent reads it, or a mapping, copied.

The text is composed first and the limits are checked on the nodes, so an alias bomb is rejected before expansion.
lynx-agent uses PyYAML's own parser, which accepts and rejects different texts than libyaml. The result of libyaml is
used only where the two are known to agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

MAX_CHARACTERS = 16 * 1024 * 1024
"""Length of a policy text, in code points."""
MAX_DEPTH = 100
"""Nesting of a source, aliases expanded."""
MAX_NODES = 2_000_000
"""Scalars, lists and mappings of a source, aliases expanded."""

_STR = "tag:yaml.org,2002:str"
MERGE = "tag:yaml.org,2002:merge"

# Differences of libyaml and PyYAML, found by comparing them on damaged texts: tabs, line breaks, complex keys, tags.
_DIFFERING = re.compile(
    "[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
    r"|(?:^|[\s,\[{-])\?(?:\s|$)"
    r"|(?:^|[\s,\[{:-])!",
    re.MULTILINE,
)


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
        return _quickly_read(text) or _read(yaml.SafeLoader(text))
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


class _Bounded(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # chosen at run time
    """libyaml's loader; its composer is recursive in C, so the depth is counted while it composes."""

    depth = 0

    def descend_resolver(self, current_node: object, current_index: object) -> None:
        """Enter a level."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UnreadableSource(f"nested more than {MAX_DEPTH} levels deep", capped=True)

    def ascend_resolver(self) -> None:
        """Leave a level."""
        self.depth -= 1


def _quickly_read(text: str) -> tuple[Any, Node | None] | None:
    """Read with libyaml, seven times as fast; return None where PyYAML might give another result."""
    if not hasattr(yaml, "CSafeLoader") or _DIFFERING.search(text):
        return None
    try:
        data, node = _read(_Bounded(text))
    except UnreadableSource:
        raise
    except Exception:  # PyYAML decides, and its error message is reported
        return None
    return None if "?" in text and node is not None and _has_plain_question_mark(node) else (data, node)


def _has_plain_question_mark(root: Node) -> bool:
    """Return true if a plain scalar in a flow collection has a question mark; it ends the scalar in PyYAML only."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, ScalarNode):
            if not node.style and "?" in node.value:
                return True
        elif id(node) not in seen:
            seen.add(id(node))
            stack.extend(children(node))
    return False


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


def snapshot(value: Any) -> Any:  # Any: a caller's data
    """Copy plain data, down to values that are not containers. Raises `UnreadableSource`."""
    return _Copier().copy(value, 1)


class _Copier:
    def __init__(self) -> None:
        self._open: set[int] = set()
        self._count = 0

    def copy(self, value: Any, depth: int) -> Any:
        self._count += 1
        if self._count > MAX_NODES:
            raise UnreadableSource(f"more than {MAX_NODES} values", capped=True)
        if depth > MAX_DEPTH:
            raise UnreadableSource(f"nested more than {MAX_DEPTH} levels deep", capped=True)
        if isinstance(value, str):
            return value if type(value) is str else str.__str__(value)
        if isinstance(value, bool) or type(value) in (int, float):
            return value
        if isinstance(value, int):
            return int.__int__(value)
        if isinstance(value, float):
            return float.__float__(value)
        if not isinstance(value, Mapping | list | tuple | set | frozenset):
            return value
        if id(value) in self._open:
            raise UnreadableSource("a list or mapping contains itself", capped=True)
        self._open.add(id(value))
        try:
            return self._container(value, depth + 1)
        finally:
            self._open.discard(id(value))

    def _container(self, value: Any, depth: int) -> Any:
        if isinstance(value, Mapping):
            return {self.copy(key, depth): self.copy(item, depth) for key, item in value.items()}
        if isinstance(value, list):
            return [self.copy(item, depth) for item in value]
        if isinstance(value, tuple):
            return tuple(self.copy(item, depth) for item in value)
        items = [self.copy(item, depth) for item in value]
        return set(items) if isinstance(value, set) else frozenset(items)
