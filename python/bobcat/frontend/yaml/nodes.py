"""Access to checked YAML nodes: the entries of a mapping, the strings of a list, and plain data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bobcat._core import MappingNode, Node, ScalarNode, SequenceNode
from bobcat.diagnostics.model import Related
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.yaml.scalars import MAX_INT_BITS, MAY_BE_TYPED, WORDS, kind_of, scalar_value

MAX_STRING_BYTES = 1024 * 1024
"""Length of one string of a policy, in UTF-8."""
_LOOKED_AT = frozenset("0123456789+-.<")
"""First characters of keys that may be a merge or a non-string other than `WORDS`."""

Entries = dict[str, tuple[ScalarNode, Node]]
"""The entries of a mapping by key, in order: the key's node and the value's node."""


def entries(node: MappingNode, report: DiagnosticCollector) -> Entries:
    """Return the entries of a mapping with unique keys; duplicates and keys that are not strings are reported and
    skipped.
    """
    # INVARIANT: no key is plain that may be a merge or no string, so that `_key` sees each of those.
    plain = report.plain_keys
    found = node.by_key(plain)  # PERF: most keys occur in many rules; looking at each takes three times as long
    if found is not None:
        return found
    found = {}
    for entry in node.value:
        key_node = entry[0]
        key: str | None = key_node.value
        # PERF: `tool` and `timeout_seconds` start like `true`; resolving their value takes eight times as long.
        if type(key) is not str or key in WORDS or key[0] in _LOOKED_AT:
            key = _key(key_node, report)
            if key is None:
                continue
        else:
            plain.add(key)
        first = found.setdefault(key, entry)
        if first is not entry:
            related = [Related(report.span(first[0]), "the first one is here")]
            report.add("E0111", key_node, key=shown(key), related=related)
    return found


def _key(node: Node, report: DiagnosticCollector) -> str | None:
    if not isinstance(node, ScalarNode):
        kind = "a mapping" if isinstance(node, MappingNode) else "a list"
        report.add("E0112", node, key=shown("{...}" if isinstance(node, MappingNode) else "[...]"), kind=kind,
                   help="a key is one string")  # fmt: skip
        return None
    key = value(node, report)
    if isinstance(key, str):
        if key == "<<" and not node.style:
            report.add("E0106", node)
            return None
        return key
    if not isinstance(key, InvalidValue):
        report.add("E0112", node, key=shown(node.value), kind=kind_of(key))
    return None


class InvalidValue:
    """Sentinel for a value that has been reported as invalid."""


INVALID_VALUE = InvalidValue()


def value(node: ScalarNode, report: DiagnosticCollector) -> str | int | float | bool | InvalidValue | None:
    """Return the value of a scalar; `INVALID_VALUE` for a number that is too long to parse."""
    text = node.value
    if node.style or text[:1] not in MAY_BE_TYPED:  # PERF: most scalars
        return text  # type: ignore[no-any-return]  # a string, or a constant with its own value
    try:
        return scalar_value(node)
    except ValueError:
        report.add("E0411", node, limit=MAX_INT_BITS)
        return INVALID_VALUE


def string_of(node: Node, report: DiagnosticCollector) -> str | None:
    """Return the string of a node; None, without a report, if the node is not a string."""
    text = node.text
    if text is not None:
        return text
    if isinstance(node, ScalarNode):
        found = value(node, report)
        if isinstance(found, str):
            check_length(node, found, report)
            return found
    return None


def check_length(node: Node, text: str, report: DiagnosticCollector) -> bool:
    """Return true if a string is within the limit; report an error otherwise."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_STRING_BYTES:
        report.add("E0412", node, size=size, limit=MAX_STRING_BYTES)
    return size <= MAX_STRING_BYTES


def copied(root: Node, text: Callable[[ScalarNode], Any], mark: Callable[[Any], Any] | None = None) -> Node:
    """Return the tree below a node, with other values of scalars and other marks.

    A node with several aliases is copied once. Without `mark`, a node in which nothing differs stays itself.
    """
    made: dict[int, Node] = {}

    def copy(node: Node) -> Node:
        if id(node) not in made:
            made[id(node)] = _copy(node)
        return made[id(node)]

    def _copy(node: Node) -> Node:
        if isinstance(node, MappingNode):
            value: Any = [(copy(key), copy(item)) for key, item in node.value]
            same = all(one[0] is other[0] and one[1] is other[1] for one, other in zip(value, node.value, strict=True))
        elif isinstance(node, SequenceNode):
            value = [*map(copy, node.value)]
            same = all(one is other for one, other in zip(value, node.value, strict=True))
        elif isinstance(node, ScalarNode):
            value = text(node)
            same = value is node.value
        else:
            raise TypeError("a node is a mapping, a list or a scalar")
        if same and mark is None:
            return node
        start, end = node.start_mark, node.end_mark
        if mark is not None:
            start, end = mark(start), mark(end)
        return type(node)(node.tag, value, start, end, node.style)

    return copy(root)


def checked_data(root: Node, report: DiagnosticCollector) -> Any:  # Any: plain data
    """Return a node as plain data; duplicate keys and keys that are not strings are reported and left out."""
    built: dict[int, Any] = {}

    def build(node: Node) -> Any:
        if isinstance(node, ScalarNode):
            found = value(node, report)
            return None if isinstance(found, InvalidValue) else found
        key = id(node)
        if key not in built:
            if isinstance(node, MappingNode):
                built[key] = {name: build(item) for name, (_, item) in entries(node, report).items()}
            elif isinstance(node, SequenceNode):
                built[key] = [build(item) for item in node.value]
        return built[key]

    return build(root)


# Any: plain data.
def plain_data(root: Node) -> Any:
    """Return the source as plain Python data, read by the rules of this profile; aliases share their value."""
    built: dict[int, Any] = {}

    def build(node: Node) -> Any:
        if isinstance(node, ScalarNode):
            return scalar_value(node)
        key = id(node)
        if key not in built:
            if isinstance(node, MappingNode):
                built[key] = {build(name): build(item) for name, item in node.value}
            elif isinstance(node, SequenceNode):
                built[key] = [build(item) for item in node.value]
        return built[key]

    return build(root)
