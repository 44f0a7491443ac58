"""Formulas of past events: lowering of `run.formerly`, `run.since` and the other conditions on the sequence of events.

    {call: MATCH}, {result: MATCH}, {not: F}, {all_of: [F, ...]}, {any_of: [F, ...]}, {previous: F}, {formerly: F},
    {since: {holds: F, start: F}}, {never: {event: F, since: F}}

`within` stands in the operand of `previous`, `formerly` and `since`, or beside the operator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import UNSET, UnsetType

from bobcat._core import MappingNode, Node, ScalarNode, SequenceNode
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.strict.durations import window
from bobcat.frontend.strict.fields import check_keys, wrong_type
from bobcat.frontend.strict.run_keys import Sequence
from bobcat.frontend.strict.scopes import Scope
from bobcat.frontend.strict.sizes import Sized
from bobcat.frontend.suggest import closest, listed, synonyms
from bobcat.frontend.yaml.nodes import Entries, entries
from bobcat.frontend.yaml.scalars import kind_of_node
from bobcat.ir import construct, memory
from bobcat.ir.schema import CallEvent, Formerly, Formula, NotFormula, Previous, ResultEvent, Since

KEYS = ("call", "result", "not", "all_of", "any_of", "previous", "formerly", "since", "never")
TEMPORAL = ("previous", "formerly", "since", "never")
"""The operators whose operand can have a window."""
MAX_FORMULA_DEPTH = 16
"""Nesting of a formula, without its matches."""
MAX_FORMULA_NODES = 100
"""Operators and events of a formula, without its matches."""
_SYNONYMS = synonyms(
    {
        "call": "intent action tool",
        "result": "results returned",
        "all_of": "and all",
        "any_of": "or any",
        "formerly": "once ever before past",
        "previous": "prev last yesterday",
        "never": "not_since",
    }
)
_HOLDS = synonyms({"holds": "while hold event", "start": "since from begin begins after"})
_EVENT = synonyms({"event": "holds call what", "since": "start from after"})

Lowered: TypeAlias = tuple[Formula, int]
"""A formula, and its number of nodes."""


class Formulas:
    """Lowering of formulas; `lower` lowers a match of a scope.

    Methods return None after they have reported an error.
    """

    def __init__(self, report: DiagnosticCollector, lower: Callable[[Node, str, Scope], Sized | None]) -> None:
        self._report = report
        self._lower = lower

    def condition(self, word: Sequence, node: Node) -> Lowered | None:
        """Lower the operand of `run.WORD`."""
        found = self._condition(word, node)
        if found is None:
            return None
        depth, size = memory.size(found[0])
        if depth > MAX_FORMULA_DEPTH or size > MAX_FORMULA_NODES:
            problem = (
                f"is more than {MAX_FORMULA_DEPTH} levels deep"
                if depth > MAX_FORMULA_DEPTH
                else f"has more than {MAX_FORMULA_NODES} operators and events"
            )
            self._report.add("E1007", node, where=f"`run.{word}`", problem=problem)
            return None
        return found

    def _condition(self, word: Sequence, node: Node) -> Lowered | None:
        match word:
            case "after" | "last":
                return self._of_calls(word, node)
            case "previous":
                found = self._windowed(node, f"`run.{word}`", 1)
                return None if found is None else (memory.at_latest(found[0][0], found[1]), found[0][1] + 1)
            case "formerly" | "since" | "never":
                return self._temporal(word, node, UNSET, f"`run.{word}`", 1)

    def _of_calls(self, word: str, node: Node) -> Lowered | None:
        if isinstance(node, MappingNode) and any(
            isinstance(key, ScalarNode) and key.value == "within" for key, _ in node.value
        ):
            instead = "run.formerly" if word == "after" else "run.previous"
            help = f"write `{instead}: {{call: {{...}}, within: 1h}}`"
            self._report.add("E1007", node, where=f"`run.{word}`", problem="has no window", help=help)
            return None
        lowered = self._lower(node, f"`run.{word}`", Scope.DEFINITION)
        if lowered is None:
            return None
        call = CallEvent(lowered[0])
        if word == "after":
            return Formerly(call), lowered[2] + 1
        # The last call: only results came after it.
        return Since(NotFormula(CallEvent(construct.TRUE)), call), lowered[2] + 3

    def _formula(self, node: Node, where: str, depth: int) -> Lowered | None:
        """Lower a formula: a mapping with one operator, and perhaps a window beside it."""
        fields = self._mapping(node, where, depth)
        if fields is None:
            return None
        beside: int | UnsetType = UNSET
        if "within" in fields:
            word = next((key for key in fields if key in TEMPORAL), "")
            if not word or word == "never":
                self._no_window(fields, where)
                return None
            found = window(fields["within"][1], self._report)
            if found is None:
                return None
            beside = found
        return self._operator(
            {key: entry for key, entry in fields.items() if key != "within"}, node, where, depth, beside
        )

    def _windowed(self, node: Node, where: str, depth: int) -> tuple[Lowered, int | UnsetType] | None:
        """Lower the operand of an operator with a window: a formula, and perhaps `within`."""
        fields = self._mapping(node, where, depth)
        if fields is None:
            return None
        within = window(fields["within"][1], self._report) if "within" in fields else None
        rest = {key: entry for key, entry in fields.items() if key != "within"}
        lowered = self._operator(rest, node, where, depth, UNSET)
        if lowered is None or ("within" in fields and within is None):
            return None
        return lowered, UNSET if within is None else within

    def _mapping(self, node: Node, where: str, depth: int) -> Entries | None:
        if depth > 2 * MAX_FORMULA_DEPTH:  # a double negation is no level of the normal form
            self._report.add("E1007", node, where=where, problem=f"is more than {MAX_FORMULA_DEPTH} levels deep")
            return None
        if isinstance(node, MappingNode):
            return entries(node, self._report)
        problem = f"must be a formula, a mapping, not {kind_of_node(node)}"
        help = "write `{call: {tool: NAME}}` for the call of a tool"
        self._report.add("E1007", node, where=where, problem=problem, help=help)
        return None

    def _operator(self, fields: Entries, node: Node, where: str, depth: int, within: int | UnsetType) -> Lowered | None:
        names = [name for name in fields if name in KEYS]
        if len(fields) != 1 or not names:
            self._several(fields, node, where)
            return None
        name = names[0]
        operand = fields[name][1]
        match name:
            case "call" | "result":
                scope = Scope.DEFINITION if name == "call" else Scope.RESULT
                lowered = self._lower(operand, f"`{name}`", scope)
                event = CallEvent if name == "call" else ResultEvent
                return None if lowered is None else (event(lowered[0]), lowered[2] + 1)
            case "not":
                found = self._formula(operand, "`not`", depth + 1)
                return None if found is None else (memory.not_(found[0]), found[1] + 1)
            case "all_of" | "any_of":
                return self._listed(name, operand, depth)
            case _:
                return self._temporal(name, operand, within, f"`{name}`", depth)

    def _temporal(self, word: str, node: Node, beside: int | UnsetType, where: str, depth: int) -> Lowered | None:
        if word in ("since", "never"):
            return self._since(word, node, beside, where, depth)
        found = self._windowed(node, where, depth + 1)
        if found is None:
            return None
        (item, nodes), within = found
        if not isinstance(beside, UnsetType) and not isinstance(within, UnsetType):
            self._report.add("E1007", node, where=where, problem="has two windows", help="keep one `within`")
            return None
        operator = Formerly if word == "formerly" else Previous
        return operator(item, beside if isinstance(within, UnsetType) else within), nodes + 1

    def _since(self, word: str, node: Node, beside: int | UnsetType, where: str, depth: int) -> Lowered | None:
        first, second = ("holds", "start") if word == "since" else ("event", "since")
        example = f"write `{{{first}: {{...}}, {second}: {{result: {{tool: NAME}}}}}}`"
        if not isinstance(node, MappingNode):
            wrong_type(node, word, f"a mapping with `{first}` and `{second}`", self._report, help=example)
            return None
        fields = entries(node, self._report)
        known = (first, second, "within") if word == "since" else (first, second)
        if "within" in fields and word == "never":
            self._no_window(fields, where)
            return None
        if check_keys(fields, known, where, self._report, _HOLDS if word == "since" else _EVENT):
            return None
        for key in (first, second):
            if key not in fields:
                self._report.add("E0203", node, where=where, key=key, help=example)
                return None
        within = beside
        if "within" in fields:
            if not isinstance(beside, UnsetType):
                self._report.add("E1007", node, where=where, problem="has two windows", help="keep one `within`")
                return None
            found = window(fields["within"][1], self._report)
            if found is None:
                return None
            within = found
        left = self._formula(fields[first][1], f"`{first}`", depth + 1)
        start = self._formula(fields[second][1], f"`{second}`", depth + 1)
        if left is None or start is None:
            return None
        holds = left[0] if word == "since" else memory.not_(left[0])
        return Since(holds, start[0], within), left[1] + start[1] + 2

    def _listed(self, name: str, node: Node, depth: int) -> Lowered | None:
        if not isinstance(node, SequenceNode):
            wrong_type(node, name, "a list of formulas", self._report, help="put `- ` before each formula")
            return None
        found = [self._formula(item, f"an item of `{name}`", depth + 1) for item in node.value]
        if not found:
            self._report.add("E0409", node, op=name)
            return None
        items = [item for item in found if item is not None]
        if len(items) != len(found):
            return None
        join = memory.all_ if name == "all_of" else memory.any_
        return join([item for item, _ in items]), 1 + sum(nodes for _, nodes in items)

    def _several(self, fields: Entries, node: Node, where: str) -> None:
        """Report a mapping that has no operator, several, or an unknown one."""
        unknown = next((name for name in fields if name not in KEYS), None)
        place = node if unknown is None else fields[unknown][0]
        if unknown is not None:
            near = _SYNONYMS.get(unknown.lower()) or closest(unknown, KEYS)
            help = f"did you mean `{near}`?" if near else f"the operators are {listed(KEYS)}"
            if unknown == "tool" or unknown.startswith(("args", "context", "declared", "tool.")):
                help = f"write `call: {{{shown(unknown)}: ...}}` for a call that matches"
            elif unknown.startswith("result."):
                help = f"write `result: {{{shown(unknown)}: ...}}` for a result that matches"
            problem = f"has no operator `{shown(unknown)}`"
        elif not fields:
            problem, help = "is empty", f"write one of {listed(KEYS)}"
        else:
            problem = f"has {len(fields)} operators: {listed(fields)}"
            help = "a formula has exactly one; write `all_of: [...]` or `any_of: [...]`"
        self._report.add("E1007", place, where=where, problem=problem, help=help)

    def _no_window(self, fields: Entries, where: str) -> None:
        help = "`within` belongs to `previous`, `formerly` and `since`"
        self._report.add("E1007", fields["within"][0], where=where, problem="has no window", help=help)
