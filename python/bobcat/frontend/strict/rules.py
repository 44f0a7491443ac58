"""Rules: lowering of one mapping node to one IR rule and its source position."""

from __future__ import annotations

from typing import TypeVar, get_args

from bobcat._core import MappingNode, Node, ScalarNode, SequenceNode, is_printable
from bobcat.bundle.source_map import RuleSource
from bobcat.diagnostics.model import Related
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.strict.fields import check_keys, number, string, wrong_type
from bobcat.frontend.strict.marks import FileMark, qualified
from bobcat.frontend.strict.matches import MatchLowering
from bobcat.frontend.strict.obligations import Obligations
from bobcat.frontend.strict.operand_help import as_item
from bobcat.frontend.strict.operands import node_cost
from bobcat.frontend.strict.transforms import Transforms
from bobcat.frontend.suggest import closest, listed, synonyms
from bobcat.frontend.yaml.nodes import Entries, entries, string_of
from bobcat.frontend.yaml.scalars import CONSTANT_STYLE, kind_of_node
from bobcat.ir import construct
from bobcat.ir.schema import IrRule, Obligation, Transform, VerdictName

KEYS = (
    "id", "priority", "description", "match", "decision", "reason", "approvers", "approvals_needed", "timeout_seconds",
    "transform", "undo", "obligations", "mode",
)  # fmt: skip
_KNOWN = frozenset(KEYS)
_PLAIN = frozenset(("id", "priority", "description", "match", "decision", "reason"))
"""The keys that every decision has."""
VERDICTS: tuple[VerdictName, ...] = get_args(VerdictName)
MAX_PRIORITY = 2**31 - 1
"""Priorities lie between -MAX_PRIORITY and MAX_PRIORITY."""
MAX_APPROVALS_NEEDED = 100

_SYNONYMS = synonyms(
    {
        "decision": "verdict effect action then outcome",
        "match": "when if where condition conditions matches",
        "id": "name rule",
        "priority": "order weight",
        "timeout_seconds": "timeout",
        "description": "desc comment",
        "reason": "message because",
        "approvers": "approver",
        "approvals_needed": "approvals quorum",
        "obligations": "obligation duties duty",
        "mode": "enforcement",
    }
)
_VERDICT_SYNONYMS = synonyms(
    {
        "allow": "permit accept pass",
        "deny": "block reject refuse forbid",
        "approve_required": "approve approval require_approval ask",
        "dry_run": "shadow simulate",
        "transform": "rewrite modify",
    }
)
UNDOABLE = ("allow", "approve_required", "transform")
"""The decisions that can require that a call can be undone."""
MODES = ("enforce", "monitor")
"""The values of `mode`; a monitored rule takes no part in decisions."""
PEOPLE = ("approvers", "approvals_needed", "timeout_seconds")
"""The keys that only `approve_required` has."""

_Word = TypeVar("_Word", bound=str)


