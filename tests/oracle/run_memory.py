"""A slow evaluator of the definitions of memory: it recomputes each value from the list of all events."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from msgspec import UNSET

from bobcat.ir.schema import (
    AllExpr,
    AllFormula,
    AnyExpr,
    AnyFormula,
    CallEvent,
    Definition,
    Expr,
    Formerly,
    Formula,
    FormulaDefinition,
    Leaf,
    Measure,
    NotExpr,
    NotFormula,
    Previous,
    ResultEvent,
    Since,
    Source,
)


class Broken(Exception):
    """A definition met something that it cannot evaluate; the argument is the code."""


@dataclass
class Event:
    """An intent or a result, with the call it is of; times in microseconds.

    `shown`: the number of events before it whose values a decision on the call sees.
    """

    kind: str
    at: int
    key: str
    tool: str
    args: dict[str, Any]
    value: Any = None
    shown: int = 0


@dataclass
class Oracle:
    """All events of a run; calls that were released leave the measures, not the events."""

    events: list[Event] = field(default_factory=list)
    ended: set[str] = field(default_factory=set)
    released: list[Event] = field(default_factory=list)
    shown: int = 0
    task_values: frozenset[str] = frozenset()

    def clock(self, at: int) -> int:
        return max([at, *[event.at for event in self.events[-1:]]])

    def intent(self, key: str) -> Event | None:
        found = [event for event in self.events if event.kind == "call" and event.key == key]
        found = [event for event in found if not any(event is gone for gone in self.released)]
        return found[-1] if found else None

    def call(self, key: str, tool: str, args: dict[str, Any], at: int) -> None:
        if self.intent(key) is None:
            self.ended.discard(key)
            self.events.append(Event("call", self.clock(at), key, tool, args, shown=self.shown))

    def result(self, key: str, value: Any, at: int) -> None:
        intent = self.intent(key)
        if intent is None:
            raise KeyError(key)
        if key not in self.ended:
            self.ended.add(key)
            self.events.append(Event("result", self.clock(at), key, intent.tool, intent.args, value))

    def failed(self, key: str) -> None:
        if self.intent(key) is None:
            raise KeyError(key)
        self.ended.add(key)

    def release(self, key: str) -> None:
        intent = self.intent(key)
        if intent is None or key in self.ended:
            raise KeyError(key)
        self.released.append(intent)

    def next_reply(self) -> None:
        self.shown = len(self.events)

    # --- values ---

    def value(self, definition: Definition, proposed: Event) -> Any:
        """The value of a measure or a formula for a decision on a proposed call, or `{"error": code}`."""
        try:
            match definition:
                case Measure():
                    return self.measure(definition, proposed)
                case FormulaDefinition(formula):
                    return self.formula(formula, self.clock(proposed.at))
        except Broken as error:
            return {"error": error.args[0]}
        raise AssertionError(definition)

    def measure(self, measure: Measure, proposed: Event) -> int | float:
        calls = [event for event in self.events if event.kind == "call"]
        amounts = [(event, amount_of(measure, event)) for event in calls]
        now = self.clock(proposed.at)
        within = now if measure.within is UNSET else measure.within
        total = Fraction(0)
        for event, amount in amounts:
            gone = any(event is released for released in self.released)
            if not gone and (measure.within is UNSET or now - event.at <= within):
                total += amount
        if measure.this:
            total += amount_of(measure, proposed)
        return int(total) if total.denominator == 1 else float(total)

    def formula(self, formula: Formula, now: int) -> bool:
        for index in range(len(self.events)):
            for part in atoms(formula):
                self.atom(part, index)
        return self.holds(formula, len(self.events) - 1, now)

    def atom(self, formula: CallEvent | ResultEvent, index: int) -> bool:
        event = self.events[index]
        if isinstance(formula, CallEvent):
            return event.kind == "call" and is_true(formula.match, event, permits=False)
        return event.kind == "result" and is_true(formula.match, event, permits=False)

    def holds(self, formula: Formula, index: int, now: int) -> bool:
        """The truth at an event; windows are measured to `now`, and inside of others to the time of the event."""
        if isinstance(formula, CallEvent | ResultEvent):
            return index >= 0 and self.atom(formula, index)
        if isinstance(formula, NotFormula):
            return not self.holds(formula.item, index, now)
        if isinstance(formula, AllFormula):
            return all(self.holds(item, index, now) for item in formula.items)
        if isinstance(formula, AnyFormula):
            return any(self.holds(item, index, now) for item in formula.items)

        def near(at: int) -> bool:
            return formula.within is UNSET or now - self.events[at].at <= formula.within

        def inner(item: Formula, at: int) -> bool:
            return self.holds(item, at, self.events[at].at)

        if isinstance(formula, Previous):
            return index > 0 and near(index - 1) and inner(formula.item, index - 1)
        if isinstance(formula, Formerly):
            return any(near(at) and inner(formula.item, at) for at in range(index + 1))
        assert isinstance(formula, Since)
        return any(
            near(at)
            and inner(formula.start, at)
            and all(inner(formula.holds, later) for later in range(at + 1, index + 1))
            for at in range(index + 1)
        )

    # --- sources ---

    def came_from(self, sources: dict[str, Source], names: list[str], value: Any) -> bool:
        """True if a value came from the task or one of the sources; raises `Broken`."""
        return self.before(sources, names, value, len(self.events), self.shown)

    def before(self, sources: dict[str, Source], names: list[str], value: Any, end: int, shown: int) -> bool:
        if value != value:
            raise Broken("bad_state")
        broken = None
        for name in names:
            if name == "task":
                if value in self.task_values:
                    return True
                continue
            try:
                values = self.values_of(sources, name, end, shown)
            except Broken as error:
                broken = broken or error
                continue
            if any(same(value, known) for known in values):
                return True
        if broken is not None:
            raise broken
        return False

    def values_of(self, sources: dict[str, Source], name: str, end: int, shown: int) -> list[Any]:
        source, found, asked = sources[name], [], {}
        for index, event in enumerate(self.events[:end]):
            if event.kind == "call":
                # An error breaks the source at the intent, whatever becomes of the call.
                asked[event.key] = is_true(source.of, event, permits=True) and all(
                    self.before(sources, list(source.asked_with), leaf, index, event.shown)
                    for leaf in (leaves(event.args) if source.asked_with else [])
                )
            elif asked[event.key]:
                for record in records(event.value):
                    for path in source.fields:
                        for value, view in follow(record, path):
                            tested = source.where is UNSET or is_true(source.where, event, permits=True, record=view)
                            if tested and index < shown:
                                found += [leaf for leaf in records(value) if is_leaf(leaf)]
        return found


def atoms(formula: Formula) -> list[CallEvent | ResultEvent]:
    if isinstance(formula, CallEvent | ResultEvent):
        return [formula]
    if isinstance(formula, AllFormula | AnyFormula):
        return [atom for item in formula.items for atom in atoms(item)]
    if isinstance(formula, Since):
        return atoms(formula.holds) + atoms(formula.start)
    return atoms(formula.item)


def amount_of(measure: Measure, event: Event) -> Fraction:
    if not is_true(measure.of, event, permits=False):
        return Fraction(0)
    if measure.field is UNSET:
        return Fraction(1)
    value: Any = event.args
    for key in measure.field:
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Broken("bad_state")
    if value != value or value in (float("inf"), float("-inf")):
        raise Broken("bad_state")
    if abs(value) >= 2**120:
        raise Broken("state_limit")
    return Fraction(value)


def is_true(expr: Expr, event: Event, *, permits: bool, record: Any = None) -> bool:
    truth = truth_of(expr, event, permits, record)
    if truth == "error":
        raise Broken("bad_state")
    return truth is True


def truth_of(expr: Expr, event: Event, permits: bool, record: Any) -> Any:
    """True, False, None if absent, or "error": the tables of `docs/reference/semantics.md`."""
    match expr:
        case NotExpr(item):
            truth = truth_of(item, event, permits, record)
            return not truth if isinstance(truth, bool) else truth
        case AllExpr(items):
            found = [truth_of(item, event, permits, record) for item in items]
            return next((truth for truth in (False, "error", None) if truth in found), True)
        case AnyExpr(items):
            found = [truth_of(item, event, permits, record) for item in items]
            return next((truth for truth in (True, "error", None) if any(truth is one for one in found)), False)
        case Leaf(head, path, op, operand):
            missing = None if permits else False
            value: Any = {"tool": event.tool, "args": event.args, "result": event.value, "record": record}[head]
            for key in path:
                if value is None:
                    return missing
                if not isinstance(value, dict):
                    return "error"
                if key not in value:
                    return missing
                value = value[key]
            return compare(op, value, operand)
    raise AssertionError(expr)


def compare(op: str, value: Any, operand: Any) -> Any:
    if value != value:
        return "error"
    if op == "eq":
        if isinstance(value, list | dict):
            return "error"
        return same(value, operand)
    assert op == "gt"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "error"
    return value > operand


def same(left: Any, right: Any) -> bool:
    kinds = [bool, str, type(None)]
    return left == right and all(isinstance(left, kind) == isinstance(right, kind) for kind in kinds)


def is_leaf(value: Any) -> bool:
    return isinstance(value, int | float | str) and not isinstance(value, bool) and value != ""


def leaves(value: Any) -> list[Any]:
    """The values in lists and mappings that can come from a source; an empty text comes from none."""
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves(item)]
    return [value] if isinstance(value, int | float | str) and not isinstance(value, bool) else []


def records(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [record for item in value for record in records(item)]
    return [value]


def follow(value: Any, path: tuple[str, ...]) -> list[tuple[Any, Any]]:
    """The values at a path, with the record in which one element stands for each list on the way."""
    if not path:
        return [(value, value)]
    if isinstance(value, list):
        return [pair for item in value for pair in follow(item, path)]
    if not isinstance(value, dict) or path[0] not in value:
        return []
    inner = follow(value[path[0]], path[1:])
    return [(found, {**value, path[0]: view}) for found, view in inner]
