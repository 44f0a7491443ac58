"""Reading of a file of invariants: its text to claims, or every error with its place.

predicates:
  prod: {context.environment: prod}
invariants:
  - id: no-deletes-in-prod
    reason: a person deletes in production
    never: {tool: delete, all_of: [prod]}
  - id: reads-stay-in-the-workspace
    only_if: {match: {tool: read}, when: {args.path.starts_with: /data/}}
  - id: help-works
    always: {match: {tool: help}, verdict: allow}
  - id: envelope
    within: max.yaml
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from bobcat._core import MappingNode, Node, SequenceNode
from bobcat.analysis import invariant_keys as keys
from bobcat.analysis.inputs import policy_of
from bobcat.analysis.invariants import Always, Claim, Invariant, Invariants, Never, OnlyIf, Within
from bobcat.analysis.matches import PERMITS, RESTRICTS, policy_of_match
from bobcat.analysis.model import ORDER, PERMITTED
from bobcat.bundle.model import Policy
from bobcat.diagnostics.model import Diagnostic, Related, Span
from bobcat.errors import BundleError, PolicyCompileError, UserCodeError
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.strict.fields import check_keys, mapping, string, wrong_type
from bobcat.frontend.strict.matches import MatchLowering
from bobcat.frontend.suggest import closest, listed
from bobcat.frontend.yaml.nodes import entries
from bobcat.frontend.yaml.scalars import kind_of_node
from bobcat.frontend.yaml.source import collector_paused, compose
from bobcat.ir.schema import VerdictName

Fields = Mapping[str, Node]
Open = Callable[[str], Policy]
"""Opens the policy at a path; raises as `policy_of` does."""


class InvariantsReading(NamedTuple):
    """The invariants, or None, and the errors of the file."""

    invariants: Invariants | None
    diagnostics: tuple[Diagnostic, ...]


def read_invariants(text: str, file: str, opened: Open | None = None) -> InvariantsReading:
    """Read the text of a file of invariants. Never raises because of its content.

    An envelope is a path from the directory of the file; `opened` opens it, by default as `Policy.compile` does.
    """
    report = DiagnosticCollector(file)
    with collector_paused():
        root = compose(text, report)
        if root is None and not report.has_errors():
            report.add("E1301", Span(file, 1, 1, 1, 2), kind="an empty document")
        items = () if root is None or report.has_errors() else _Reader(report, opened or _open).read(root)
    found = None if report.has_errors() else Invariants(file, items)
    return InvariantsReading(found, report.diagnostics())


def _open(path: str) -> Policy:
    return policy_of(Path(path))


class _Reader:
    def __init__(self, report: DiagnosticCollector, opened: Open) -> None:
        self._report = report
        self._opened = opened
        self._lowering = MatchLowering(report)
        self._ids: dict[str, Node] = {}

    def read(self, root: Node) -> tuple[Invariant, ...]:
        report = self._report
        if not isinstance(root, MappingNode):
            report.add("E1301", root, kind=kind_of_node(root))
            return ()
        found = self._fields(root, keys.DOCUMENT, "a file of invariants")
        if "predicates" in found:
            predicates = mapping(found["predicates"], "predicates", report)
            if predicates is not None:
                self._lowering.define(entries(predicates, report))
        if "invariants" not in found:
            instead = "list the invariants under `invariants:`"
            report.add("E0203", root, where="the file of invariants", key="invariants", help=instead)
            return ()
        node = found["invariants"]
        if not isinstance(node, SequenceNode):
            help = "put `- ` before each invariant" if isinstance(node, MappingNode) else None
            wrong_type(node, "invariants", "a list", report, help=help)
            return ()
        items: list[Invariant] = []
        for item in node.value:
            invariant = self._invariant(item)
            if invariant is not None:
                items.append(invariant)
            if report.full:
                break
        return tuple(items)

    def _fields(self, node: MappingNode, known: tuple[str, ...], where: str) -> Fields:
        found = entries(node, self._report)
        near = {word: name for word, name in keys.SYNONYMS.items() if name in known}
        check_keys(found, known, where, self._report, near)
        return {name: item for name, (_, item) in found.items() if name in known}

    def _invariant(self, node: Node) -> Invariant | None:
        report = self._report
        if not isinstance(node, MappingNode):
            help = "write `- id: ...` and a claim, such as `never: MATCH`"
            wrong_type(node, "invariants", "a list of mappings", report, help=help)
            return None
        found = self._fields(node, keys.INVARIANT, "an invariant")
        if "id" not in found:
            report.add("E0203", node, where="the invariant", key="id", help="name it in a few words with dashes")
            return None
        id = string(found["id"], "id", report)
        reason = string(found["reason"], "reason", report) if "reason" in found else ""
        claims = [key for key in keys.CLAIMS if key in found]
        if len(claims) != 1:
            report.add("E1303", node, count=len(claims) or "none")
            return None
        claim = self._claim(claims[0], found[claims[0]], found.get("verdicts"))
        if id is None or reason is None or claim is None:
            return None
        first = self._ids.setdefault(id, found["id"])
        if first is not found["id"]:
            related = [Related(report.span(first), "the first one is here")]
            report.add("E1302", found["id"], id=shown(id), related=related)
            return None
        return Invariant(id, claim, reason, report.span(node))

    def _claim(self, kind: str, node: Node, verdicts_node: Node | None) -> Claim | None:
        if verdicts_node is not None and kind in ("always", "within"):
            help = "write `always: {match: ..., verdict: ...}`" if kind == "always" else "remove `verdicts`"
            self._report.add("E1104", verdicts_node, key="verdicts", other=kind, help=help)
            return None
        verdicts = PERMITTED if verdicts_node is None else self._verdicts(verdicts_node, "verdicts")
        match kind:
            case "never":
                match = self._match(node, "`never`", RESTRICTS)
                return None if match is None or verdicts is None else Never(match, verdicts)
            case "only_if":
                return self._only_if(node, verdicts)
            case "always":
                return self._always(node)
            case _:
                return self._within(node)

    def _match(self, node: Node, where: str, verdict: VerdictName) -> Policy | None:
        expr = self._lowering.match(node, where)
        return None if expr is None else policy_of_match(expr, verdict, self._lowering.definitions)

    def _only_if(self, node: Node, verdicts: tuple[str, ...] | None) -> OnlyIf | None:
        block = mapping(node, "only_if", self._report, help="write `only_if: {match: MATCH, when: MATCH}`")
        if block is None:
            return None
        found = self._fields(block, keys.ONLY_IF, "`only_if`")
        if "when" not in found:
            help = "`when` is the condition that permitted calls satisfy"
            self._report.add("E0203", node, where="`only_if`", key="when", help=help)
            return None
        when = self._match(found["when"], "`when`", PERMITS)
        match = self._match(found["match"], "`match`", RESTRICTS) if "match" in found else None
        if when is None or verdicts is None or ("match" in found and match is None):
            return None
        return OnlyIf(match, when, verdicts)

    def _always(self, node: Node) -> Always | None:
        block = mapping(node, "always", self._report, help="write `always: {match: MATCH, verdict: allow}`")
        if block is None:
            return None
        found = self._fields(block, keys.ALWAYS, "`always`")
        for key in keys.ALWAYS:
            if key not in found:
                self._report.add("E0203", node, where="`always`", key=key)
        if len(found) < len(keys.ALWAYS):
            return None
        verdicts = self._verdicts(found["verdict"], "verdict")
        if verdicts is None:
            return None
        permits = any(verdict in PERMITTED for verdict in verdicts)
        match = self._match(found["match"], "`match`", PERMITS if permits else RESTRICTS)
        return None if match is None else Always(match, verdicts, permits)

    def _verdicts(self, node: Node, key: str) -> tuple[str, ...] | None:
        """Read one verdict, or a list of them."""
        items = node.value if isinstance(node, SequenceNode) else [node]
        found = [self._verdict(item, key) for item in items]
        if not found:
            self._report.add("E1105", node, key=key)
            return None
        known = tuple(dict.fromkeys(name for name in found if name is not None))
        return known if len(known) == len(set(found)) else None

    def _verdict(self, node: Node, key: str) -> str | None:
        text = string(node, key, self._report)
        if text is None or text in ORDER:
            return text
        near = closest(text, ORDER)
        help = f"did you mean `{near}`?" if near else None
        self._report.add("E0206", node, key=key, value=shown(text), known=listed(ORDER), help=help)
        return None

    def _within(self, node: Node) -> Within | None:
        text = string(node, "within", self._report)
        if text is None:
            return None
        path = os.path.normpath(os.path.join(os.path.dirname(self._report.file), text))
        if not os.path.isfile(path):
            self._report.add("E1304", node, file=shown(path), problem="there is no such file")
            return None
        try:
            return Within(self._opened(path), path)
        except PolicyCompileError as error:
            for item in error.diagnostics:
                self._report.append(item)
            count = sum(item.severity == "error" for item in error.diagnostics)
            problem = f"it has {count} error{'s' * (count != 1)}" if count else str(error).splitlines()[0]
            self._report.add("E1304", node, file=shown(path), problem=problem)
        except (BundleError, UserCodeError, OSError, ValueError) as error:
            self._report.add("E1304", node, file=shown(path), problem=shown(str(error)))
        return None
