"""Reading checked YAML nodes: the entries of a mapping, the strings of a list, and plain data."""

from __future__ import annotations

from typing import Any

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from bobcat.diagnostics import Related
from bobcat.frontend.report import Report, shown
from bobcat.frontend.scalars import MAX_INT_BITS, MAY_BE_TYPED, is_plain, kind_of, scalar_value

MAX_STRING_BYTES = 1024 * 1024
"""Length of one string of a policy, in UTF-8."""

Entry = tuple[str, ScalarNode, Node]
"""A key, its node, and the node of its value."""


def entries(node: MappingNode, report: Report) -> list[Entry]:
    """The entries of a mapping, each key once; a second one, or a key that is no string, is reported and left out."""
    found: list[Entry] = []
    seen: dict[str, ScalarNode] = {}
    for key_node, value_node in node.value:
        key = _key(key_node, report)
        if key is None:
            continue
        first = seen.setdefault(key, key_node)
        if first is not key_node:
            report.add(
                "E0111", key_node, key=shown(key), related=[Related(report.span(first), "the first one is here")]
            )
            continue
        found.append((key, key_node, value_node))
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
    if node.style or (text and text[0] not in MAY_BE_TYPED):  # PERF: most scalars
        return text  # type: ignore[no-any-return]  # a string, or a constant with its own value
    try:
        return scalar_value(node)
    except ValueError:
        report.add("E0411", node, limit=MAX_INT_BITS)
        return REFUSED


def string_of(node: Node, report: Report) -> str | None:
    """The string of a node; None when it is anything else, which is not reported."""
    if isinstance(node, ScalarNode):
        found = value(node, report)
        if isinstance(found, str):
            check_length(node, found, report)
            return found
    return None


def check_length(node: Node, text: str, report: Report) -> bool:
    """Whether a string is within the limit; `report` says when it is not."""
    if len(text) * 4 <= MAX_STRING_BYTES:
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
        key = id(node)
        if key not in built:
            if isinstance(node, MappingNode):
                built[key] = {build(name): build(item) for name, item in node.value}
            elif isinstance(node, SequenceNode):
                built[key] = [build(item) for item in node.value]
            elif isinstance(node, ScalarNode):
                built[key] = scalar_value(node)
        return built[key]

    return build(root)
