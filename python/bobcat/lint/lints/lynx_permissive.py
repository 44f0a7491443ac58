"""Permissive behaviour of the `lynx` profile: one warning for each rule and behaviour.

What it does: finds what lynx-agent accepts although it is rarely meant, such as unknown keys, rules without a match,
    operators that do not exist, and values that YAML 1.1 reads in another way.
Why: such a policy permits more than its author believes; the strict profile rejects or defines each case.
Example: `decision: allow` with `match: {args.path.startswith: /srv}`.
Use instead: the strict profile; `docs/reference/lynx-profile.md` lists the cases.
Fix: by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from yaml.nodes import MappingNode, Node, ScalarNode

from bobcat._core import check_pattern
from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Diagnostic, Findings, Span
from bobcat.frontend.lynx.match import OPERATORS, Clause
from bobcat.frontend.lynx.source import MERGE, children, entries, position_of, value_nodes
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.language.paths import PATHS

if TYPE_CHECKING:
    from bobcat.frontend.lynx.policy import WrittenPolicy, WrittenRule

CODES = tuple(f"W{number:04}" for number in range(201, 217))

_DOCUMENT_KEYS = ("version", "defaults", "predicates", "rules")
_DEFAULTS_KEYS = ("on_no_match", "on_missing_shadow")
_RULE_KEYS = (
    "id", "priority", "description", "match", "decision", "verdict", "reason", "approvers", "timeout_seconds",
    "transform",
)  # fmt: skip
_TRANSFORM_KEYS = ("jsonpath", "set", "append", "delete")
_UNKNOWN_TO_LYNX = ("declared", "effect")
_RAISING = frozenset({"contains", "contains_any", "contains_all", "gt", "ge", "lt", "le", "between", "not_between"})
_LOOKALIKES = frozenset(
    "regex regexp match not_in notin nin ne neq not_eq gte lte startswith starts_with endswith ends_with equals any "
    "all like glob exists isnull is_null has size len type".split()
)

_CORE_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*|0x[0-9a-fA-F]+)\Z")


def report(span: Span | None, *, file: str, policy: WrittenPolicy) -> Findings:
    """Yield the warnings about a policy in source order."""
    warnings = _Warnings(file)
    warnings.document(policy)
    for rule in policy.rules:
        warnings.rule(rule)
    yield from sorted(warnings.found, key=lambda item: (item.span.line, item.span.column) if item.span else (0, 0))


class _Warnings:
    """Collector of a policy's warnings. It has no limit: a policy with 100,000 permissive rules still compiles."""

    def __init__(self, file: str) -> None:
        self._report = DiagnosticCollector(file)
        self.found: list[Diagnostic] = []
        self._ids: set[str] = set()
        self._seen: set[str] = set()

    def document(self, policy: WrittenPolicy) -> None:
        """Add the warnings about everything except the rules."""
        self._where, self._seen = "the policy", set()
        data, root = policy.data, policy.root
        nodes = value_nodes(root)
        self._unknown_keys(data, _DOCUMENT_KEYS, root)
        defaults = data.get("defaults")
        if isinstance(defaults, Mapping):
            self._unknown_keys(defaults, _DEFAULTS_KEYS, nodes.get("defaults") or root)
            for key in _DEFAULTS_KEYS:
                if str(defaults.get(key)).lower() in ("allow", "transform"):
                    self._add("W0203", nodes.get("defaults") or root, key=key, value=shown(defaults[key]))
        version = data.get("version", 1)
        if type(version) is not int or version != 1:
            self._add("W0214", nodes.get("version") or root, key="version", text=shown(version), value=policy.version)
        if isinstance(root, MappingNode):
            rules = nodes.get("rules")
            for key, value in root.value:
                if value is not rules:
                    self._ambiguous_scalars(key)
                    self._ambiguous_scalars(value)
            self._duplicates(root)

    def rule(self, written: WrittenRule) -> None:
        """Add the warnings about one rule."""
        spec, rule, node = written.spec, written.rule, written.node
        id = spec.get("id") or rule.id
        self._where, self._seen = f"rule `{shown(id)}`", set()
        nodes = value_nodes(node)
        if repr(id) in self._ids:
            self._add("W0205", nodes.get("id", node))
        self._ids.add(repr(id))
        if "match" not in spec:
            self._add("W0201", node)
        if not spec.get("decision", spec.get("verdict")):
            self._add("W0211", nodes.get("decision", node))
        self._unknown_keys(spec, _RULE_KEYS, node)
        priority = spec.get("priority", 0)
        if type(priority) is not int:
            self._add("W0214", nodes.get("priority", node), key="priority", text=shown(priority), value=rule.priority)
        if isinstance(spec.get("approvers"), str | Mapping) and spec["approvers"]:
            self._add("W0208", nodes.get("approvers", node), key="approvers", text=shown(spec["approvers"]))
        if rule.transform is not None:
            self._transform(spec["transform"], rule.transform.path[0], nodes.get("transform", node))
        permits = rule.verdict in ("allow", "transform")
        for clause in written.clauses:
            self._clause(clause, clause.node or node, permits=permits)
        if node is not None:
            self._ambiguous_scalars(node)

    def _add(self, code: str, node: Node | None, **params: Any) -> None:  # Any: whatever the code's text shows
        if code not in self._seen:
            self._seen.add(code)
            span = None if node is None else Span(self._report.file, *position_of(node))
            self.found.append(diagnose(code, span, where=self._where, **params))

    def _unknown_keys(self, data: Mapping[Any, Any], known: tuple[str, ...], node: Node | None) -> None:
        unknown = [key for key in data if not isinstance(key, str) or key not in known]
        if unknown:
            place = entries(node).get(unknown[0], (node, node))[0] if isinstance(unknown[0], str) else node
            self._add("W0202", place, keys=", ".join(f"`{shown(key)}`" for key in unknown))

    def _ambiguous_scalars(self, node: Node) -> None:
        for code, item, value in _ambiguous_scalars(node):
            self._add(code, item, text=shown(item.value), value=value)

    def _duplicates(self, root: MappingNode) -> None:
        keys: set[str] = set()
        for key, _ in root.value:
            if key.value in keys:
                self._add("W0204", key, text=shown(key.value), value="")
            if isinstance(key.value, str):
                keys.add(key.value)

    def _transform(self, spec: Mapping[Any, Any], key: str, node: Node | None) -> None:
        self._unknown_keys(spec, _TRANSFORM_KEYS, node)
        if key.startswith("$.args") or "." in key:
            self._add("W0213", node, key=shown(key))

    def _clause(self, clause: Clause, node: Node | None, *, permits: bool) -> None:
        value = clause.value.value
        if not _is_path(clause):
            self._add("W0207", node, key=shown(clause.key))
            return
        last = clause.key.rpartition(".")[2]
        if clause.operator == "eq" and clause.path and _looks_like_operator(last):
            self._add("W0215", node, key=shown(clause.key), name=shown(last))
        if clause.operator == "eq" and isinstance(value, list | tuple | set | Mapping):
            self._add("W0216", node, key=shown(clause.key))
        if clause.operator in ("contains_any", "contains_all") and isinstance(value, str | Mapping):
            self._add("W0208", node, key=shown(clause.key), text=shown(value))
        if clause.operator in _RAISING and not permits and not _is_typed(clause):
            self._add("W0209", node, key=shown(clause.key))
        if clause.operator == "matches":
            self._pattern(value, node)
        if permits and clause.negated and clause.head in ("args", "context"):
            self._add("W0212", node, key=shown(clause.key))

    def _pattern(self, pattern: str, node: Node | None) -> None:
        if check_pattern(pattern, "python"):
            self._add("W0210", node, pattern=shown(pattern))


