"""Reading checked YAML nodes: the entries of a mapping, the strings of a list, and plain data."""

from __future__ import annotations

from typing import Any

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from bobcat.diagnostics import Related
from bobcat.frontend.report import Report, shown
from bobcat.frontend.scalars import MAX_INT_BITS, MAY_BE_TYPED, WORDS, is_plain, kind_of, scalar_value

MAX_STRING_BYTES = 1024 * 1024
"""Length of one string of a policy, in UTF-8."""
_SURELY_SHORT = MAX_STRING_BYTES // 4
"""Code points that are within it whatever they are."""
_LOOKED_AT = frozenset("0123456789+-.<")
"""What a key begins with that may be no string though it is none of `WORDS`, or a merge."""

Entries = dict[str, tuple[ScalarNode, Node]]
"""The entries of a mapping by their keys, in its order: the node of the key, and that of the value."""


def entries(node: MappingNode, report: Report) -> Entries:
    """The entries of a mapping, each key once; a second one, or a key that is no string, is reported and left out."""
    found: Entries = {}
    # PERF: nothing is made for an entry: its pair is that of the composer (a third of the time of a list of triples).
    for entry in node.value:
        key_node = entry[0]
        key: str | None = key_node.value
        # PERF: `tool` and `timeout_seconds` begin as `true` does; to work their value out takes eight times as long.
        if type(key) is not str or key in WORDS or key[0] in _LOOKED_AT:
            key = _key(key_node, report)
            if key is None:
                continue
        first = found.setdefault(key, entry)
        if first is not entry:
            related = [Related(report.span(first[0]), "the first one is here")]
            report.add("E0111", key_node, key=shown(key), related=related)
    return found


def _key(node: Node, report: Report) -> str | None:
    if not isinstance(node, ScalarNode):
        kind = "a mapping" if isinstance(node, MappingNode) else "a list"
        report.add("E0112", node, key=shown("{...}" if isinstance(node, MappingNode) else "[...]"), kind=kind,
                   help="a key is one string")  # fmt: skip
        return None
    key = value(node, report)
    if isinstance(key, str):
        if key == "<<" and is_plain(node):
            report.add("E0106", node)
            return None
        return key
    if not isinstance(key, Refused):
        report.add("E0112", node, key=shown(node.value), kind=kind_of(key))
    return None


class Refused:
    """What stands in for a value that has been reported."""


REFUSED = Refused()


def value(node: ScalarNode, report: Report) -> str | int | float | bool | Refused | None:
    """The value of a scalar; `REFUSED` for a number that is too long to be read."""
    text = node.value
    if node.style or text[:1] not in MAY_BE_TYPED:  # PERF: most scalars
        return text  # type: ignore[no-any-return]  # a string, or a constant with its own value
    try:
        return scalar_value(node)
    except ValueError:
        report.add("E0411", node, limit=MAX_INT_BITS)
        return REFUSED


def string_at_sight(node: Node) -> str | None:
    """The string that a node is, where its length and its quotes or its first character tell; None is no answer."""
    # PERF: most scalars of a policy are such strings; the whole way to their value takes five times as long.
    text = node.value
    if type(text) is not str or len(text) > _SURELY_SHORT:
        return None
    return text if text[:1] not in MAY_BE_TYPED or node.style else None  # type: ignore[attr-defined]  # it is a scalar


def string_of(node: Node, report: Report) -> str | None:
    """The string of a node; None when it is anything else, which is not reported."""
    text = string_at_sight(node)
    if text is not None:
        return text
    if isinstance(node, ScalarNode):
        found = value(node, report)
        if isinstance(found, str):
            check_length(node, found, report)
            return found
    return None


def check_length(node: Node, text: str, report: Report) -> bool:
    """Whether a string is within the limit; `report` says when it is not."""
    if len(text) <= _SURELY_SHORT:
        return True
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_STRING_BYTES:
        report.add("E0412", node, size=size, limit=MAX_STRING_BYTES)
    return size <= MAX_STRING_BYTES


# Any: plain data.
def plain_data(root: Node) -> Any:
    """The source as plain Python data, read by the rules of this profile; aliases share their value."""
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