class Rules:
    """Lowering of a policy's rules, in file order."""

    def __init__(self, report: DiagnosticCollector, matches: MatchLowering) -> None:
        self._report = report
        self._matches = matches
        self._transforms = Transforms(report)
        self._obligations = Obligations(report)
        self._ids: dict[str, Node] = {}

    def rule(self, node: Node, index: int, order: int) -> tuple[IrRule, RuleSource] | None:
        """Lower the rule at `index` of the policy, `order` in its file; None after an error has been reported."""
        if not isinstance(node, MappingNode):
            wrong_type(node, f"rules[{index}]", "a mapping", self._report)
            return None
        fields = entries(node, self._report)
        plain = fields.keys() <= _PLAIN  # PERF: most rules have no other keys
        if not plain and not fields.keys() <= _KNOWN:
            check_keys(fields, KEYS, "a rule", self._report, _SYNONYMS)
        id = self._id(fields, node, index)
        match = None
        undo = None if plain else self._undo(fields)
        if "match" in fields:
            match = self._matches.match(fields["match"][1] if undo is None else _both(fields, undo), "`match`")
        elif not self._misnamed(node, "match"):
            self._report.add(
                "E0203", self._head(node), where=_name(id), key="match", help="write `match: {}` to match every call"
            )
        verdict = self._decision(fields, node, id)
        priority = 0
        if "priority" in fields:
            priority = self._integer(fields, "priority", (-MAX_PRIORITY, MAX_PRIORITY), otherwise=0)
        reason = self._text(fields, "reason") if "reason" in fields else ""
        description = self._text(fields, "description") if "description" in fields else ""
        approvers, needed, timeout = ((), 1, None) if plain else self._people(fields)
        transform = None if plain and verdict != "transform" else self._transform(fields, verdict, id)
        obligations: tuple[Obligation, ...] = ()
        monitored = False
        if not plain:
            if "obligations" in fields:
                obligations = self._obligations.obligations(fields["obligations"][1], verdict)
            monitored = "mode" in fields and self._mode(fields["mode"][1]) == "monitor"
            if verdict is not None and verdict != "approve_required":
                self._misplaced(fields, PEOPLE, verdict, "approve_required")
            if verdict is not None and verdict not in UNDOABLE:
                self._misplaced(fields, ("undo",), verdict, "allow")
        texts = len(id or "") + len(reason) + sum(map(len, approvers))
        cost = texts // 100 + len(approvers) + (node_cost(transform.value) if transform else 0)
        if cost:
            self._matches.charge(node, cost)
        if id is None or match is None or verdict is None or (verdict == "transform") is not (transform is not None):
            return None
        rule = construct.rule(
            id,
            match,
            verdict,
            priority=priority,
            reason=reason,
            approvers=approvers,
            timeout_seconds=timeout,
            transform=transform,
            approvals_needed=needed,
            obligations=obligations,
            monitored=monitored,
        )
        place = node.position_to(node)
        file = self._report.file_number(node) if isinstance(node.start_mark, FileMark) else 0
        leaves, files = self._matches.take_places(match, place, file)
        line, column, end_line, end_column = place  # PERF: a call with `*place` takes half as long again
        return rule, RuleSource(file, line, column, end_line, end_column, description, order, leaves, (), files)

    def _undo(self, fields: Entries) -> Node | None:
        """Return the test that a tool can be undone, if the rule requires it."""
        if "undo" not in fields:
            return None
        key_node, node = fields["undo"]
        text = string_of(node, self._report)
        if text != "required":
            value = text if text is not None else kind_of_node(node)
            self._report.add("E0206", node, key="undo", value=shown(value), known="`required`")
            return None
        key = ScalarNode("", "declared.scope.contains", key_node.start_mark, key_node.end_mark, CONSTANT_STYLE)
        scope = ScalarNode("", "undo", node.start_mark, node.end_mark, CONSTANT_STYLE)
        return MappingNode("", [(key, scope)], key_node.start_mark, node.end_mark, flow_style=True)

    def _mode(self, node: Node) -> str | None:
        text = string_of(node, self._report)
        if text in MODES:
            return text
        value = text if text is not None else kind_of_node(node)
        help = "did you mean `monitor`?" if value in ("shadow", "audit", "observe", "report", "warn") else None
        self._report.add("E0206", node, key="mode", value=shown(value), known=listed(MODES), help=help)
        return None

    def _people(self, fields: Entries) -> tuple[tuple[str, ...], int, int | float | None]:
        """Return the approvers, the number of required approvals, and the timeout in seconds."""
        approvers = self._approvers(fields)
        return approvers, self._approvals_needed(fields, approvers), self._timeout(fields)

    @staticmethod
    def _misnamed(node: MappingNode, wanted: str) -> bool:
        """Return true if an unknown key resembling `wanted` was reported, so that reporting its absence adds
        nothing.
        """
        names = [key.value for key, _ in node.value if isinstance(key, ScalarNode) and isinstance(key.value, str)]
        return any(
            name not in KEYS and (_SYNONYMS.get(name.lower()) or closest(name, KEYS)) == wanted for name in names
        )

    def _head(self, node: MappingNode) -> Node:
        return node.value[0][0] if node.value else node

    def _id(self, fields: Entries, node: Node, index: int) -> str | None:
        place = fields["id"][1] if "id" in fields else node
        id = string(place, "id", self._report) if "id" in fields else f"rule_{index}"
        if id is None:
            return None
        id = qualified(id, node) if id else id
        problem = _id_problem(id)
        if problem:
            self._report.add("E0211", place, id=shown(id), problem=problem)
            return None
        first = self._ids.setdefault(id, place)
        if first is not place:
            related = [Related(self._report.span(first), "the first one is here")]
            self._report.add("E0210", place, id=shown(id), related=related)
        return id

    def _decision(self, fields: Entries, node: MappingNode, id: str | None) -> VerdictName | None:
        if "decision" not in fields:
            if not self._misnamed(node, "decision"):
                help = f"write `decision:` and one of {listed(VERDICTS)}"
                self._report.add("E0203", self._head(node), where=_name(id), key="decision", help=help)
            return None
        return verdict_of(fields["decision"][1], "decision", VERDICTS, self._report)

    def _approvals_needed(self, fields: Entries, approvers: tuple[str, ...]) -> int:
        needed = self._integer(fields, "approvals_needed", (1, MAX_APPROVALS_NEEDED), otherwise=1)
        known = len(set(approvers))
        if approvers and needed > known:
            self._report.add("E0213", fields["approvals_needed"][1], needed=needed, known=known)
            return 1
        return needed

    def _integer(self, fields: Entries, key: str, bounds: tuple[int, int], *, otherwise: int) -> int:
        """Return the integer at a key; `otherwise` without one, or after an error has been reported."""
        found = number(fields[key][1], key, bounds, self._report, integer=True) if key in fields else None
        return otherwise if found is None else int(found)

    def _text(self, fields: Entries, key: str) -> str:
        return string(fields[key][1], key, self._report) or ""

    def _approvers(self, fields: Entries) -> tuple[str, ...]:
        if "approvers" not in fields:
            return ()
        node = fields["approvers"][1]
        if not isinstance(node, SequenceNode):
            if isinstance(node, ScalarNode):
                self._report.add("E0207", node, key="approvers", kind=kind_of_node(node), value=as_item(node))
            else:
                wrong_type(node, "approvers", "a list of strings", self._report)
            return ()
        found: list[str] = []
        for item in node.value:
            text = string_of(item, self._report)
            if text:
                found.append(text)
            else:
                kind = kind_of_node(item) if text is None else "an empty string"
                wrong_type(item, "approvers", "a list of names", self._report, kind=f"one with {kind}")
        return tuple(found)

    def _timeout(self, fields: Entries) -> int | float | None:
        key = "timeout_seconds"
        return number(fields[key][1], key, (0, MAX_PRIORITY), self._report, integer=False) if key in fields else None

    def _transform(self, fields: Entries, verdict: VerdictName | None, id: str | None) -> Transform | None:
        if "transform" not in fields:
            if verdict == "transform":
                help = "write `transform: {jsonpath: $.args.NAME, set: VALUE}`"
                self._report.add("E0203", fields["decision"][1], where=_name(id), key="transform", help=help)
            return None
        if verdict is not None and verdict != "transform":
            self._misplaced(fields, ("transform",), verdict, "transform")
        return self._transforms.transform(fields["transform"][1])

    def _misplaced(self, fields: Entries, keys: tuple[str, ...], verdict: str, owner: str) -> None:
        if fields.keys().isdisjoint(keys):
            return
        for key, (key_node, _) in fields.items():
            if key in keys:
                self._report.add("E0208", key_node, key=key, verdict=verdict, owner=owner)