def _ambiguous_scalars(node: Node) -> Iterator[tuple[str, ScalarNode, str]]:
    """Yield duplicate keys and surprising scalars at and below `node`, each once: the code, the scalar, its value."""
    seen: set[int] = set()
    stack = [node]
    while stack:
        item = stack.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, ScalarNode):
            value = _yaml_1_1_value(item)
            if value is not None:
                yield "W0206", item, value
            continue
        if isinstance(item, MappingNode):
            keys: set[tuple[str, str]] = set()
            for key, _ in item.value:
                if not isinstance(key, ScalarNode) or key.tag == MERGE:
                    continue
                if (key.tag, key.value) in keys:
                    yield "W0204", key, ""
                keys.add((key.tag, key.value))
        stack.extend(reversed(list(children(item))))


def _yaml_1_1_value(node: ScalarNode) -> str | None:
    """Describe the YAML 1.1 value of a plain scalar that has another value in YAML 1.2."""
    if node.style:
        return None
    kind = node.tag.rpartition(":")[2]
    text = node.value
    if kind == "bool" and text.lower() not in ("true", "false"):
        return "true" if text.lower() in ("yes", "on") else "false"
    if kind == "int" and not _CORE_INT.match(text):
        return "another integer"
    if kind == "float" and ("_" in text or ":" in text):
        return "another number"
    return "a date" if kind == "timestamp" else None


def _is_path(clause: Clause) -> bool:
    path = (clause.head, *clause.path)
    if path[0] == "args" or path[:2] == ("context", "extra"):
        return True
    return path in PATHS and not PATHS[path].open and path != _UNKNOWN_TO_LYNX


def _is_typed(clause: Clause) -> bool:
    """Return true if the value cannot have a type on which the operator raises: the tool declares it, not the model."""
    return clause.head == "tool" or (clause.head == "declared" and clause.path == ("scope",))


def _looks_like_operator(name: str) -> bool:
    lower = name.lower()
    return lower in _LOOKALIKES or (lower in OPERATORS and lower != name)
