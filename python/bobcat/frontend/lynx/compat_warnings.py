"""Warnings about permissive behaviour of the `lynx` profile: one warning for each rule and behaviour.

No warning stops a compilation, because lynx-agent accepts such policies. The strict profile rejects or defines each
case. `docs/reference/lynx-profile.md` lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yaml.nodes import MappingNode, Node

from bobcat._core import check_pattern
from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Diagnostic
from bobcat.frontend.lynx.match import OPERATORS, Clause, MatchPart
from bobcat.frontend.lynx.source import entries, oddities
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.ir.schema import IrRule

_DOCUMENT_KEYS = ("version", "defaults", "predicates", "rules")
_DEFAULTS_KEYS = ("on_no_match", "on_missing_shadow")
_RULE_KEYS = (
    "id", "priority", "description", "match", "decision", "verdict", "reason", "approvers", "timeout_seconds",
    "transform",
)  # fmt: skip
_TRANSFORM_KEYS = ("jsonpath", "set", "append", "delete")
_DECLARED = ("cost", "reversible", "scope", "blast_radius_hint", "has_shadow", "isolation")
_CONTEXT = ("environment", "workspace", "correlation_id", "step_seq", "timestamp", "principal", "extra")
_PRINCIPAL = ("kind", "id", "name")
_RAISING = frozenset({"contains", "contains_any", "contains_all", "gt", "ge", "lt", "le", "between", "not_between"})
_LOOKALIKES = frozenset(
    "regex regexp match not_in notin nin ne neq not_eq gte lte startswith starts_with endswith ends_with equals any "
    "all like glob exists isnull is_null has size len type".split()
)


class CompatWarnings:
    """Collector of a policy's warnings. It has no limit: a policy with 100,000 permissive rules still compiles."""

    def __init__(self, report: DiagnosticCollector) -> None:
        self._report = report
        self.found: list[Diagnostic] = []
        self._ids: set[str] = set()
        self._seen: set[str] = set()

    def document(self, data: Mapping[Any, Any], root: Node | None) -> None:
        """Add the warnings about everything except the rules."""
        self._where, self._seen = "the policy", set()
        nodes = entries(root)
        self._unknown_keys(data, _DOCUMENT_KEYS, root)
        defaults = data.get("defaults")
        if isinstance(defaults, Mapping):
            self._unknown_keys(defaults, _DEFAULTS_KEYS, _value(nodes, "defaults") or root)
            for key in _DEFAULTS_KEYS:
                if str(defaults.get(key)).lower() in ("allow", "transform"):
                    self._add("W0203", _value(nodes, "defaults") or root, key=key, value=shown(defaults[key]))
        version = data.get("version", 1)
        if type(version) is not int or version != 1:
            self._add("W0214", _value(nodes, "version") or root, key="version", text=shown(version), value=int(version))
        if isinstance(root, MappingNode):
            rules = _value(nodes, "rules")
            for key, value in root.value:
                if value is not rules:
                    self._oddities(key)
                    self._oddities(value)
            self._duplicates(root)

    def rule(self, spec: Mapping[Any, Any], rule: IrRule, piece: MatchPart, node: Node | None) -> None:
        """Add the warnings about one rule."""
        id = spec.get("id") or rule.id
        self._where, self._seen = f"rule `{shown(id)}`", set()
        nodes = {key: value for key, (_, value) in entries(node).items()}
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
        for clause in piece.clauses:
            self._clause(clause, clause.node or node, permits=permits)
        if node is not None:
            self._oddities(node)

    def _add(self, code: str, node: Node | None, **params: Any) -> None:  # Any: whatever the code's text shows
        if code not in self._seen:
            self._seen.add(code)
            span = None if node is None else self._report.span(node)
            self.found.append(diagnose(code, span, where=self._where, **params))

    def _unknown_keys(self, data: Mapping[Any, Any], known: tuple[str, ...], node: Node | None) -> None:
        unknown = [key for key in data if key not in known]
        if unknown:
            place = entries(node).get(unknown[0], (node, node))[0] if isinstance(unknown[0], str) else node
            self._add("W0202", place, keys=", ".join(f"`{shown(key)}`" for key in unknown))

    def _oddities(self, node: Node) -> None:
        for oddity in oddities(node):
            self._add(oddity.code, oddity.node, text=shown(oddity.text), value=oddity.value)

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


def _value(nodes: Mapping[str, tuple[Node, Node]], key: str) -> Node | None:
    pair = nodes.get(key)
    return None if pair is None else pair[1]


def _is_path(clause: Clause) -> bool:
    path = clause.path
    match clause.head:
        case "tool":
            return not path
        case "args":
            return True
        case "declared":
            return len(path) == 1 and path[0] in _DECLARED
        case "context" if path and path[0] == "principal":
            return len(path) == 2 and path[1] in _PRINCIPAL
        case "context":
            return bool(path) and path[0] in _CONTEXT and (len(path) == 1 or path[0] == "extra")
    return False


def _is_typed(clause: Clause) -> bool:
    """Return true if the value cannot have a type on which the operator raises: the tool declares it, not the model."""
    return clause.head == "tool" or (clause.head == "declared" and clause.path == ("scope",))


def _looks_like_operator(name: str) -> bool:
    lower = name.lower()
    return lower in _LOOKALIKES or (lower in OPERATORS and lower != name)
