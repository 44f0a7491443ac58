"""The document: its sections, and the order of their lowering."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from bobcat._core import MappingNode, Node, ScalarNode, SequenceNode
from bobcat.bundle.source_map import Position, RuleSource
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.strict.capabilities import Capabilities
from bobcat.frontend.strict.fields import check_keys, mapping, wrong_type
from bobcat.frontend.strict.matches import MatchLowering
from bobcat.frontend.strict.resources import Resources
from bobcat.frontend.strict.rules import Rules, verdict_of
from bobcat.frontend.strict.sections import joined_mappings, listed_items
from bobcat.frontend.strict.sources import Sources
from bobcat.frontend.suggest import closest, listed
from bobcat.frontend.yaml.nodes import InvalidValue, entries, value
from bobcat.frontend.yaml.scalars import kind_of_node
from bobcat.ir import construct
from bobcat.ir.schema import Defaults, Definition, IrRule, VerdictName

LANGUAGE_VERSION = 1
KEYS = ("version", "include", "vars", "defaults", "resources", "sources", "predicates", "capabilities", "rules")
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
    "includes": "include",
    "imports": "include",
    "import": "include",
    "variables": "vars",
    "constants": "vars",
}
ITEMS = {"rules": "rule", "capabilities": "capability"}
_ALONE = frozenset(("id", "match", "decision", "priority"))


class Document:
    """Lowering of the documents of one policy. Errors are in the report."""

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

    def lower(
        self, roots: Sequence[Node], *, release: bool = False
    ) -> tuple[Defaults, list[tuple[IrRule, RuleSource]]]:
        """Lower the defaults, and the rules in order with their positions. The last document is the policy itself, and
        the others are included. With `release`, the nodes of each rule are let go of when it is lowered.
        """
        if not isinstance(roots[-1], MappingNode):
            self._report.add("E0201", roots[-1], kind=kind_of_node(roots[-1]), help=_instead(roots[-1]))
            return construct.DEFAULTS, []
        found: dict[str, list[Node]] = defaultdict(list)
        for root in roots:
            if isinstance(root, MappingNode):
                for key, item in self._sections(root).items():
                    found[key].append(item)
        for node in found["version"]:
            self._version(node)
        own = self._sections(roots[-1]).get("defaults")
        defaults = self._defaults(own) if own is not None else construct.DEFAULTS
        for node in found["defaults"]:
            if node is not own:
                self._agree(node, defaults)
        if found["resources"]:
            self._resources.define(joined_mappings(found["resources"]))
        if found["sources"]:
            self._sources.define(joined_mappings(found["sources"]), self._matches)
        if found["predicates"]:
            self._predicates(joined_mappings(found["predicates"]))
        self._sources.lower()
        lowered = self._lower_rules(found["rules"], release=release)
        # Behind the rules: of equal priority, a rule that denies is decided first.
        lowered.extend(self._capabilities(found["capabilities"], len(lowered)))
        if not self._report.has_errors():
            self._matches.report_unused()
            self._sources.report_unused()
        return defaults, lowered

    def _sections(self, root: MappingNode) -> dict[str, Node]:
        """Return the sections of a document; unknown keys are reported."""
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
        return found

    def _agree(self, node: Node, defaults: Defaults) -> None:
        """Report the defaults of an included file that differ from those of the policy."""
        places = list(self.defaults_places)
        included = self._defaults(node)
        self.defaults_places = places
        if isinstance(node, MappingNode):
            for key, (_, item) in entries(node, self._report).items():
                if key in DEFAULTS_KEYS and getattr(included, key) != getattr(defaults, key):
                    own = getattr(defaults, key)
                    self._report.add("E1205", item, key=key, value=getattr(included, key), own=own)

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
                self.defaults_places[DEFAULTS_KEYS.index(key)] = item.position_to(item)
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

    def _capabilities(self, nodes: list[Node], rules: int) -> list[tuple[IrRule, RuleSource]]:
        lists = self._lists(nodes, "capabilities", rules)
        capabilities = Capabilities(self._report, self._rules, self._resources)
        found: list[tuple[IrRule, RuleSource]] = []
        for index, (item, order) in enumerate(listed_items(lists)):
            found.extend(capabilities.lower(item, index, order))
            if self._report.full:
                break
        return found

    def _lists(self, nodes: list[Node], key: str, before: int = 0) -> list[SequenceNode]:
        """Return the lists of a section, behind `before` rules; none after an error has been reported."""
        lists: list[SequenceNode] = []
        for node in nodes:
            if isinstance(node, SequenceNode):
                lists.append(node)
                continue
            help = f"put `- ` before each {ITEMS[key]}" if isinstance(node, MappingNode) else None
            if key == "rules" and kind_of_node(node) == "null":
                help = "write `rules: []` for no rules"
            wrong_type(node, key, "a list", self._report, help=help)
        count = before + sum(len(node.value) for node in lists)
        if lists and count > MAX_RULES:
            self._report.add("E0212", lists[-1], count=count, limit=MAX_RULES)
            return []
        return lists

    def _lower_rules(self, nodes: list[Node], *, release: bool) -> list[tuple[IrRule, RuleSource]]:
        found: list[tuple[IrRule, RuleSource]] = []
        for index, (item, order) in enumerate(listed_items(self._lists(nodes, "rules"), release=release)):
            lowered = self._rules.rule(item, index, order)
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
