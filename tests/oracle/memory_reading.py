"""A slow reading of the page about memory: conditions as YAML has them, over the list of all events.

It shares no code with the front end and the core.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

SECOND = 1_000_000
SECONDS = {"s": SECOND, "m": 60 * SECOND}
# Any: conditions, formulas and results as plain data, here and below.
SOURCES: dict[str, dict[str, Any]] = {
    "people": {"tool": "find", "fields": ["name", "code"]},
    "mine": {"tool": "read", "fields": ["name", "more.name"], "where": {"code": 1}, "asked_with": "people"},
}


class Call(Protocol):
    """A call: its tool, and the arguments `to`, `n` and `who.to`."""

    @property
    def tool(self) -> str: ...

    @property
    def args(self) -> dict[str, Any]: ...


@dataclass
class Event:
    """An intent, or a result with its value."""

    kind: str
    step: Call
    at: int
    value: Any = None
    released: bool = False
    shown: bool = False
    asked: bool = False


@dataclass
class Reading:
    """The slow reading of a run: all events, and the time of the decision, in microseconds."""

    events: list[Event] = field(default_factory=list)
    now: int = 0

    def condition(self, key: str, operand: Any, proposed: Call) -> bool:
        head, _, rest = key.partition(".")
        if head == "args":
            return any(self.source(name, proposed.args["who"]["to"]) for name in operand)
        word, _, rest = rest.partition(".")
        if word in ("count", "sum"):
            return self.measure(word, rest, operand, proposed)
        last = len(self.events) - 1
        match word:
            case "after":
                return any(event.kind == "call" and matches(operand, event) for event in self.events)
            case "last":
                calls = [event for event in self.events if event.kind == "call"]
                return bool(calls) and matches(operand, calls[-1])
            case "formerly":
                return any(self.near(operand, at, self.now) and self.inside(operand, at) for at in range(last + 1))
            case "previous":
                return last >= 0 and self.near(operand, last, self.now) and self.inside(operand, last)
            case _:
                return self.since(word, operand, last, self.now)

    def measure(self, word: str, rest: str, operand: Any, proposed: Call) -> bool:
        if rest:
            name, *parts = rest.split(".")
            of, this, within = {"tool": name}, "with_this" in parts, None
            tests = {parts[-1]: operand}
        else:
            of, this, within = operand["of"], "with_this" in operand, operand.get("within")
            tests = operand["with_this"] if this else {op: operand[op] for op in operand.keys() & COMPARE.keys()}
        counted = [event for event in self.events if event.kind == "call" and not event.released]
        counted = [event for event in counted if within is None or self.now - event.at <= span(within)]
        taken = [event.step for event in counted if matches(of, event)]
        if this and matches(of, Event("call", proposed, self.now)):
            taken.append(proposed)
        value = len(taken) if word == "count" else sum(step.args["n"] for step in taken)
        return all(COMPARE[op](value, bound) for op, bound in tests.items())

    def near(self, operand: dict[str, Any], at: int, now: int) -> bool:
        return "within" not in operand or now - self.events[at].at <= span(operand["within"])

    def inside(self, operand: dict[str, Any], at: int) -> bool:
        bare = {key: item for key, item in operand.items() if key != "within"}
        return self.holds(bare, at, self.events[at].at)

    def since(self, word: str, operand: Any, last: int, now: int) -> bool:
        start = operand["start" if word == "since" else "since"]
        for at in range(last + 1):
            between = range(at + 1, last + 1)
            if word == "since":
                kept = all(self.inside_whole(operand["holds"], later) for later in between)
            else:
                kept = not any(self.inside_whole(operand["event"], later) for later in between)
            if kept and self.near(operand, at, now) and self.inside_whole(start, at):
                return True
        return False

    def inside_whole(self, formula: dict[str, Any], at: int) -> bool:
        return self.holds(formula, at, self.events[at].at)

    def holds(self, formula: dict[str, Any], at: int, now: int) -> bool:
        """The truth of a formula at an event; its outer windows end at `now`, here always the time of the event."""
        (word,) = [key for key in formula if key != "within"]
        operand, event = formula[word], self.events[at]
        match word:
            case "call" | "result":
                return event.kind == word and matches(operand, event)
            case "not":
                return not self.holds(operand, at, now)
            case "all_of":
                return all(self.holds(item, at, now) for item in operand)
            case "any_of":
                return any(self.holds(item, at, now) for item in operand)
            case "previous":
                return at > 0 and self.near(operand, at - 1, now) and self.inside(operand, at - 1)
            case "formerly":
                window = {"within": formula["within"]} if "within" in formula else {}
                earlier = range(at + 1)
                return any(self.near(window, each, now) and self.inside_whole(operand, each) for each in earlier)
            case _:
                return self.since(word, operand, at, now)

    def source(self, name: str, value: str | int) -> bool:
        for event in self.events:
            if event.kind != "result" or not event.shown or event.step.tool != SOURCES[name]["tool"]:
                continue
            if name == "mine" and not event.asked:
                continue
            for record in event.value if isinstance(event.value, list) else [event.value]:
                mine = (record["name"], record.get("more", {}).get("name")) if record["code"] == 1 else ()
                if value in ((record["name"], record["code"]) if name == "people" else mine):
                    return True
        return False


COMPARE = {
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
}  # fmt: skip


def span(within: Any) -> int:
    """The microseconds of a window."""
    return int(within[:-1]) * SECONDS[within[-1]] if isinstance(within, str) else within * SECOND


def matches(match: dict[str, Any], event: Event) -> bool:
    value = event.value if isinstance(event.value, dict) else None
    for key, operand in match.items():
        if key == "result.code" and value is None:
            return False
        found = {"tool": event.step.tool, "tool.in": event.step.tool, "args.to": event.step.args["to"]}.get(key)
        found = value["code"] if key == "result.code" and value is not None else found
        if found not in operand if key == "tool.in" else found != operand:
            return False
    return True
