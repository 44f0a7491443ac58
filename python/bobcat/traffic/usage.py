"""The use of a policy by recorded calls: which rules decide, for which tools, environments and values of arguments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from bobcat.bundle import Policy
from bobcat.ir.schema import AllExpr, AnyExpr, Expr, IrRule, Leaf
from bobcat.model.decision import Decision
from bobcat.traffic.recorded import Recorded, moment, redacted_paths

MAX_SHAPES = 1_000
"""Pairs of a rule and a tool whose arguments are kept."""
MAX_NAMES = 50
"""Arguments of a tool that are kept."""
MAX_LITERALS = 8
"""Distinct values of an argument that are kept; beyond them only bounds and a prefix are."""
PERMITTING = frozenset(("allow", "transform", "approve_required"))
_KINDS: dict[type, str] = {bool: "bool", int: "number", float: "number", str: "text"}


class _Context(msgspec.Struct):
    environment: str | None = None


class _Fields(msgspec.Struct):
    context: _Context = msgspec.field(default_factory=_Context)


@dataclass(slots=True)
class Values:
    """The values of one argument. `literals` is None past the cap; `prefix` is that of all texts."""

    count: int = 0
    kinds: set[str] = field(default_factory=set)
    literals: set[Any] | None = field(default_factory=set)  # Any: JSON scalars
    low: float | None = None
    high: float | None = None
    prefix: str | None = None

    def add(self, value: Any) -> None:  # Any: JSON
        """Count a value."""
        self.count += 1
        kind = "other" if redacted_paths(value) else _KINDS.get(type(value), "other")
        self.kinds.add(kind)
        if kind == "other":
            self.literals = None
            return
        self._literals({(kind, value)})
        if kind == "number":
            self.low = value if self.low is None else min(self.low, value)
            self.high = value if self.high is None else max(self.high, value)
        elif kind == "text":
            self.prefix = value if self.prefix is None else _common(self.prefix, value)

    def merge(self, other: Values) -> None:
        """Add the values of another part of the log."""
        self.count += other.count
        self.kinds |= other.kinds
        if other.literals is None:
            self.literals = None
        else:
            self._literals(other.literals)
        if other.low is not None and other.high is not None:
            self.low = other.low if self.low is None else min(self.low, other.low)
            self.high = other.high if self.high is None else max(self.high, other.high)
        if other.prefix is not None:
            self.prefix = other.prefix if self.prefix is None else _common(self.prefix, other.prefix)

    def _literals(self, values: set[Any]) -> None:
        if self.literals is not None:
            self.literals |= values
            if len(self.literals) > MAX_LITERALS:
                self.literals = None


@dataclass(slots=True)
class Shape:
    """The calls of one tool that one rule decided. `values` is None if the tool has too many arguments."""

    count: int = 0
    values: dict[str, Values] | None = field(default_factory=dict)

    def add(self, args: dict[str, Any]) -> None:  # Any: JSON
        """Count a call."""
        self.count += 1
        for name, value in args.items():
            self._of(name).add(value)

    def merge(self, other: Shape) -> None:
        """Add the calls of another part of the log."""
        self.count += other.count
        if other.values is None:
            self.values = None
        for name, values in (other.values or {}).items():
            self._of(name).merge(values)

    def _of(self, name: str) -> Values:
        if self.values is None or (name not in self.values and len(self.values) >= MAX_NAMES):
            self.values = None
            return Values()
        return self.values.setdefault(name, Values())


@dataclass(slots=True)
class Usage:
    """Sums over decisions: by rule, by rule and tool, by rule and environment, by tool and verdict.

    `last` is the time of the last decision of each rule.
    """

    rules: Counter[str] = field(default_factory=Counter)
    last: dict[str, datetime] = field(default_factory=dict)
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    tools: Counter[tuple[str, str]] = field(default_factory=Counter)
    environments: Counter[tuple[str, str]] = field(default_factory=Counter)
    shapes: dict[tuple[str, str], Shape] = field(default_factory=dict)

    def count(self, record: Recorded, decision: Decision) -> None:
        """Count a decision for the rules behind it."""
        tool = msgspec.json.decode(record.tool, type=str)
        environment = _environment(record)
        verdict, at = decision.verdict.value, moment(record.at)
        if len(self.verdicts) < MAX_SHAPES or (tool, verdict) in self.verdicts:
            self.verdicts[tool, verdict] += 1
        for rule in decision.matched_rules:
            self.rules[rule] += 1
            if at is not None:
                self._at(rule, at)
            if len(self.tools) < MAX_SHAPES or (rule, tool) in self.tools:
                self.tools[rule, tool] += 1
            if environment is not None and (
                len(self.environments) < MAX_SHAPES or (rule, environment) in self.environments
            ):
                self.environments[rule, environment] += 1
        if verdict == "allow" and decision.matched_rules:
            shape = self._shape((decision.matched_rules[-1], tool))
            if shape is not None:
                shape.add(msgspec.json.decode(record.args))

    def merge(self, other: Usage) -> None:
        """Add the sums of another part of the log."""
        self.rules += other.rules
        self.verdicts += other.verdicts
        for rule, at in other.last.items():
            self._at(rule, at)
        self.tools += other.tools
        self.environments += other.environments
        for key, shape in other.shapes.items():
            mine = self._shape(key)
            if mine is not None:
                mine.merge(shape)

    def _at(self, rule: str, at: datetime) -> None:
        self.last[rule] = max(at, self.last.get(rule, at))

    def _shape(self, key: tuple[str, str]) -> Shape | None:
        if key not in self.shapes and len(self.shapes) >= MAX_SHAPES:
            return None
        return self.shapes.setdefault(key, Shape())


class Unused(NamedTuple):
    """A value that a permitting rule names and that no recorded call had. `path`: `tool` or `context.environment`."""

    rule: str
    path: str
    value: str


def rule_ids(policy: Policy) -> list[str]:
    """The ids of the rules, in evaluation order."""
    return [str(rule.id) if isinstance(rule, IrRule) else rule.name for rule in policy.ir.rules]


def unused(policy: Policy, usage: Usage) -> Iterator[Unused]:
    """Yield the permissions that no recorded call used, of rules that decided some call."""
    for rule in policy.ir.rules:
        if not isinstance(rule, IrRule) or rule.verdict not in PERMITTING or not usage.rules[str(rule.id)]:
            continue
        for leaf in _required(rule.match):
            path = ".".join((leaf.head, *leaf.path))
            used = {"tool": usage.tools, "context.environment": usage.environments}.get(path)
            if used is None or leaf.op not in ("eq", "in"):
                continue
            for value in leaf.operand if isinstance(leaf.operand, list | tuple) else (leaf.operand,):
                if isinstance(value, str) and not used[str(rule.id), value]:
                    yield Unused(str(rule.id), path, value)


def is_broad(rule: IrRule) -> bool:
    """Return true for a rule that allows a tool whatever its arguments are."""
    return rule.verdict == "allow" and not any(leaf.head == "args" for leaf in _required(rule.match))


def _required(match: Expr) -> Iterator[Leaf]:
    """Yield the leaves that are not below a negation."""
    if isinstance(match, Leaf):
        yield match
    elif isinstance(match, AllExpr | AnyExpr):
        for item in match.items:
            yield from _required(item)


def _common(one: str, other: str) -> str:
    """The common beginning of two texts."""
    size = next((index for index, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    return min(one, other, key=len) if size is None else one[:size]


def _environment(record: Recorded) -> str | None:
    if not record.fields:
        return None
    return msgspec.json.decode(b"{%b}" % record.fields[1:], type=_Fields).context.environment
