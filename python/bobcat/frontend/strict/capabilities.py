"""Capabilities: what an agent may do, written as an action and a resource, and lowered to ordinary rules that permit.

A capability becomes one rule for each of its actions: the same rule, with the same digest, as one written by hand. The
made nodes have the positions of the capability's own keys, so that findings and `explain` point at them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args

from bobcat._core import MappingNode, Node, ScalarNode, SequenceNode
from bobcat.bundle.source_map import RuleSource
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.strict.capability_actions import ACTIONS, RULE_KEYS, SYNONYMS, Action
from bobcat.frontend.strict.capability_breadth import Breadth
from bobcat.frontend.strict.capability_limits import Limits, texts
from bobcat.frontend.strict.capability_targets import PathPattern, Targets, Tests, UrlPattern
from bobcat.frontend.strict.fields import check_keys, mapping, string, wrong_type
from bobcat.frontend.strict.resources import Resources
from bobcat.frontend.strict.rules import Rules, verdict_of
from bobcat.frontend.suggest import closest, listed
from bobcat.frontend.yaml.nodes import Entries, entries
from bobcat.frontend.yaml.scalars import CONSTANT_STYLE
from bobcat.ir.schema import IrRule

Permission = Literal["allow", "approve_required", "dry_run"]
_Made = tuple[IrRule, RuleSource]


class Capabilities:
    """Lowering of capabilities. Methods return None or nothing after they have reported an error."""

    def __init__(self, report: DiagnosticCollector, rules: Rules, resources: Resources) -> None:
        self._report = report
        self._rules = rules
        self._targets = Targets(report, resources)
        self._limits = Limits(report)

    def lower(self, node: Node, index: int, order: int) -> Iterator[_Made]:
        """Yield the rules of the capability at `index` of the policy, which is `order` in its file."""
        fields = mapping(node, f"capabilities[{index}]", self._report, help="write `{action: fs.read, resource: ...}`")
        if fields is None:
            return
        found = entries(fields, self._report)
        if "action" not in found:
            if not check_keys(found, (*RULE_KEYS, *_all_keys()), "a capability", self._report, SYNONYMS):
                self._missing(fields, "action", f"write `action:` and one of {listed(ACTIONS)}")
            return
        actions = self._actions(found)
        if actions is None or ("decision" in found and not self._permits(found)):
            return
        for name in actions:
            made = self._rule(fields, found, name, index, several=len(actions) > 1)
            lowered = None if made is None else self._rules.rule(made, -index - 1, -order - 1)
            if lowered is not None:
                yield lowered

    def _actions(self, found: Entries) -> list[str] | None:
        node = found["action"][1]
        names = texts(node, "action", self._report)
        for name in names or ():
            if name not in ACTIONS:
                near = closest(name, ACTIONS)
                help = f"did you mean `{near}`?" if near else "permit the calls of other tools by a rule"
                known = listed(ACTIONS)
                self._report.add("E0206", node, key="action", value=shown(name), known=known, help=help)
                return None
        return names

    def _permits(self, found: Entries) -> bool:
        return verdict_of(found["decision"][1], "decision", get_args(Permission), self._report) is not None

    def _rule(self, node: MappingNode, found: Entries, name: str, index: int, *, several: bool) -> Node | None:
        """Return the rule of one action."""
        action = ACTIONS[name]
        if check_keys(found, (*RULE_KEYS, *action.keys), f"a capability of `{name}`", self._report, SYNONYMS):
            return None
        for key in action.required:
            if key not in found:
                self._missing(node, key, f"write `{key}: {action.examples[key]}`", f"the capability of `{name}`")
                return None
        tool_key, tool = found["action"]
        parts = [_made({"tool": name}, tool_key, tool)]
        breadth = Breadth(name, self._report)
        for key in action.keys:
            tests = self._tests(key, found, action, breadth)
            if tests is None:
                return None
            parts.extend(tests)
        breadth.check(found)
        id_node = found["id"][1] if "id" in found else tool
        id = string(id_node, "id", self._report) if "id" in found else f"cap-{index + 1}-{name}"
        if id is None:
            return None
        rule: list[tuple[Node, Node]] = [
            (_scalar("id", id_node), _scalar(f"{id}-{name}" if several and "id" in found else id, id_node)),
            (_scalar("match", node), _made({"all_of": parts}, node, node)),
        ]
        for key, (key_node, item) in found.items():
            if key in RULE_KEYS and key not in ("id", "action"):
                rule.append((_scalar(RULE_KEYS[key], key_node), item))
        if "decision" not in found:
            rule.append((_scalar("decision", tool), _scalar("allow", tool)))
        return MappingNode("", rule, node.start_mark, node.end(), flow_style=True)

    def _tests(self, key: str, found: Entries, action: Action, breadth: Breadth) -> list[Node] | None:
        """Return the tests that a key stands for; none without it, unless it has a default."""
        if key == "resource":
            return self._resource(found["resource"], action, breadth)
        if key not in found:
            if key == "redirects":
                where = found["action"][1]
                return [_made({"args.redirects": "none"}, where, where)]
            return []
        key_node, node = found[key]
        tests = self._limits.tests(key, node, action)
        return None if tests is None else [_made(tests, key_node, node)] if tests else []

    def _resource(self, entry: tuple[ScalarNode, Node], action: Action, breadth: Breadth) -> list[Node] | None:
        key_node, node = entry
        items = node.value if isinstance(node, SequenceNode) else [node]
        patterns: list[tuple[Node, PathPattern | UrlPattern]] = []
        for item in items:
            text = string(item, "resource", self._report)
            read = self._targets.url if action.target == "url" else self._targets.path
            pattern = read(text, item) if text is not None else None
            if text is None or pattern is None:
                return None
            breadth.see(pattern, text, item)
            patterns.append((item, pattern))
        if not patterns:
            wrong_type(node, "resource", "a pattern, or a list of patterns", self._report, kind="an empty list")
            return None
        made = []
        for argument in action.arguments:
            each = [_made(pattern.tests(argument), key_node, item) for item, pattern in patterns]
            made.append(each[0] if len(each) == 1 else _made({"any_of": each}, key_node, node))
        return made

    def _missing(self, node: MappingNode, key: str, help: str, where: str = "the capability") -> None:
        head = node.value[0][0] if node.value else node
        self._report.add("E0203", head, where=where, key=key, help=help)


def _all_keys() -> Iterator[str]:
    for action in ACTIONS.values():
        yield from action.keys


def _scalar(value: object, at: Node) -> ScalarNode:
    return ScalarNode("", value, at.start_mark, at.end_mark, CONSTANT_STYLE)


def _made(value: Any | Tests, key_at: Node, at: Node) -> Node:  # Any: JSON, and nodes
    """Return plain data as nodes with the position of a key and of its value."""
    if isinstance(value, Node):
        return value
    if isinstance(value, dict):
        pairs = [(_scalar(key, key_at), _made(item, at, at)) for key, item in value.items()]
        return MappingNode("", pairs, key_at.start_mark, at.end_mark, flow_style=True)
    if isinstance(value, list):
        return SequenceNode("", [_made(item, at, at) for item in value], at.start_mark, at.end_mark, flow_style=True)
    return _scalar(value, at)
