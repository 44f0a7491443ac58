"""The `obligations` of a rule: names, parameters and phases.

`rate_limit` and `require_reason` become rules of their own: see `bobcat.frontend.guard_rules`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

from bobcat._core import MappingNode, Node, ScalarNode, SequenceNode
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.strict.durations import window
from bobcat.frontend.strict.fields import check_keys, number, wrong_type
from bobcat.frontend.strict.key_syntax import KeySyntaxError, split
from bobcat.frontend.strict.memory import caller
from bobcat.frontend.strict.operands import Operands
from bobcat.frontend.suggest import listed
from bobcat.frontend.yaml.nodes import INVALID_VALUE, entries, string_of, value
from bobcat.frontend.yaml.scalars import kind_of_node
from bobcat.ir import construct
from bobcat.ir.schema import Const, Obligation, VerdictName

PHASES: tuple[Literal["before", "after"], ...] = ("before", "after")
MAX_OBLIGATIONS = 16
"""Obligations of one rule; the core has the same limit."""
MAX_RATE = 1_000_000_000
NAME = r"[a-z][a-z0-9_.-]{0,63}"
DEFAULT_REASON = ("context", "extra", "reason")
"""The path that `require_reason: true` reads."""
HOLDING = ("require_reason", "rate_limit")
"""Obligations that hold an effect back, which a denial has not."""
BUILT_IN = ("redact", "tag", "notify", "require_reason", "rate_limit")

NAME_PATTERN = re.compile(NAME, re.ASCII)
REDACTED = ("args", "result")
"""The first steps of paths that `redact` names."""
FIXED = ("redact", "tag", "require_reason", "rate_limit")
"""Obligations that have the phase `before` only."""

_LIMIT_KEYS = ("max", "within", "by")


class Obligations:
    """Lowering of the obligations of rules. Methods return None after they have reported an error."""

    def __init__(self, report: DiagnosticCollector) -> None:
        self._report = report
        self._operands = Operands(report)
        self._values: dict[str, Callable[[Node], Const]] = {
            "redact": self._redact,
            "tag": self._tag,
            "notify": self._notify,
            "require_reason": self._require_reason,
            "rate_limit": self._rate_limit,
        }

    def obligations(self, node: Node, verdict: VerdictName | None) -> tuple[Obligation, ...]:
        """Lower the obligations in `node`, those of a rule with this decision."""
        if not isinstance(node, SequenceNode):
            wrong_type(node, "obligations", "a list", self._report, help="write `obligations: [{notify: security}]`")
            return ()
        if not node.value:
            self._report.add("E0219", node, name="obligations", problem="the list is empty", help="leave the key out")
        if len(node.value) > MAX_OBLIGATIONS:
            problem = f"a rule has at most {MAX_OBLIGATIONS}"
            self._report.add("E0219", node, name="obligations", problem=problem)
        found: list[Obligation] = []
        for item in node.value:
            made = self._obligation(item, verdict)
            if made is None:
                continue
            if made.name in {each.name for each in found} and made.name in BUILT_IN:
                self._refuse(item, made.name, "the rule has it already")
                continue
            found.append(made)
        return tuple(found)

    def _obligation(self, node: Node, verdict: VerdictName | None) -> Obligation | None:
        if not isinstance(node, MappingNode):
            wrong_type(node, "obligations", "a list of mappings", self._report, help="write `- {notify: security}`")
            return None
        fields = entries(node, self._report)
        names = [name for name in fields if name != "phase"]
        if len(names) != 1:
            known = f"one name beside `phase`, and this has {listed(names) or 'none'}"
            self._report.add("E0219", node, name="an item", problem=f"it has {known}", help="write one item for each")
            return None
        name = names[0]
        key_node, item = fields[name]
        if NAME_PATTERN.fullmatch(name) is None:
            problem = "a name has small letters, digits, `_`, `.` and `-`, at most 64, and begins with a letter"
            self._refuse(key_node, name, problem)
            return None
        phase = self._phase(name, fields["phase"]) if "phase" in fields else _DEFAULT_PHASES.get(name, "before")
        if phase is None:
            return None
        if name in HOLDING and verdict == "deny":
            self._refuse(key_node, name, "a denial has no effect to hold back")
            return None
        parameters = self._values.get(name, self._operands.constant)(item)
        return None if parameters is INVALID_VALUE else construct.obligation(name, parameters, phase)

    def _phase(self, name: str, entry: tuple[ScalarNode, Node]) -> Literal["before", "after"] | None:
        key_node, node = entry
        text = string_of(node, self._report)
        for phase in PHASES:
            if text == phase:
                if name in FIXED and phase != "before":
                    self._refuse(key_node, name, "it takes effect before the call only")
                    return None
                return phase
        shown_text = kind_of_node(node) if text is None else shown(text)
        self._report.add("E0206", node, key="phase", value=shown_text, known=listed(PHASES))
        return None

    def _redact(self, node: Node) -> Const:
        items = node.value if isinstance(node, SequenceNode) else [node]
        paths = [self._path("redact", item, REDACTED) for item in items]
        if not paths:
            return self._refuse(node, "redact", "it names no path")
        return INVALID_VALUE if None in paths else [list(path) for path in paths if path is not None]

    def _path(self, name: str, node: Node, heads: tuple[str, ...]) -> tuple[str, ...] | None:
        text = string_of(node, self._report)
        if text is None:
            wrong_type(node, name, "a path such as `args.card`", self._report)
            return None
        try:
            steps = tuple(step.text for step in split(text))
        except KeySyntaxError as error:
            self._refuse(node, name, f"`{shown(text)}` is not a path: {error}")
            return None
        if steps[0] in heads:
            return steps
        known = " or ".join(f"`{head}`" for head in heads)
        self._refuse(node, name, f"`{shown(text)}` does not begin with {known}", f"write `{heads[0]}.{shown(text)}`")
        return None

    def _tag(self, node: Node) -> Const:
        if not isinstance(node, MappingNode) or not node.value:
            wrong_type(node, "tag", "a mapping of names to texts", self._report, help="write `tag: {team: payments}`")
            return INVALID_VALUE
        tags: dict[str, Const] = {}
        for name, (_, item) in entries(node, self._report).items():
            found = value(item, self._report) if isinstance(item, ScalarNode) else INVALID_VALUE
            if type(found) not in (str, int, bool):
                self._refuse(item, "tag", f"`{shown(name)}` must be a text, a whole number or a bool")
                return INVALID_VALUE
            tags[name] = found
        return {"map": tags}

    def _notify(self, node: Node) -> Const:
        text = string_of(node, self._report)
        if text:
            return text
        wrong_type(node, "notify", "the name of a person, a group or a channel", self._report)
        return INVALID_VALUE

    def _require_reason(self, node: Node) -> Const:
        if isinstance(node, ScalarNode) and value(node, self._report) is True:
            return list(DEFAULT_REASON)
        if string_of(node, self._report) is None:
            wrong_type(node, "require_reason", "`true`, or the path of the reason", self._report)
            return INVALID_VALUE
        path = self._path("require_reason", node, ("args", "context"))
        if path is None:
            return INVALID_VALUE
        if len(path) < 2 or (path[0] == "context" and (path[1] != "extra" or len(path) < 3)):
            return self._refuse(node, "require_reason", "the reason is an argument or a key of `context.extra`")
        return list(path)

    def _rate_limit(self, node: Node) -> Const:
        example = "write `rate_limit: {max: 5, within: 1h, by: principal}`"
        if not isinstance(node, MappingNode):
            wrong_type(node, "rate_limit", "a mapping with `max`", self._report, help=example)
            return INVALID_VALUE
        fields = entries(node, self._report)
        if check_keys(fields, _LIMIT_KEYS, "`rate_limit`", self._report, {"limit": "max", "per": "within"}):
            return INVALID_VALUE
        if "max" not in fields:
            self._report.add("E0203", node, where="`rate_limit`", key="max", help=example)
            return INVALID_VALUE
        most = number(fields["max"][1], "max", (0, MAX_RATE), self._report, integer=True)
        within = window(fields["within"][1], self._report) if "within" in fields else None
        by = caller(fields["by"][1], self._report) if "by" in fields else None
        if most is None or ("within" in fields and within is None) or ("by" in fields and by is None):
            return INVALID_VALUE
        return {"map": {"max": most, "within": within, "by": by}}

    def _refuse(self, node: Node, name: str, problem: str, help: str | None = None) -> Any:  # Any: INVALID_VALUE
        self._report.add("E0219", node, name=shown(name), problem=problem, help=help)
        return INVALID_VALUE


_DEFAULT_PHASES: dict[str, Literal["before", "after"]] = {"notify": "after"}
