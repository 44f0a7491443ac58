"""The document: its sections, and the order of their lowering."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, get_args

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from bobcat.bundle.source_map import Position, RuleSource
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.strict.capabilities import Capabilities
from bobcat.frontend.strict.fields import check_keys, mapping, wrong_type
from bobcat.frontend.strict.matches import MatchLowering
from bobcat.frontend.strict.resources import Resources
from bobcat.frontend.strict.rules import Rules, verdict_of
from bobcat.frontend.strict.sources import Sources
from bobcat.frontend.suggest import closest, listed
from bobcat.frontend.yaml.nodes import InvalidValue, entries, value
from bobcat.frontend.yaml.scalars import kind_of_node
from bobcat.ir import construct
from bobcat.ir.schema import Defaults, Definition, IrRule, VerdictName

LANGUAGE_VERSION = 1
KEYS = ("version", "defaults", "resources", "sources", "predicates", "capabilities", "rules")
MAX_RULES = 100_000
"""Rules of one policy."""

OnNoMatch = Literal["allow", "deny", "dry_run", "approve_required"]
OnMissingShadow = Literal["allow", "deny", "approve_required"]
OnRuleError = Literal["deny", "continue"]
DEFAULTS_KEYS = ("on_no_match", "on_missing_shadow", "on_rule_error")

_SYNONYMS = {
    "rule": "rules",
    "policies": "rules",
    "default": "defaults",
    "predicate": "predicates",
    "definitions": "predicates",
    "resource": "resources",
    "capability": "capabilities",
    "source": "sources",
    "origins": "sources",
    "permissions": "capabilities",
}
_ALONE = frozenset(("id", "match", "decision", "priority"))


class Document:
    """Lowering of one policy document. Errors are in the report."""

    def __init__(self, report: DiagnosticCollector) -> None:
        self._report = report
        self._resources = Resources(report)
        self._sources = Sources(report)
        self._matches = MatchLowering(report, self._resources, self._sources)
        self._rules = Rules(report, self._matches)
        self.defaults_places: list[Position] = [(0, 0, 0, 0)] * len(DEFAULTS_KEYS)

    @property
    def definitions(self) -> Mapping[str, Definition]:
        """Return the definitions of the document, by their names in the IR."""
        return self._matches.definitions

    @property
    def sources(self) -> Mapping[str, Definition]:
        """Return the sources of the document, by their names in the IR."""
        return self._sources.definitions

    def lower(self, root: Node) -> tuple[Defaults, list[tuple[IrRule, RuleSource]]]:
        """Lower the defaults, and the rules in file order with their positions."""
        if not isinstance(root, MappingNode):
            self._report.add("E0201", root, kind=kind_of_node(root), help=_instead(root))
            return construct.DEFAULTS, []
        found: dict[str, Node] = {}
        for key, (key_node, item) in entries(root, self._report).items():
            if key in KEYS:
                found[key] = item
                continue
            intended = _SYNONYMS.get(key.lower()) or closest(key, KEYS)
            help = f"did you mean `{intended}`?" if intended else None
            if key in _ALONE:
                help = "a rule is an item of the list under `rules`"
            elif key in DEFAULTS_KEYS:
                help = f"it belongs under `defaults`: `defaults: {{{key}: ...}}`"
            self._report.add("E0202", key_node, where="a policy", key=shown(key), known=listed(KEYS), help=help)
        if "version" in found:
            self._version(found["version"])
        defaults = self._defaults(found["defaults"]) if "defaults" in found else construct.DEFAULTS
        if "resources" in found:
            self._resources.define(found["resources"])
        if "sources" in found:
            self._sources.define(found["sources"], self._matches)
        if "predicates" in found:
            self._predicates(found["predicates"])
        self._sources.lower()
        lowered = self._lower_rules(found["rules"]) if "rules" in found else []
        if "capabilities" in found:  # behind the rules: of equal priority, a rule that denies is decided first
            lowered.extend(self._capabilities(found["capabilities"], len(lowered)))
        if not self._report.has_errors():
            self._matches.report_unused()
            self._sources.report_unused()
        return defaults, lowered

    def _version(self, node: Node) -> None:
        found = value(node, self._report) if isinstance(node, ScalarNode) else None
        if isinstance(found, InvalidValue):
            return
        if type(found) is not int:
            wrong_type(node, "version", "the integer 1", self._report, help="write `version: 1`")
        elif found != LANGUAGE_VERSION:
            self._report.add("E0205", node, version=shown(node.value))

    def _defaults(self, node: Node) -> Defaults:
        fields = mapping(node, "defaults", self._report)
        if fields is None:
            return construct.DEFAULTS
        no_match: VerdictName = construct.DEFAULTS.on_no_match
        missing_shadow: VerdictName = construct.DEFAULTS.on_missing_shadow
        rule_error: OnRuleError = construct.DEFAULTS.on_rule_error
        found = entries(fields, self._report)
        check_keys(found, DEFAULTS_KEYS, "`defaults`", self._report)
        for key, (_, item) in found.items():
            if key in DEFAULTS_KEYS:
                self.defaults_places[DEFAULTS_KEYS.index(key)] = self._matches.position(item, item)
            match key:
                case "on_no_match":
                    no_match = verdict_of(item, key, get_args(OnNoMatch), self._report) or no_match
                case "on_missing_shadow":
                    missing_shadow = verdict_of(item, key, get_args(OnMissingShadow), self._report) or missing_shadow
                case "on_rule_error":
                    rule_error = verdict_of(item, key, get_args(OnRuleError), self._report) or rule_error
        return Defaults(no_match, missing_shadow, rule_error)

    def _predicates(self, node: Node) -> None:
        if isinstance(node, MappingNode):
            self._matches.define(entries(node, self._report))
            return
        wrong_type(node, "predicates", "a mapping of names to matches", self._report)

    def _capabilities(self, node: Node, rules: int) -> list[tuple[IrRule, RuleSource]]:
        if not isinstance(node, SequenceNode):
            help = "put `- ` before each capability" if isinstance(node, MappingNode) else None
            wrong_type(node, "capabilities", "a list", self._report, help=help)
            return []
        if rules + len(node.value) > MAX_RULES:
            self._report.add("E0212", node, count=rules + len(node.value), limit=MAX_RULES)
            return []
        capabilities = Capabilities(self._report, self._rules, self._resources)
        found: list[tuple[IrRule, RuleSource]] = []
        for index, item in enumerate(node.value):
            found.extend(capabilities.lower(item, index))
            if self._report.full:
                break
        return found

    def _lower_rules(self, node: Node) -> list[tuple[IrRule, RuleSource]]:
        if not isinstance(node, SequenceNode):
            help = "put `- ` before each rule" if isinstance(node, MappingNode) else None
            if kind_of_node(node) == "null":
                help = "write `rules: []` for no rules"
            wrong_type(node, "rules", "a list", self._report, help=help)
            return []
        if len(node.value) > MAX_RULES:
            self._report.add("E0212", node, count=len(node.value), limit=MAX_RULES)
            return []
        found: list[tuple[IrRule, RuleSource]] = []
        for index, item in enumerate(node.value):
            lowered = self._rules.rule(item, index)
            if lowered is not None:
                found.append(lowered)
            elif self._report.full:
                break
        return found


def _instead(root: Node) -> str | None:
    """Suggest the intended source for a document that is not a mapping."""
    if isinstance(root, SequenceNode):
        return "put the list of rules under `rules:`"
    text = str(root.value) if isinstance(root, ScalarNode) else ""
    if re.fullmatch(r"[^\r\n]+[.](ya?ml|json)", text):
        return f"the policy in a file is compiled by `Policy.compile(Path({shown(text)!r}))`"
    if re.fullmatch(r"[^\r\n]+[.]bobcat", text):
        return f"a bundle file is loaded by `Policy.load({shown(text)!r})`"
    return None
