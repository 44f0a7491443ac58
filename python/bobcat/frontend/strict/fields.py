"""Fields of a document, a rule and a transform: unknown keys, and values of a fixed type."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from bobcat._core import MappingNode, Node, ScalarNode
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.suggest import closest, listed
from bobcat.frontend.yaml.nodes import Entries, InvalidValue, string_of, value
from bobcat.frontend.yaml.scalars import kind_of_node

_NONE: Mapping[str, str] = MappingProxyType({})


def check_keys(
    found: Entries, known: Collection[str], where: str, report: DiagnosticCollector, synonyms: Mapping[str, str] = _NONE
) -> bool:
    """Report the keys that `where` does not have, and return true if there are any.

    `synonyms` maps common other names to known keys.
    """
    for key, (key_node, _) in found.items():
        if key not in known:
            near = synonyms.get(key.lower()) or closest(key, known)
            help = f"did you mean `{near}`?" if near else None
            report.add("E0202", key_node, where=where, key=shown(key), known=listed(known), help=help)
    return any(key not in known for key in found)


def wrong_type(
    node: Node, key: str, expected: str, report: DiagnosticCollector, *, kind: str = "", help: str | None = None
) -> None:
    """Report a value of the wrong type; `kind` describes it, otherwise the node does."""
    report.add("E0204", node, key=key, expected=expected, kind=kind or kind_of_node(node), help=help)


def mapping(node: Node, key: str, report: DiagnosticCollector, *, help: str | None = None) -> MappingNode | None:
    """Return a mapping; None after an error has been reported."""
    if isinstance(node, MappingNode):
        return node
    wrong_type(node, key, "a mapping", report, help=help)
    return None


def string(node: Node, key: str, report: DiagnosticCollector) -> str | None:
    """Return the string of a node; None after an error has been reported."""
    text = node.text or string_of(node, report)  # PERF: most texts of rules
    if text is None:
        quotable = isinstance(node, ScalarNode) and node.value not in ("", None)
        help = f'quote it: `{"id: " if key == "id" else ""}"{shown(node.value)}"`' if quotable else None
        wrong_type(node, key, "a string", report, help=help)
    return text


def number(
    node: Node, key: str, bounds: tuple[int, int], report: DiagnosticCollector, *, integer: bool
) -> int | float | None:
    """Return a number within bounds; None after an error has been reported."""
    found = value(node, report) if isinstance(node, ScalarNode) else None
    if isinstance(found, InvalidValue):
        return None
    if type(found) is not int and (integer or type(found) is not float):
        kind = "a number with a fraction" if type(found) is float else ""
        expected = "an integer" if integer else "a number"
        wrong_type(node, key, expected, report, kind=kind, help=_number_help(node))
        return None
    if not bounds[0] <= found <= bounds[1]:
        expected = f"between {bounds[0]} and {bounds[1]}"
        report.add("E0209", node, key=key, expected=expected, value=shown(node.value))
        return None
    return found


def _number_help(node: Node) -> str | None:
    if isinstance(node, ScalarNode) and node.style and str(node.value).lstrip("-").isdecimal():
        return f"leave out the quotes: `{node.value}`"
    return None