def verdict_of(node: Node, key: str, allowed: tuple[_Word, ...], report: DiagnosticCollector) -> _Word | None:
    """Return the member of a closed set that `node` names; None after an error has been reported."""
    text = node.text or string_of(node, report)
    if text is None:
        wrong_type(node, key, f"one of {listed(allowed)}", report)
        return None
    for word in allowed:
        if text == word:
            return word
    intended = _VERDICT_SYNONYMS.get(text.lower())
    near = intended if intended in allowed else closest(text.strip(), allowed)
    help = f"did you mean `{near}`?" if near else None
    report.add("E0206", node, key=key, value=shown(text), known=listed(allowed), help=help)
    return None


def _both(fields: Entries, undo: Node) -> Node:
    """Return the match of a rule with the test that its tool can be undone."""
    key, match = fields["match"]
    items = SequenceNode("", [match, undo], match.start_mark, match.end_mark, flow_style=True)
    name = ScalarNode("", "all_of", key.start_mark, key.end_mark, CONSTANT_STYLE)
    return MappingNode("", [(name, items)], match.start_mark, match.end_mark, flow_style=True)


def _name(id: str | None) -> str:
    return "the rule" if id is None else f"the rule `{shown(id)}`"


def _id_problem(id: str) -> str | None:
    if not id.strip():
        return "it is empty"
    if not is_printable(id):
        return "it holds a control character"
    if id.startswith("<"):
        return "`<` begins the markers of the decision itself"
    return None
