"""The events of a run or a session, read from its journal alone, for the slow reading of conditions.

Nothing is kept between two decisions: every reading begins at the first record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from bobcat import StepRecord
from oracle.memory_reading import SOURCES, Event, Reading

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
PERMITS = ("allow", "transform", "approve_required")
Rules = Sequence[tuple[dict[str, Any], bool, str]]
"""Conditions that are joined, true if they are to be negated, and the verdict."""


@dataclass(frozen=True)
class Made:
    """A call with the arguments that it ran with."""

    tool: str
    args: dict[str, Any]


def microseconds(at: datetime | str) -> int:
    """A time of the journal."""
    moment: datetime = datetime.fromisoformat(at) if isinstance(at, str) else at
    return (moment - EPOCH) // timedelta(microseconds=1)


def verdict(rules: Rules, reading: Reading, call: Made) -> str:
    """The verdict of the first rule whose condition holds; without one, the call is allowed."""
    for conditions, negated, said in rules:
        if all(reading.condition(key, operand, call) for key, operand in conditions.items()) is not negated:
            return said
    return "allow"


class Trace:
    """Events in the order of the journal, with the step or the key of each."""

    def __init__(self) -> None:
        self.reading = Reading()
        self.names: list[object] = []

    def clock(self, at: int) -> int:
        """The time `at`, unless an event was later: times never go back."""
        return max([at, *(event.at for event in self.reading.events[-1:])])

    def call(self, name: object, made: Made, at: int) -> None:
        reading = self.reading
        asked = all(reading.source("people", leaf) for leaf in (made.args["to"], made.args["n"]))
        reading.events.append(Event("call", made, self.clock(at), asked=asked))
        self.names.append(name)

    def result(self, name: object, value: Any, at: int) -> None:
        calls = [event for event, each in zip(self.reading.events, self.names, strict=True) if each == name]
        intent = calls[-1]
        assert intent.kind == "call"
        self.reading.events.append(Event("result", intent.step, self.clock(at), value, asked=intent.asked))
        self.names.append(name)

    def drop(self, name: object) -> None:
        kept = [(e, n) for e, n in zip(self.reading.events, self.names, strict=True) if n != name]
        self.reading.events = [event for event, _ in kept]
        self.names = [each for _, each in kept]

    def show(self) -> None:
        """Begin another reply: the results so far are sources from now on."""
        for event in self.reading.events:
            event.shown = True

    def at(self, now: int) -> Reading:
        """The reading for a decision at a time."""
        self.reading.now = self.clock(now)
        return self.reading


def run_before(records: Sequence[StepRecord], step: int) -> Trace:
    """The events before the decision on a step, from all records before it.

    An attempt at the step itself counts if it may have happened, and may happen again.
    """
    trace = Trace()
    for record in records:
        body = record.body
        match record.kind:
            case "model.output":
                trace.show()
            case "action.intent" if body["verdict"] in PERMITS:
                name = (body["step"], record.seq)
                if body["effect"] != "unsafe":
                    name = (body["step"], 0)
                    trace.drop(name)  # the attempts count once
                trace.call(name, Made(body["tool"], dict(body["args"])), microseconds(body["at"]))
            case "action.abandoned":
                for seq in body["intents"]:
                    trace.drop((body["step"], seq))
                trace.drop((body["step"], 0))
            case "action.result" if body["ok"] and body["verdict"] != "dry_run":
                names = [each for each in trace.names if isinstance(each, tuple) and each[0] == body["step"]]
                trace.result(names[-1], body["value"], microseconds(body["at"]))
    trace.drop((step, 0))
    return trace


def session_before(records: Sequence[StepRecord]) -> Trace:
    """The events of a session, from all records before a decision."""
    trace = Trace()
    ended: set[str] = set()  # the first outcome of a call is its outcome
    for record in records:
        body, key = record.body, record.idempotency_key
        if record.kind != "memory.call" and (key in ended or key not in trace.names):
            continue
        if record.kind == "memory.result":
            ended.add(key)
        match record.kind:
            case "memory.call":
                trace.show()
                trace.call(key, Made(body["tool"], dict(body["args"])), microseconds(record.timestamp))
            case "memory.released":
                trace.drop(key)
            case "memory.result" if body["ok"]:
                trace.result(key, body["value"], microseconds(body["at"]))
    trace.show()
    return trace


__all__ = ["PERMITS", "SOURCES", "Made", "Rules", "Trace", "microseconds", "run_before", "session_before", "verdict"]
