"""Tables of a case: one test for each row, with `$name` replaced by the value of the row.

The nodes of the file are replaced, not its text: an error about a value has the place of its cell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from bobcat._core import MappingNode, Node, ScalarNode, SequenceNode
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.strict.fields import string, wrong_type
from bobcat.frontend.suggest import closest
from bobcat.frontend.yaml.nodes import entries, string_of
from bobcat.frontend.yaml.scalars import MAY_BE_TYPED, kind_of_node
from bobcat.text.shortening import shortened

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLACE = re.compile(r"\$(?:(?P<sign>\$)|\{(?P<braced>[A-Za-z_][A-Za-z0-9_]*)\}|(?P<plain>[A-Za-z_][A-Za-z0-9_]*))")
MAX_SHOWN = 40
"""Characters of a value in the name of a case."""

Values = Mapping[str, Node]


class Row(NamedTuple):
    """The values of one row, by parameter, and its node."""

    values: Values
    node: Node

    def label(self) -> str:
        """Return the values as they stand in the name of the case, long ones shortened."""
        return ", ".join(f"{name}={shortened(_cell_text(node), MAX_SHOWN)}" for name, node in self.values.items())

    def identity(self) -> tuple[str, ...]:
        """Return the values in full, for the comparison of rows."""
        return tuple(map(_cell_text, self.values.values()))


def rows_of(table: Node, parameters: Node | None, report: DiagnosticCollector) -> list[Row]:
    """Return the rows of a table: lists with `parameters`, otherwise mappings with the same keys."""
    if not isinstance(table, SequenceNode):
        wrong_type(table, "table", "a list of rows", report)
        return []
    if not table.value:
        report.add("E1105", table, key="table", help="write one row for each test")
        return []
    if parameters is not None:
        names = _names(parameters, report)
        return [row for item in table.value if (row := _listed_row(item, names, report)) is not None]
    return list(_mapped_rows(table.value, report))


def _names(node: Node, report: DiagnosticCollector) -> list[str]:
    if not isinstance(node, SequenceNode):
        wrong_type(node, "parameters", "a list of names", report)
        return []
    names: list[str] = []
    for item in node.value:
        name = string(item, "parameters", report)
        if name is None:
            continue
        if _NAME.fullmatch(name) is None or name in names:
            problem = "is not a name" if name not in names else "stands in `parameters` twice"
            report.add("E1107", item, problem=f"of parameters has `{shown(name)}`, which {problem}",
                       help="names have letters, digits and `_`, and no digit first")  # fmt: skip
            continue
        names.append(name)
    if not names and not node.value:
        report.add("E1105", node, key="parameters")
    return names


def _listed_row(node: Node, names: list[str], report: DiagnosticCollector) -> Row | None:
    if not names:
        return None
    if not isinstance(node, SequenceNode):
        report.add(
            "E1107", node, problem=f"is {kind_of_node(node)}", help="write the values in a list, as `parameters`"
        )
        return None
    if len(node.value) != len(names):
        problem = f"has {_count(len(node.value), 'value')}, and there are {_count(len(names), 'parameter')}"
        report.add("E1107", node, problem=problem)
        return None
    return Row(dict(zip(names, node.value, strict=True)), node)


def _mapped_rows(items: list[Node], report: DiagnosticCollector) -> Iterator[Row]:
    names: list[str] | None = None
    for item in items:
        if not isinstance(item, MappingNode):
            help = "name the columns under `parameters`, or write each row as a mapping"
            report.add("E1107", item, problem=f"is {kind_of_node(item)}", help=help)
            continue
        found = entries(item, report)
        names = list(found) if names is None else names
        for name, (key, _) in found.items():
            if _NAME.fullmatch(name) is None:
                report.add("E1107", key, problem=f"has the key `{shown(name)}`, which is not a name",
                           help="names have letters, digits and `_`, and no digit first")  # fmt: skip
            elif name not in names:
                near = closest(name, names)
                help = f"did you mean `{near}`?" if near else "all rows have the same keys"
                report.add("E1107", key, problem=f"has `{shown(name)}`, which the first row does not have", help=help)
        missing = [name for name in names if name not in found]
        if missing:
            report.add("E1107", item, problem=f"has no `{shown(missing[0])}`", help="all rows have the same keys")
        if not missing and len(found) == len(names):
            yield Row({name: found[name][1] for name in names}, item)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


class Substitution:
    """Replacement of `$name` in the nodes of a case. `used` has the parameters that were read."""

    def __init__(self, report: DiagnosticCollector) -> None:
        self._report = report
        self.used: set[str] = set()

    def apply(self, root: Node, values: Values) -> Node:
        """Return a node with the values of a row; the node itself if nothing is replaced in it."""
        made: dict[int, Node] = {}

        def build(node: Node) -> Node:
            if isinstance(node, ScalarNode):
                return self._scalar(node, values)
            key = id(node)
            if key not in made:
                made[key] = _rebuilt(node, build)
            return made[key]

        return build(root)

    def _scalar(self, node: ScalarNode, values: Values) -> Node:
        text = string_of(node, self._report) if isinstance(node.value, str) and "$" in node.value else None
        if text is None:
            return node
        whole = _PLACE.fullmatch(text)
        name = "" if whole is None else whole["braced"] or whole["plain"] or ""
        if name in values:
            self.used.add(name)
            return values[name]
        return self._text(node, text, values)

    def _text(self, node: ScalarNode, text: str, values: Values) -> Node:
        def replaced(found: re.Match[str]) -> str:
            if found["sign"]:
                return "$"
            name = found["braced"] or found["plain"]
            if name not in values:
                near = closest(name, list(values))
                help = f"did you mean `${near}`?" if near else None
                self._report.add("E1106", node, name=shown(name), help=help)
                return found[0]
            self.used.add(name)
            cell = values[name]
            if not isinstance(cell, ScalarNode):
                problem = f"has {kind_of_node(cell)} for `{name}`, which stands inside of a text"
                self._report.add("E1107", cell, problem=problem)
                return ""
            return str(cell.value)

        return ScalarNode("", _PLACE.sub(replaced, text), node.start_mark, node.end_mark, style='"')


def _rebuilt(node: Node, build: Callable[[Node], Node]) -> Node:
    if isinstance(node, MappingNode):
        pairs = [(key, build(item)) for key, item in node.value]
        return MappingNode("", pairs, node.start_mark, node.end_mark, flow_style=node.flow_style)
    if not isinstance(node, SequenceNode):
        raise TypeError("a node is a mapping, a list or a scalar")
    items = [build(item) for item in node.value]
    return SequenceNode("", items, node.start_mark, node.end_mark, flow_style=node.flow_style)


def _cell_text(node: Node) -> str:
    """Return a value in one line, as YAML writes it."""
    if isinstance(node, MappingNode):
        return f"{{{', '.join(f'{_cell_text(key)}: {_cell_text(item)}' for key, item in node.value)}}}"
    if isinstance(node, SequenceNode):
        return f"[{', '.join(map(_cell_text, node.value))}]"
    text = str(node.value)
    return f'"{text}"' if isinstance(node, ScalarNode) and node.style and text[:1] in MAY_BE_TYPED else text
