"""Variables of a policy: constants with a name, which `${name}` stands for.

vars: {max_payment: 500, hosts: [a.example, b.example]}
rules:
  - {match: {tool: pay, args.amount.le: "${max_payment}"}, decision: allow}

A scalar that is nothing but `${name}` is replaced by the value with its type; inside of a text, the value is inserted.
`$${` is the text `${`. Without variables, no text changes its meaning. Nodes are replaced, not text: a finding about a
value has the place of its use, and names the definition.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bobcat._core import MappingNode, Node, ScalarNode, SequenceNode
from bobcat.diagnostics.model import Related, Span
from bobcat.frontend.files import VariableText
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.strict.includes import Part, section
from bobcat.frontend.strict.marks import file_of, marked, qualified, resolved
from bobcat.frontend.suggest import closest, listed
from bobcat.frontend.yaml.nodes import InvalidValue, entries, string_of, value
from bobcat.frontend.yaml.scalars import CONSTANT_STYLE, kind_of_node
from bobcat.frontend.yaml.source import PastCap, PlainCopy, compose

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MAX_VARIABLES = 1_000
"""Variables of one policy."""
MAX_INSERTED = 16 * 1024 * 1024
"""Characters and nodes that variables add to one policy."""
_PLACE = re.compile(r"\$\$\{|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?)\}|\$\{")
APART = ("include", "vars")
"""The sections that hold no references."""
_TYPES = ("a string", "a number", "a bool")


@dataclass(slots=True)
class _Variable:
    key: ScalarNode
    value: Node
    used: bool = False
    broken: bool = False


class Variables:
    """The variables of one policy. Errors are in the report."""

    def __init__(self, report: DiagnosticCollector) -> None:
        self._report = report
        self._found: dict[str, _Variable] = {}
        self._inserted = 0

    def define(self, parts: Sequence[Part], given: Mapping[str, Any]) -> bool:  # Any: a caller's values
        """Read the variables of all documents and replace those that the caller gives; return true if there are any."""
        declared = [node for part in parts if (node := section(part.root, "vars")) is not None]
        for node in declared:
            if not isinstance(node, MappingNode):
                self._report.add("E0204", node, key="vars", expected="a mapping of names to values",
                                 kind=kind_of_node(node), help="write `vars: {max_payment: 500}`")  # fmt: skip
                continue
            for name, (key, item) in entries(node, self._report).items():
                self._define(name, key, item)
        if len(self._found) > MAX_VARIABLES:
            problem = f"is one of {len(self._found)}; the limit is {MAX_VARIABLES}"
            self._report.add("E1212", declared[-1], name=next(reversed(self._found)), problem=problem)
        for name, item in given.items():
            self._replace(name, item)
        return bool(declared)

    def apply(self, root: Node) -> Node:
        """Return a document with the values of its references, without its `vars` and `include`."""
        if not isinstance(root, MappingNode):
            return root
        made: dict[int, Node] = {}
        pairs = [(key, self._built(item, made)) for key, item in root.value if _name_of(key) not in APART]
        return MappingNode("", pairs, root.start_mark, root.end_mark, flow_style=root.flow_style)

    def report_unused(self) -> None:
        """Record variables of the policy's own file that nothing refers to."""
        for name, variable in self._found.items():
            if not variable.used and file_of(variable.key) is None:
                self._report.observe("unused-variable", variable.key, name=shown(name))

    def _define(self, name: str, key: ScalarNode, node: Node) -> None:
        if not NAME.fullmatch(name):
            problem = "is not a name: names have letters, digits and `_`, and begin with a letter"
            self._report.add("E1212", key, name=shown(name), problem=problem)
            return
        name = qualified(name, key)
        if name in self._found:
            related = [Related(self._report.span(self._found[name].key), "the first one is here")]
            self._report.add("E0111", key, key=shown(name), related=related)
            return
        wrong = self._problem(node)
        if wrong is not None:
            self._report.add("E1212", node, name=shown(name), problem=wrong[0], help=wrong[1])
        self._found[name] = _Variable(key, node, broken=wrong is not None)

    def _problem(self, node: Node) -> tuple[str, str | None] | None:
        """Return the reason that a node cannot be the value of a variable, and a help line."""
        items = node.value if isinstance(node, SequenceNode) else [node]
        for item in items:
            if not isinstance(item, ScalarNode) or isinstance(value(item, self._report), InvalidValue):
                what = "holds" if item is not node else "is"
                return f"{what} {kind_of_node(item)}", "a value is a string, a number, a bool, or a list of these"
            if kind_of_node(item) not in _TYPES:
                return ("holds null" if item is not node else "is null"), "give it a value"
            if isinstance(item.value, str) and "${" in item.value:
                return "refers to another variable", "write the value itself"
        return None

    def _replace(self, name: str, given: Any) -> None:  # Any: a caller's value
        if not isinstance(name, str) or name not in self._found:
            near = closest(name, self._found) if isinstance(name, str) else None
            known = f"the variables are {listed(self._found)}" if self._found else "the policy has no `vars`"
            help = f"did you mean `{near}`?" if near else known
            place = Span(self._report.file, 1, 1, 1, 2)
            self._report.add("E1213", place, name=shown(name), problem="the policy does not declare it", help=help)
            return
        variable = self._found[name]
        if variable.broken:
            return
        made = self._given(given, variable)
        wrong = made if isinstance(made, str) else self._misfit(made, variable.value)
        if wrong is not None:
            help = f"give {_described(variable.value)}"
            self._report.add("E1213", variable.key, name=shown(name), problem=wrong, help=help)
        elif isinstance(made, Node):
            variable.value = made

    def _given(self, given: Any, variable: _Variable) -> Node | str:  # Any: a caller's value
        """Return a value as a node, or the problem with it."""
        own = DiagnosticCollector(self._report.file)
        if not isinstance(given, VariableText):
            try:
                node: Node | None = PlainCopy(own).node(given, "$", 1)
            except PastCap:
                return "the value is too large"
        elif kind_of_node(variable.value) == "a string":
            return ScalarNode("", str(given), variable.key.start_mark, variable.key.end_mark, CONSTANT_STYLE)
        else:
            node = compose(str(given), own)
        if node is None or own.has_errors():
            first = own.diagnostics()
            return f"the value cannot be read: {first[0].message}" if first else "the value is empty"
        return node

    def _misfit(self, node: Node, declared: Node) -> str | None:
        problem = self._problem(node)
        if problem is not None:
            return f"the value {problem[0]}"
        if kind_of_node(node) != kind_of_node(declared):
            return f"the value is {kind_of_node(node)}"
        if isinstance(declared, SequenceNode) and isinstance(node, SequenceNode):
            kinds = {kind_of_node(item) for item in declared.value}
            other = [kind_of_node(item) for item in node.value if kind_of_node(item) not in kinds]
            return f"the value holds {other[0]}" if kinds and other else None
        return None

    def _built(self, node: Node, made: dict[int, Node]) -> Node:
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        key = id(node)
        if key not in made:
            if isinstance(node, MappingNode):
                pairs = [(self._key(name), self._built(item, made)) for name, item in node.value]
                made[key] = MappingNode("", pairs, node.start_mark, node.end_mark, flow_style=node.flow_style)
            elif isinstance(node, SequenceNode):
                items = [self._built(item, made) for item in node.value]
                made[key] = SequenceNode("", items, node.start_mark, node.end_mark, flow_style=node.flow_style)
        return made.get(key, node)

    def _key(self, node: Node) -> Node:
        if isinstance(node, ScalarNode) and isinstance(node.value, str) and "${" in node.value:
            self._report.add("E1214", node, problem="a key holds no variables", help="write the name itself")
        return node

    def _scalar(self, node: ScalarNode) -> Node:
        text = string_of(node, self._report) if isinstance(node.value, str) and "${" in node.value else None
        if text is None:
            return node
        whole = _PLACE.fullmatch(text)
        if whole is not None and whole["name"] is not None:
            found = self._value(whole["name"], node)
            return node if found is None else self._copied(found[0], node, found[1])
        origins: list[Related] = []
        inserted = _PLACE.sub(lambda place: self._text(place, node, origins), text)
        return _scalar_at(inserted, '"', node, origins[0] if origins else None)

    def _value(self, name: str, node: Node) -> tuple[Node, Related] | None:
        name = resolved(name, node, self._found)
        variable = self._found.get(name)
        if variable is None:
            near = closest(name, self._found)
            known = f"the variables are {listed(self._found)}" if self._found else "define it under `vars`"
            help = f"did you mean `${{{near}}}`?" if near else f"{known}; write `$${{` for the text `${{`"
            self._report.add("E1211", node, name=shown(name), help=help)
            return None
        variable.used = True
        if variable.broken:
            return None
        return variable.value, Related(self._report.span(variable.key), f"the variable `{shown(name)}` is defined here")

    def _text(self, place: re.Match[str], node: ScalarNode, origins: list[Related]) -> str:
        if place[0] == "$${":
            return "${"
        if place["name"] is None:
            help = "write `${name}` for a variable, `$${` for the text `${`"
            self._report.add("E1214", node, problem="`${` begins no reference to a variable", help=help)
            return place[0]
        found = self._value(place["name"], node)
        if found is None:
            return place[0]
        item, origin = found
        origins.append(origin)
        if not isinstance(item, ScalarNode):
            problem = f"`{place[0]}` is a list, which is no part of a text"
            self._report.add("E1214", node, problem=problem, help="let it be the whole value", related=[origin])
            return ""
        text = item.value if isinstance(item.value, str) else json.dumps(item.value)
        return text if self._charge(node, len(text)) else ""

    def _copied(self, item: Node, at: Node, origin: Related) -> Node:
        """Return the value of a variable with the place of its use."""
        if isinstance(item, ScalarNode):
            charged = self._charge(at, len(str(item.value)))
            return _scalar_at(item.value if charged else "", item.style, at, origin)
        if not self._charge(at, len(item.value)):
            return at
        items = [self._copied(each, at, origin) for each in item.value]
        start, end = (marked(mark, origin=origin) for mark in (at.start_mark, at.end_mark))
        return SequenceNode("", items, start, end, flow_style=True)

    def _charge(self, node: Node, size: int) -> bool:
        """Count what variables add; return false, and report once, past the limit."""
        before, self._inserted = self._inserted, self._inserted + size + 1
        if before <= MAX_INSERTED < self._inserted:
            self._report.add("E1214", node, problem=f"variables add more than {MAX_INSERTED:,} characters")
        return self._inserted <= MAX_INSERTED


def _scalar_at(text: Any, style: Any, at: Node, origin: Related | None) -> ScalarNode:  # Any: a constant
    start, end = (marked(mark, origin=origin) for mark in (at.start_mark, at.end_mark))
    return ScalarNode("", text, start, end, style)


def _name_of(key: Node) -> str | None:
    return key.value if isinstance(key, ScalarNode) and isinstance(key.value, str) else None


def _described(node: Node) -> str:
    if isinstance(node, SequenceNode):
        kinds = sorted({kind_of_node(item).removeprefix("a ") for item in node.value})
        return f"a list of {' and '.join(f'{kind}s' for kind in kinds)}" if kinds else "a list"
    return kind_of_node(node)
